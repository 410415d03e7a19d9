# Predictions against measurements, by the real binary. A minute of fitting: not under sanitizers.
if(NOT TWINSTEP_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
  twinstep_test(accuracy
    SOURCES accuracy/calibration_accuracy_test.cpp accuracy/collectives_accuracy_test.cpp accuracy/steps_accuracy_test.cpp cli/run_twinstep.cpp
    DEPENDS sim_io)
  target_compile_definitions(accuracy PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>"
                                              TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
  add_dependencies(accuracy twinstep)
  set_tests_properties(accuracy PROPERTIES COST 2000)
endif()
