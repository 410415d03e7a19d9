twinstep_test(unit_engine
  SOURCES unit/caching_allocator_test.cpp unit/event_queue_test.cpp unit/exact_network_test.cpp
          unit/fluid_network_test.cpp unit/host_paths_test.cpp unit/kernel_cost_test.cpp unit/latest_rank_test.cpp unit/memory_ledger_test.cpp
          unit/virtual_executor_test.cpp
  DEPENDS sim_engine)
# Millions of messages; unit_engine replays the same code.
twinstep_test(property_fidelity SOURCES property/fidelity_test.cpp DEPENDS sim_engine NOT_SANITIZED)
twinstep_test(property_faster_network SOURCES property/faster_network_test.cpp DEPENDS strategies sim_engine)
twinstep_test(property_better_resources SOURCES property/better_resources_test.cpp DEPENDS sim_engine)
twinstep_test(property_traffic SOURCES property/traffic_test.cpp support/programs.cpp DEPENDS strategies sim_engine sim_io)
twinstep_test(conformance_virtual SOURCES conformance/virtual_conformance_test.cpp DEPENDS tests_conformance sim_engine)

# The exact fidelity against another simulator, where there is one.
twinstep_test(crosscheck_simgrid SOURCES crosscheck/simgrid_test.cpp DEPENDS sim_engine NOT_SANITIZED)
find_path(SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
if(TARGET crosscheck_simgrid AND SIMGRID_INCLUDE AND SIMGRID_LIBRARY)
  target_include_directories(crosscheck_simgrid SYSTEM PRIVATE ${SIMGRID_INCLUDE})
  target_link_libraries(crosscheck_simgrid PRIVATE ${SIMGRID_LIBRARY})
  target_compile_definitions(crosscheck_simgrid PRIVATE TWINSTEP_HAS_SIMGRID)
elseif(TARGET crosscheck_simgrid)
  twinstep_left_out("cross-check with SimGrid: libsimgrid-dev not found")
endif()
