# Sweeps: what a file of axes means, the rows that it comes to, and the results file.
twinstep_test(unit_sweep SOURCES unit/sweep_results_test.cpp DEPENDS app_results)
