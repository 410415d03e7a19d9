twinstep_library(sim_cost
  SOURCES cost/kernel_cost.cpp cost/latest_rank.cpp
  HEADERS cost/kernel_cost.hpp cost/latest_rank.hpp
  DEPENDS sim_base sim_hardware sim_program)
