# Records of others, and what is wrong with them.
twinstep_test(unit_records
  SOURCES unit/diagnosis_test.cpp unit/nccl_topology_test.cpp unit/nvidia_smi_test.cpp
          unit/self_checks_test.cpp
  DEPENDS validate_records validate_score hw_profiles)
target_compile_definitions(unit_records PRIVATE TWINSTEP_FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures")

# Logs and traces of others become records and timelines, damaged ones a line.
twinstep_test(unit_importers
  SOURCES unit/ddp_times_test.cpp unit/kineto_test.cpp unit/nccl_tests_json_test.cpp unit/nccl_tests_log_test.cpp
          fuzz/importers_mutation_test.cpp
  DEPENDS validate_records)
target_compile_definitions(unit_importers PRIVATE TWINSTEP_FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures")

twinstep_test(unit_launch SOURCES unit/launch_test.cpp cli/run_twinstep.cpp DEPENDS validate_launch)
target_compile_definitions(unit_launch PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>")


if(TARGET twinstep_ceres)
  # Training steps of others, and kernels that calibrate a GPU.
  twinstep_test(unit_steps
    SOURCES unit/cnn_calibration_test.cpp unit/compute_calibration_test.cpp unit/kernel_record_test.cpp
            unit/step_record_test.cpp unit/step_replay_test.cpp unit/step_score_test.cpp
    DEPENDS validate_study
    LOADS twinstep_ceres)
  # Calibrating a cluster, on measurements that our own model makes.
  twinstep_test(unit_calibration
    SOURCES unit/collective_calibration_test.cpp unit/size_correction_test.cpp
    DEPENDS validate_fit
    LOADS twinstep_ceres)
endif()
