# Measuring as programs on an executor: on the virtual clock, whose times are known, and on threads.
twinstep_test(unit_measure_programs SOURCES unit/measure_sampling_test.cpp unit/measure_statistics_test.cpp
                                    DEPENDS validate_measure sim_engine)
if(TARGET validate_cpu)
  twinstep_test(unit_measure_verification SOURCES unit/measure_verification_test.cpp
                                          DEPENDS validate_measure_backends tests_cpu tests_fake_cuda)
endif()

twinstep_test(cli_measure SOURCES cli/measure_test.cpp
                          DEPENDS validate_score validate_records NOT_SANITIZED RUNS_PROGRAM)
