#include "strategies/torch/ddp_buckets.hpp"

#include <algorithm>

#include "strategies/parts/flat_layout.hpp"

namespace twinstep::strategies {

std::vector<std::vector<ParameterId>> ddp_buckets(Parameters const& parameters, DdpOptions const& options,
                                                  DataType held) {
  if (!finds_unused(options) && !options.first_iteration) return bucketed(parameters, held, bucket_limits(options));
  auto registered = std::vector<ParameterId>{};
  for (std::size_t i = 0; i < parameters.count(); ++i) registered.emplace_back(i);
  if (!finds_unused(options)) return {std::move(registered)};
  auto buckets = bucketed(parameters, registered, held, bucket_limits(options));
  std::ranges::reverse(buckets);
  return buckets;
}

}  // namespace twinstep::strategies
