# The CUDA executor and the benchmark of collectives on GPUs that are not there.
if(TARGET validate_cpu)
  add_library(tests_fake_cuda STATIC support/fake_cuda/fake_calls.cpp support/fake_cuda/fake_device.cpp
                                     support/fake_cuda/fake_network.cpp support/fake_cuda/fake_stream.cpp)
  target_link_libraries(tests_fake_cuda PUBLIC tests_support validate_cuda validate_cpu PRIVATE fmt::fmt)

  twinstep_test(unit_cuda
    SOURCES unit/collective_benchmark_test.cpp unit/cuda_executor_test.cpp unit/cuda_failures_test.cpp
            unit/cuda_kernels_test.cpp unit/cuda_memory_plan_test.cpp device/kernel_checks.cpp
    DEPENDS tests_fake_cuda tests_conformance)
  twinstep_test(conformance_cuda
    SOURCES conformance/cuda_conformance_test.cpp conformance/cuda_training_test.cpp conformance/training.cpp
    DEPENDS tests_fake_cuda tests_conformance strategies)
endif()

# The same on real GPUs, where there are some. It lies beside the module that it loads.
twinstep_test(device_conformance SOURCES device/device_test.cpp device/kernel_checks.cpp
              DEPENDS validate_cuda tests_conformance)
set_target_properties(device_conformance PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/app)
if(TARGET twinstep_cuda)
  add_dependencies(device_conformance twinstep_cuda)
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  add_test(NAME unit_device_check
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/unit/device_check_test.py)
endif()
