twinstep_library(sim_collectives
  SOURCES collectives/benchmark.cpp collectives/binomial.cpp collectives/choice.cpp collectives/collnet.cpp collectives/correction.cpp collectives/costs.cpp collectives/dispatch.cpp collectives/double_tree.cpp
          collectives/folded.cpp collectives/halving_doubling.cpp collectives/layout.cpp collectives/load_sheet.cpp collectives/multicast.cpp collectives/naive.cpp collectives/nvls.cpp collectives/nvls_tree.cpp collectives/pairwise.cpp collectives/partners.cpp collectives/pat.cpp
          collectives/pipeline.cpp collectives/placement.cpp collectives/replay.cpp collectives/ring.cpp collectives/schedule.cpp collectives/splits.cpp collectives/star.cpp collectives/timing.cpp collectives/tree.cpp
          collectives/tuner/channels.cpp collectives/tuner/environment.cpp collectives/tuner/graph.cpp
          collectives/tuner/model.cpp collectives/tuner/tuner.cpp collectives/tuner/why_off.cpp
  HEADERS collectives/algorithms.hpp collectives/benchmark.hpp collectives/choice.hpp collectives/correction.hpp collectives/costs.hpp collectives/dispatch.hpp collectives/double_tree.hpp
          collectives/folded.hpp collectives/layout.hpp collectives/load_sheet.hpp
          collectives/multicast.hpp collectives/partners.hpp collectives/pipeline.hpp collectives/placement.hpp collectives/replay.hpp collectives/schedule.hpp collectives/splits.hpp collectives/star.hpp collectives/timing.hpp
          collectives/tuner/environment.hpp collectives/tuner/graph.hpp collectives/tuner/model.hpp collectives/tuner/tuner.hpp
  DEPENDS sim_base sim_program sim_hardware sim_topology)
