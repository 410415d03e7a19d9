twinstep_test(unit_strategies SOURCES unit/strategies_test.cpp DEPENDS strategies)
twinstep_test(unit_read_plan SOURCES unit/read_plan_test.cpp DEPENDS strategies_plan)
twinstep_test(unit_users_files SOURCES unit/users_files_test.cpp DEPENDS strategies_import)
if(TARGET validate_cpu)
  twinstep_test(conformance_training SOURCES conformance/training_parity_test.cpp conformance/training.cpp support/timeline_checks.cpp
                DEPENDS strategies validate_cpu)
endif()
twinstep_test(unit_step_examples SOURCES unit/step_examples_test.cpp DEPENDS strategies sim_engine NOT_SANITIZED)
