find_package(Boost REQUIRED)

twinstep_library(sim_topology
  SOURCES topology/drawing.cpp topology/faults.cpp topology/gpu_links.cpp topology/node_routes.cpp topology/routing.cpp
          topology/topology.cpp
  HEADERS topology/drawing.hpp topology/faults.hpp topology/pencil.hpp topology/routing.hpp
          topology/topology.hpp
  DEPENDS sim_base sim_hardware
  PRIVATE Boost::headers)
