#include "sim/topology/faults.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::topology {
namespace {

bool names(hardware::Fault const& fault, std::string_view resource) {
  if (!resource.starts_with(fault.resource)) return false;
  return resource.size() == fault.resource.size() || resource[fault.resource.size()] == '.';
}

/// "nic3" for "nic3.out": both directions are what users mean.
std::string_view without_direction(std::string_view name) {
  for (auto const direction : {".out", ".in", ".up", ".down"})
    if (name.ends_with(direction)) return name.substr(0, name.rfind('.'));
  return name;
}

/// Links between GPUs, NICs: what others can stand in for.
bool has_replacement(Resource const& resource) {
  return resource.is_gpu_link || (resource.is_inter_node && resource.nodes_below == 1);
}

}  // namespace

void Faults::check(std::vector<Resource> const& resources) const {
  for (auto const& fault : faults_) {
    auto const is_named = [&](Resource const& each) { return names(fault, each.name); };
    auto const found = std::ranges::find_if(resources, is_named);
    if (found == resources.end()) {
      auto known = std::vector<std::string_view>{};
      for (auto const& each : resources)
        if (auto const name = without_direction(each.name); std::ranges::find(known, name) == known.end())
          known.push_back(name);
      throw InputError{fmt::format("cluster.faults: found no resource called {} in this cluster; {}",
                                   quoted(fault.resource), suggest_name(fault.resource, known))};
    }
    auto const places = found->instances / found->per_nodes;
    if (fault.node && *fault.node >= places)
      throw InputError{fmt::format("cluster.faults: found {} {} of {}, but there are {}; they count from 0",
                                   found->nodes_below == 1 ? "node" : "switch group", *fault.node,
                                   quoted(fault.resource), places)};
    for (auto const& each : resources)
      if (is_named(each)) require_rest(each.name, fault);
    if (fault.rate > 0) continue;
    for (auto const& each : resources)
      if (is_named(each) && !has_replacement(each))
        throw InputError{
            fmt::format("cluster.faults: found {} broken, which nothing stands in for; give it a rate above "
                        "0, or take the nodes out",
                        quoted(each.name))};
  }
}

void Faults::require_rest(std::string const& resource, hardware::Fault const& fault) const {
  constexpr auto kLeast = 1e-9;
  auto const left = everywhere(resource) * (fault.node ? at(resource, *fault.node) : 1.0);
  auto const is_broken = [&](hardware::Fault const& each) { return each.rate <= 0 && names(each, resource); };
  if (left >= kLeast || std::ranges::any_of(faults_, is_broken)) return;
  throw InputError{
      fmt::format("cluster.faults: found {:.3g} of {} left by all faults together, expected at least {}; raise a rate",
                  left, quoted(resource), kLeast)};
}

double Faults::everywhere(std::string_view resource) const {
  auto left = 1.0;
  for (auto const& fault : faults_)
    if (!fault.node && names(fault, resource)) left *= fault.rate;
  return left;
}

double Faults::at(std::string_view resource, std::int64_t node) const {
  auto left = 1.0;
  for (auto const& fault : faults_)
    if (fault.node == node && names(fault, resource)) left *= fault.rate;
  return left;
}

std::vector<std::int64_t> Faults::nodes(std::vector<Resource> const& resources) const {
  auto out = std::vector<std::int64_t>{};
  for (auto const& fault : faults_) {
    auto const is_inside = [&](Resource const& each) { return each.nodes_below == 1 && names(fault, each.name); };
    if (fault.node && std::ranges::any_of(resources, is_inside)) out.push_back(*fault.node);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace twinstep::topology
