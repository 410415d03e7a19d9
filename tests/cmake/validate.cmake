# Records of others, and what is wrong with them.
twinstep_test(unit_records
  SOURCES unit/diagnosis_test.cpp unit/nccl_tests_log_test.cpp unit/nccl_topology_test.cpp unit/nvidia_smi_test.cpp
          unit/self_checks_test.cpp
  DEPENDS validate_records validate_score hw_profiles_check)
target_compile_definitions(unit_records PRIVATE TWINSTEP_FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures")

twinstep_test(unit_launch SOURCES unit/launch_test.cpp cli/run_twinstep.cpp DEPENDS validate_launch)
target_compile_definitions(unit_launch PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>"
                                               TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")

