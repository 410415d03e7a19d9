# Predictions against measurements, by the real binary. A minute of fitting: not under sanitizers.
if(NOT TWINSTEP_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
  twinstep_test(accuracy
    SOURCES accuracy/calibration_accuracy_test.cpp accuracy/collectives_accuracy_test.cpp accuracy/steps_accuracy_test.cpp
    DEPENDS sim_io RUNS_PROGRAM)
  set_tests_properties(accuracy PROPERTIES COST 2000)
endif()
