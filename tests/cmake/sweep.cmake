# Sweeps: what a file of axes means, the rows that it comes to, the results file, and the real program.
twinstep_test(unit_sweep SOURCES unit/sweep_constraint_test.cpp unit/sweep_parts_test.cpp unit/sweep_results_test.cpp
                                 unit/sweep_spec_test.cpp cli/run_twinstep.cpp cli/sweep_support.cpp
                         DEPENDS explore_results explore_sweep tests_schema)
target_compile_definitions(unit_sweep PRIVATE TWINSTEP_BINARY="$<TARGET_FILE:twinstep>")

# twinstep_sweep_test(NAME SOURCES …): runs the program.
function(twinstep_sweep_test name)
  twinstep_test(${name} SOURCES cli/sweep_support.cpp ${ARGN} DEPENDS explore_results reports RUNS_PROGRAM)
  if(TARGET ${name})
    target_compile_definitions(${name} PRIVATE TWINSTEP_MPIRUN="${MPIEXEC_EXECUTABLE}")
  endif()
endfunction()

twinstep_sweep_test(cli_sweep cli/sweep_results_file_test.cpp cli/sweep_test.cpp)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  twinstep_sweep_test(cli_sweep_mpi cli/sweep_mpi_test.cpp)
  if(TARGET cli_sweep_mpi)
    set_tests_properties(cli_sweep_mpi PROPERTIES LABELS mpi)
  endif()
  if(TARGET cli_sweep_mpi AND TWINSTEP_SANITIZE)
    # Open MPI leaves what it took at start to the end of the process; cli_sweep looks for leaks of ours.
    set_property(TEST cli_sweep_mpi PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
else()
  add_test(NAME cli_sweep_mpi COMMAND ${CMAKE_COMMAND} -E echo
           "SKIPPED: built without MPI; scripts/install_dependencies.sh installs it")
  set_tests_properties(cli_sweep_mpi PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()
