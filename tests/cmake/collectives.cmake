twinstep_test(unit_topology SOURCES unit/topology_faults_test.cpp unit/topology_test.cpp DEPENDS sim_topology)
twinstep_test(unit_collectives
  SOURCES unit/algorithm_costs_test.cpp unit/faults_test.cpp unit/folded_test.cpp unit/layout_test.cpp unit/multicast_test.cpp unit/schedule_test.cpp
          support/execution.cpp
  DEPENDS sim_collectives)
twinstep_test(unit_fixed_algorithms SOURCES unit/fixed_algorithms_test.cpp DEPENDS sim_collectives hw_profiles)
twinstep_test(unit_tuner SOURCES unit/tuner_graph_test.cpp unit/tuner_rules_test.cpp unit/tuner_test.cpp DEPENDS sim_collectives hw_profiles)
twinstep_test(property_collectives
  SOURCES property/collectives_cost_test.cpp property/collectives_data_test.cpp property/collectives_layout_test.cpp
          property/uneven_exchange_test.cpp support/execution.cpp
  DEPENDS sim_collectives NOT_SANITIZED)
