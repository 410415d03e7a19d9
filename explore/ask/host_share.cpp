#include "explore/ask/host_share.hpp"

namespace twinstep::explore {

HostShare host_share(hardware::Node const& node) {
  auto const share = [&](std::optional<hardware::Sourced<Bytes>> const& capacity) {
    return capacity ? std::optional{capacity->value / node.gpus_on_host()} : std::nullopt;
  };
  return {share(node.host.memory_capacity), node.drives ? share(node.drives->capacity) : std::nullopt};
}

}  // namespace twinstep::explore
