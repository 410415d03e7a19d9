#include "strategies/deepspeed/pieces.hpp"

#include <algorithm>

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

Region MadeGradients::of(ParameterId id) {
  auto& made = made_[id.index()];
  if (!made.exists())
    made = context_.role.buffer({.name = name_,
                                 .elements = context_.parameters.elements(id),
                                 .type = context_.plan.kernels.precision,
                                 .category = MemoryCategory::kGradients});
  return context_.role.whole(made);
}

namespace {

/// Parameters of a bucket that follow each other in the flat buffer too.
struct Run {
  std::int64_t begin = 0;  // in the flat buffer
  std::int64_t end = 0;
  std::int64_t in_bucket = 0;
};

std::vector<Run> runs_of(FlatLayout const& flat, FlatLayout const& buckets, Group const& group) {
  auto runs = std::vector<Run>{};
  for (auto const id : group.members) {
    auto const begin = flat.offset(id);
    auto const end = begin + buckets.padded(id);
    if (!runs.empty() && runs.back().end == begin)
      runs.back().end = end;
    else
      runs.push_back({begin, end, buckets.offset(id) - group.begin});
  }
  return runs;
}

/// The part of `run` that lies in each rank's partition.
Piece own_piece(StepContext& context, Run const& run, std::int64_t shard, Region bucket, BufferId partition) {
  auto const ranks = context.groups.ranks();
  auto from = std::vector<std::int64_t>{};
  auto to = std::vector<std::int64_t>{};
  auto elements = std::vector<std::int64_t>{};
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    auto const first = std::max(run.begin, rank * shard);
    auto const last = std::min(run.end, (rank + 1) * shard);
    auto const is_empty = first >= last;
    from.push_back(is_empty ? 0 : run.in_bucket + first - run.begin);
    to.push_back(is_empty ? 0 : first - rank * shard);
    elements.push_back(is_empty ? 0 : last - first);
  }
  auto const varying = [&](std::int64_t base, std::vector<std::int64_t> const& table) {
    return RankValue{base, context.program.variation({.along = context.groups.all_axes(), .table = table})};
  };
  auto const count = varying(0, elements);
  return {{bucket.buffer, varying(bucket.offset.base, from), count}, {partition, varying(0, to), count}, elements};
}

}  // namespace

bool writes_every_piece(StepContext const& context) {
  if (context.plan.kernels.precision == DataType::kFp64) return true;
  auto const is_plain = [](Kernel const& kernel) {
    auto const* const work = std::get_if<Elementwise>(&kernel.work);
    return work == nullptr || work->family == KernelFamily::kStrategy;
  };
  return std::ranges::all_of(context.model.kinds, [&](UnitWork const& unit) {
    return std::ranges::all_of(unit.forward, is_plain) && std::ranges::all_of(unit.backward, is_plain);
  });
}

OpId copy_pieces(StepContext& context, StreamId stream, NameId name, std::span<Piece const> pieces) {
  if (writes_every_piece(context)) {
    for (auto const& piece : pieces) copy_kernel(context, stream, name, piece.from, piece.to);
    return context.role.last_on(stream);
  }
  auto accesses = std::vector<Access>{};
  auto elements = std::int64_t{0};
  for (auto const& piece : pieces) {
    accesses.push_back(reads(piece.from));
    accesses.push_back(writes(piece.to));
    elements += piece.to.elements.base;
  }
  auto const size = [&](Region const& region) { return size_of(context.role.get(region.buffer).type).count(); };
  auto const bytes = size(pieces.front().from) + size(pieces.front().to);
  return context.role.add(stream, name,
                          Elementwise{.elements = elements,
                                      .bytes_per_element = static_cast<std::int32_t>(bytes),
                                      .type = context.plan.kernels.precision,
                                      .family = KernelFamily::kModel},
                          accesses);
}

std::vector<Piece> own_pieces(StepContext& context, FlatLayout const& flat, FlatLayout const& buckets,
                              Group const& group, Region bucket, BufferId partition) {
  auto const shard = flat.total() / flat.shards();
  auto pieces = std::vector<Piece>{};
  if (writes_every_piece(context)) {
    for (auto const& run : runs_of(flat, buckets, group))
      pieces.push_back(own_piece(context, run, shard, bucket, partition));
    return pieces;
  }
  auto const begin = group.begin / flat.shards();
  auto const elements = (group.begin + group.elements) / flat.shards() - begin;
  pieces.push_back({{bucket.buffer, bucket.offset, elements}, {partition, begin, elements}, {}});
  return pieces;
}

}  // namespace twinstep::strategies
