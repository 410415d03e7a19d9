twinstep_library(sim_collectives
  SOURCES collectives/direct.cpp collectives/execute.cpp collectives/folded.cpp collectives/layout.cpp collectives/load_sheet.cpp
          collectives/placement.cpp collectives/ring.cpp collectives/schedule.cpp collectives/tree.cpp
  HEADERS collectives/algorithms.hpp collectives/execute.hpp collectives/folded.hpp collectives/layout.hpp collectives/load_sheet.hpp
          collectives/placement.hpp collectives/schedule.hpp
  DEPENDS sim_base sim_program sim_hardware sim_topology)
