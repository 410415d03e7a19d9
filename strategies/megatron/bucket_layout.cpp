#include "strategies/megatron/bucket_layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace twinstep::strategies {
namespace {

std::int64_t bucket_size(MegatronOptions const& options, std::int64_t ranks) {
  if (!options.overlap_grad_reduce) return std::numeric_limits<std::int64_t>::max();
  return options.bucket_size.value_or(std::max<std::int64_t>(40'000'000, 1'000'000 * ranks));
}

FlatLayout::Alignment alignment(MegatronOptions const& options, std::int64_t ranks) {
  if (!options.use_distributed_optimizer) return {};
  auto const group = std::lcm(ranks, std::int64_t{128});
  return {.member = 64,
          .group = options.pad_buckets_for_high_nccl_busbw ? std::lcm(group, std::int64_t{1} << 16) : group};
}

}  // namespace

FlatLayout megatron_layout(Parameters const& parameters, MegatronOptions const& options, std::int64_t ranks,
                           std::int64_t shards) {
  auto const limit = bucket_size(options, ranks);
  auto const align = alignment(options, ranks);
  auto buckets = std::vector<std::vector<ParameterId>>{};
  auto size = limit;  // of the open bucket; none is open
  for (auto i = parameters.count(); i-- > 0;) {
    if (size >= limit) {
      buckets.emplace_back();
      size = 0;
    }
    buckets.back().emplace_back(i);
    size = round_up(size, align.member) + parameters.elements(ParameterId{i});
  }
  return {parameters, std::move(buckets), options.use_distributed_optimizer ? shards : 1, align};
}

}  // namespace twinstep::strategies
