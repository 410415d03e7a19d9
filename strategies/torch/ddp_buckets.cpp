#include "strategies/torch/ddp_buckets.hpp"

#include <algorithm>

#include "strategies/parts/flat_layout.hpp"

namespace twinstep::strategies {

std::vector<std::vector<ParameterId>> ddp_buckets(Parameters const& parameters, Plan const& plan) {
  if (!finds_unused(plan.ddp) && !plan.ddp.first_iteration)
    return bucketed(parameters, held_type(plan), bucket_limits(plan));
  auto registered = std::vector<ParameterId>{};
  for (std::size_t i = 0; i < parameters.count(); ++i) registered.emplace_back(i);
  if (!finds_unused(plan.ddp)) return {std::move(registered)};
  auto buckets = bucketed(parameters, registered, held_type(plan), bucket_limits(plan));
  std::ranges::reverse(buckets);
  return buckets;
}

}  // namespace twinstep::strategies
