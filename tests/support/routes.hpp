#pragma once

#include <string>
#include <vector>

#include "sim/topology/topology.hpp"

namespace twinstep::tests {

inline std::vector<std::string> link_names(topology::Topology const& topology, topology::Route route) {
  auto out = std::vector<std::string>{};
  for (auto const link : route) out.push_back(topology.resource(link).name);
  return out;
}

}  // namespace twinstep::tests
