#include "strategies/megatron/bucket_layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace twinstep::strategies {
namespace {

constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t bucket_size(MegatronOptions const& options, std::int64_t ranks) {
  if (!options.overlap_grad_reduce) return kNoLimit;
  return options.bucket_size.value_or(std::max<std::int64_t>(40'000'000, 1'000'000 * ranks));
}

FlatLayout::Alignment alignment(MegatronOptions const& options, std::int64_t ranks) {
  if (!options.use_distributed_optimizer) return {};
  auto const group = std::lcm(ranks, std::int64_t{128});
  return {.member = 64,
          .group = options.pad_buckets_for_high_nccl_busbw ? std::lcm(group, std::int64_t{1} << 16) : group};
}

/// Whether the chunk is the first of the first stage, which has the pipeline's last backward.
bool is_first(StagePlace const& place, std::optional<UnitRange> chunk) {
  return place.stage == 0 && (!chunk || chunk == place.chunks.front());
}

}  // namespace

FlatLayout megatron_layout(Parameters const& parameters, MegatronOptions const& options, std::int64_t ranks,
                           std::int64_t shards, StagePlace const& place) {
  auto const align = alignment(options, ranks);
  auto buckets = std::vector<std::vector<ParameterId>>{};
  auto chunk = std::optional<UnitRange>{};  // of the open bucket
  auto size = std::int64_t{0};
  auto is_full = true;
  for (auto i = parameters.count(); i-- > 0;) {
    auto const id = ParameterId{i};
    auto const own = chunk_of(place.chunks, parameters.unit_of(id));
    auto const is_alone = options.use_distributed_optimizer && parameters.tensor(id).has_copy;
    if (is_full || is_alone || own != chunk) {
      buckets.emplace_back();
      size = 0;
    }
    chunk = own;
    buckets.back().push_back(id);
    size = round_up(size, align.member) + parameters.elements(id);
    is_full = is_alone || size >= (is_first(place, own) ? bucket_size(options, ranks) : kNoLimit);
  }
  return {parameters, std::move(buckets), options.use_distributed_optimizer ? shards : 1, align};
}

}  // namespace twinstep::strategies
