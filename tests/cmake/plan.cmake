find_package(TBB REQUIRED)

twinstep_test(unit_plan
  SOURCES property/plan_bound_test.cpp unit/goodput_test.cpp unit/plan_goal_test.cpp
          unit/plan_search_test.cpp unit/plan_way_out_test.cpp unit/plan_what_if_test.cpp
  DEPENDS app_plan explore_plan reports TBB::tbb UPPER_FLOOR)

# Runs whole steps beside parts of them.
twinstep_test(property_repeated_micro_batches
  SOURCES property/repeated_micro_batches_test.cpp DEPENDS explore_ask NOT_SANITIZED)

twinstep_test(cli_plan
  SOURCES cli/plan_test.cpp
  DEPENDS sim_io tests_schema RUNS_PROGRAM)

if(benchmark_FOUND AND NOT TWINSTEP_SANITIZE)
  add_executable(bench_plan bench/plan_bench.cpp)
  target_link_libraries(bench_plan PRIVATE twinstep_flags explore_plan TBB::tbb benchmark::benchmark)
  target_compile_definitions(bench_plan PRIVATE TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
endif()
