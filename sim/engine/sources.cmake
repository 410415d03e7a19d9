twinstep_library(sim_engine
  SOURCES engine/alike_resources.cpp engine/allocator_replay.cpp engine/caching_allocator.cpp engine/collective_run.cpp
          engine/exact/message_replay.cpp engine/exact/route_table.cpp engine/folded_step_report.cpp
          engine/host_paths.cpp engine/expandable_segments.cpp engine/fluid_network.cpp engine/free_blocks.cpp engine/memory_ledger.cpp engine/memory_repetition.cpp engine/repetition.cpp engine/resource_map.cpp
          engine/step.cpp engine/step_report.cpp engine/step_transfers.cpp engine/traffic.cpp engine/transfers.cpp
          engine/virtual_executor.cpp
  HEADERS engine/allocator_replay.hpp engine/caching_allocator.hpp
          engine/collective_run.hpp engine/event_queue.hpp
          engine/exact/message_replay.hpp engine/exact/route_table.hpp engine/fidelity.hpp engine/flow_clock.hpp
          engine/host_paths.hpp engine/fluid_network.hpp engine/free_blocks.hpp engine/machine.hpp engine/memory_ledger.hpp engine/memory_repetition.hpp engine/repetition.hpp engine/resource_map.hpp engine/step.hpp
          engine/transfers.hpp engine/virtual_executor.hpp
  DEPENDS sim_base sim_program sim_timeline sim_hardware sim_topology sim_cost sim_collectives)
