# What tests of executors share: small programs, the checks of a timeline, the conformance suite.
add_library(tests_conformance STATIC conformance/conformance.cpp support/programs.cpp support/stuck_programs.cpp
                                     support/timeline_checks.cpp)
target_link_libraries(tests_conformance PUBLIC tests_support sim_program sim_timeline PRIVATE fmt::fmt)

twinstep_test(unit_timeline_checks SOURCES unit/timeline_checks_test.cpp DEPENDS tests_conformance)

if(TARGET validate_cpu)
  # Ranks as threads of one process.
  add_library(tests_cpu STATIC support/cpu_executor.cpp)
  target_link_libraries(tests_cpu PUBLIC tests_support validate_cpu)

  twinstep_test(unit_cpu
    SOURCES unit/cpu_collectives_test.cpp unit/cpu_kernels_test.cpp unit/cpu_executor_test.cpp
            unit/cpu_failures_test.cpp unit/cpu_model_kernels_test.cpp
    DEPENDS tests_conformance tests_cpu)
  twinstep_test(conformance_cpu SOURCES conformance/cpu_conformance_test.cpp DEPENDS tests_conformance tests_cpu)
endif()

if(TARGET validate_gloo)
  twinstep_test(unit_gloo
    SOURCES unit/gloo_collectives_test.cpp unit/gloo_failures_test.cpp unit/gloo_parts_test.cpp support/shared_numbers.cpp cli/run_twinstep.cpp
    DEPENDS tests_conformance tests_cpu validate_gloo)
  target_compile_definitions(unit_gloo PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>")
  twinstep_test(conformance_gloo
    SOURCES conformance/gloo_conformance_test.cpp conformance/gloo_training_test.cpp conformance/training.cpp
            support/shared_numbers.cpp
    DEPENDS tests_conformance strategies validate_gloo)
else()
  add_test(NAME conformance_gloo
           COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: built without Gloo; scripts/install_dependencies.sh installs it")
  set_tests_properties(conformance_gloo PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()
