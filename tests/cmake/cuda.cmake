# The CUDA executor and the benchmark of collectives on GPUs that are not there.
if(TARGET validate_cpu)
  add_library(tests_fake_cuda STATIC support/fake_cuda/fake_calls.cpp support/fake_cuda/fake_device.cpp
                                     support/fake_cuda/fake_network.cpp support/fake_cuda/fake_stream.cpp)
  target_link_libraries(tests_fake_cuda PUBLIC tests_support validate_cuda validate_cpu PRIVATE fmt::fmt)

  twinstep_test(unit_cuda
    SOURCES unit/collective_benchmark_test.cpp unit/cuda_executor_test.cpp unit/cuda_failures_test.cpp
            unit/cuda_memory_plan_test.cpp
    DEPENDS tests_fake_cuda tests_conformance)
  twinstep_test(conformance_cuda SOURCES conformance/cuda_conformance_test.cpp DEPENDS tests_fake_cuda tests_conformance)
endif()
