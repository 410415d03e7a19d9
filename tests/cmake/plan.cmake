find_package(TBB REQUIRED)

twinstep_test(unit_plan
  SOURCES unit/goodput_test.cpp unit/plan_estimate_test.cpp unit/plan_goal_test.cpp
          unit/plan_search_test.cpp unit/plan_what_if_test.cpp
  DEPENDS app_plan explore_plan reports TBB::tbb)
target_compile_definitions(unit_plan PRIVATE TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")

twinstep_test(cli_plan
  SOURCES cli/run_twinstep.cpp cli/plan_test.cpp
  DEPENDS sim_io tests_schema)
target_compile_definitions(cli_plan PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>"
                                            TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
add_dependencies(cli_plan twinstep)

if(benchmark_FOUND AND NOT TWINSTEP_SANITIZE)
  add_executable(bench_plan bench/plan_bench.cpp)
  target_link_libraries(bench_plan PRIVATE twinstep_flags explore_plan TBB::tbb benchmark::benchmark)
  target_compile_definitions(bench_plan PRIVATE TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
endif()
