#include "strategies/parts/activation_offload.hpp"

#include <utility>

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

ActivationOffload::ActivationOffload(StepContext& context)
    : context_{context},
      to_host_{context.role.stream("activations_to_host")},
      to_device_{context.role.stream("activations_to_device")},
      store_name_{context.program.name("activations.store")},
      fetch_name_{context.program.name("activations.fetch")},
      limit_name_{context.program.name("activations.limit")},
      host_(context.units()),
      fetched_(context.units()) {}

void ActivationOffload::store(std::size_t unit, std::span<Region* const> kept) {
  if (kept.empty()) return;
  context_.role.wait(to_host_, context_.role.last_on(context_.compute));
  host_[unit].clear();
  for (auto* const region : kept) {
    auto buffer = context_.role.get(region->buffer);
    auto const copy = context_.role.whole(context_.role.buffer({.name = buffer.name,
                                                                .elements = buffer.elements,
                                                                .type = buffer.type,
                                                                .category = buffer.category,
                                                                .space = MemorySpace::kHost}));
    copy_between(context_, to_host_, store_name_, *region, copy);
    host_[unit].push_back(copy);
  }
  limit(context_.role.last_on(to_host_));
}

void ActivationOffload::fetch(std::size_t unit, std::span<Region* const> kept) {
  if (fetched_[unit].exists() || kept.empty()) return;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    auto const host = host_[unit][i];
    auto const buffer = context_.role.get(host.buffer);
    *kept[i] = context_.role.whole(context_.role.buffer(
        {.name = buffer.name, .elements = buffer.elements, .type = buffer.type, .category = buffer.category}));
    if (i == 0) context_.role.wait(to_device_, context_.role.last_on(to_host_));
    fetched_[unit] = copy_between(context_, to_device_, fetch_name_, host, *kept[i]);
  }
}

void ActivationOffload::use(std::size_t unit) {
  if (auto const copy = std::exchange(fetched_[unit], {}); copy.exists()) context_.role.wait(context_.compute, copy);
}

void ActivationOffload::after_backward() {
  limit(context_.role.last_on(context_.compute));
}

void ActivationOffload::limit(OpId op) {
  if (pace_[0].exists()) context_.role.host(limit_name_, std::span{pace_.data(), 1});
  pace_ = {pace_[1], op};
}

}  // namespace twinstep::strategies
