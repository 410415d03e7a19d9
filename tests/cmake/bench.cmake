# Benchmarks are built with everything else and run by hand: speed is never a test.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(bench_step bench/step_bench.cpp)
  target_link_libraries(bench_step PRIVATE twinstep_flags sim_engine strategies benchmark::benchmark)
else()
  twinstep_left_out("benchmarks: Google Benchmark not found")
endif()
