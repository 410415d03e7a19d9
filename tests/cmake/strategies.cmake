twinstep_test(unit_strategies
  SOURCES unit/ddp_test.cpp unit/fsdp_memory_test.cpp unit/fsdp_test.cpp unit/megatron_test.cpp unit/optimizer_test.cpp unit/strategies_test.cpp
  DEPENDS strategies)
twinstep_test(property_checks SOURCES property/telling_ranks_test.cpp DEPENDS strategies)
twinstep_test(unit_mesh SOURCES unit/mesh_plan_test.cpp unit/pipeline_schedule_test.cpp unit/tensor_split_test.cpp DEPENDS strategies)
twinstep_test(unit_recompute SOURCES unit/recompute_test.cpp DEPENDS strategies)
twinstep_test(unit_read_plan SOURCES unit/read_plan_test.cpp DEPENDS strategies_plan)
twinstep_test(unit_users_files SOURCES unit/users_files_test.cpp DEPENDS strategies_import)
twinstep_test(fuzz_users_files SOURCES fuzz/users_files_mutation_test.cpp DEPENDS strategies_import)
target_compile_definitions(fuzz_users_files PRIVATE TWINSTEP_EXAMPLES="${PROJECT_SOURCE_DIR}/examples")
if(TARGET validate_cpu)
  twinstep_test(conformance_mesh SOURCES conformance/mesh_parity_test.cpp conformance/mesh_training.cpp conformance/training.cpp
                support/mesh_mlps.cpp support/timeline_checks.cpp
                DEPENDS strategies tests_cpu)
  twinstep_test(conformance_transformer
                SOURCES conformance/training.cpp conformance/transformer_parity_test.cpp
                        conformance/transformer_reference.cpp support/timeline_checks.cpp
                DEPENDS strategies tests_cpu)
  twinstep_test(conformance_mesh_transformer SOURCES conformance/mesh_transformer_parity_test.cpp conformance/training.cpp
                support/timeline_checks.cpp
                DEPENDS strategies tests_cpu NOT_SANITIZED)
  twinstep_test(conformance_training SOURCES conformance/fsdp_parity_test.cpp conformance/training_parity_test.cpp conformance/training.cpp support/timeline_checks.cpp
                DEPENDS strategies tests_cpu)
endif()
twinstep_test(unit_deepspeed SOURCES unit/deepspeed_test.cpp DEPENDS strategies sim_engine NOT_SANITIZED)
twinstep_test(unit_step_examples SOURCES unit/step_examples_test.cpp DEPENDS strategies sim_engine NOT_SANITIZED)
twinstep_test(unit_directions SOURCES unit/directions_test.cpp ../explore/ask/software.cpp
              DEPENDS hw_profiles strategies sim_engine NOT_SANITIZED)
