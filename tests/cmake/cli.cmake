# The real binary, by what it prints and returns.
twinstep_test(cli
  SOURCES support/trace_import.cpp cli/answer_schema_test.cpp cli/bad_input_test.cpp cli/calibrate_test.cpp cli/cases_test.cpp cli/collective_sweep_test.cpp
          cli/collective_test.cpp cli/compare_test.cpp cli/examples_test.cpp cli/extreme_input_test.cpp
          cli/files_test.cpp cli/help_test.cpp cli/import_test.cpp cli/manners_test.cpp cli/modules_test.cpp cli/profiles_test.cpp cli/report_test.cpp
          cli/scenario_schema_test.cpp cli/simulate_test.cpp cli/validate_steps_test.cpp cli/validate_test.cpp cli/why_test.cpp
  DEPENDS reports sim_io tests_schema strategies RUNS_PROGRAM)
if(TARGET cli)
  set_tests_properties(cli PROPERTIES COST 1000) # the longest: it starts first
endif()
