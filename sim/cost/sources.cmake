twinstep_library(sim_cost
  SOURCES cost/kernel_cost.cpp
  HEADERS cost/kernel_cost.hpp
  DEPENDS sim_base sim_hardware sim_program)
