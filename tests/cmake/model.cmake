twinstep_test(unit_model
  SOURCES unit/analytic_test.cpp unit/hf_config_test.cpp unit/model_cnn_test.cpp unit/model_gradient_test.cpp
          unit/model_kept_test.cpp unit/model_kernels_test.cpp unit/model_test.cpp unit/model_work_test.cpp
  DEPENDS strategies_model tests_schema)
twinstep_test(unit_model_programs SOURCES unit/model_programs_test.cpp DEPENDS strategies)
