#include "strategies/parts/states.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::strategies {

using namespace program;

BufferId persistent_buffer(StepContext& context, std::string_view name, std::int64_t elements, DataType type,
                           MemoryCategory category, MemorySpace space) {
  return context.role.buffer({.name = context.program.name(name),
                              .elements = elements,
                              .type = type,
                              .category = category,
                              .space = space,
                              .is_persistent = true});
}

Lane communication_lane(StepContext& context) {
  return {context.role.stream("communication"), context.groups.all(context.program)};
}

ShardLanes shard_lanes(StepContext& context) {
  auto lanes = ShardLanes{{context.role.stream("communication"), context.groups.shard(context.program)}, {}};
  if (context.groups.replicas() > 1)
    lanes.across = Lane{context.role.stream("replicas"), context.groups.replicate(context.program)};
  return lanes;
}

void sum_across(StepContext& context, ShardLanes const& lanes, Region own, OpId after) {
  if (lanes.across) all_reduce(context, *lanes.across, context.program.name("gradient_shard.all_reduce"), own, after);
}

void wait_for(StepContext& context, ShardLanes const& lanes) {
  context.role.wait(context.compute, context.role.last_on(lanes.inside.stream));
  if (lanes.across) context.role.wait(context.compute, context.role.last_on(lanes.across->stream));
}

FlatLayout bucketed_layout(StepContext const& context, std::int64_t shards) {
  return {context.parameters,
          bucketed(context.parameters, context.plan.kernels.precision,
                   bucket_limits(context.plan.strategy.get<TextbookOptions>(), context.plan.kernels.precision)),
          shards};
}

BufferId whole_parameters(StepContext& context, FlatLayout const& layout) {
  return persistent_buffer(context, "parameters", layout.total(), context.plan.kernels.precision,
                           MemoryCategory::kParameters);
}

BufferId whole_gradients(StepContext& context, FlatLayout const& layout) {
  return persistent_buffer(context, "gradients", layout.total(), context.plan.kernels.precision,
                           MemoryCategory::kGradients);
}

OwedGradients::OwedGradients(FlatLayout const& layout) : layout_{layout} {
  for (auto const& group : layout.groups()) owed_.push_back(group.members.size());
}

Group const* OwedGradients::complete(ParameterId id) {
  auto const index = layout_.group_of(id);
  auto const& group = layout_.groups()[index];
  if (--owed_[index] > 0) return nullptr;
  owed_[index] = group.members.size();
  return &group;
}

Region OwnShard::in(BufferId buffer, Group const& group) {
  auto const shard = layout_.shard(group);
  auto known = std::ranges::find(by_shard_, shard, &std::pair<std::int64_t, VariationId>::first);
  if (known == by_shard_.end()) {
    by_shard_.emplace_back(shard, context_.program.variation({.along = along_, .stride = shard}));
    known = by_shard_.end() - 1;
  }
  return {buffer, RankValue{group.begin, known->second}, shard};
}

namespace {

/// Zeroes the padding of `group` in a buffer that holds it alone; nothing if it has none.
void zero_padding(StepContext& context, Group const& group, BufferId buffer) {
  auto const padding = group.elements - group.used;
  if (padding > 0)
    zero_kernel(context, context.compute, context.program.name("zero_padding"), {buffer, group.used, padding});
}

}  // namespace

ShardedGradients::ShardedGradients(StepContext& context, FlatLayout const& layout, ShardLanes lanes)
    : context_{context},
      layout_{layout},
      lanes_{lanes},
      shards_{persistent_buffer(context, "gradient_shard", layout.total() / layout.shards(),
                                context.plan.kernels.precision, MemoryCategory::kGradients)},
      reduce_name_{context.program.name("gradient.reduce_scatter")},
      part_name_{context.program.name("gradient_shard.micro_batch")},
      add_name_{context.program.name("gradient.accumulate")},
      limit_name_{context.program.name("gradient.reduce_scatter.limit")} {}

BufferId ShardedGradients::make_whole(Group const& group, std::string_view name) {
  if (auto const before_last = std::exchange(latest_[reductions_ % latest_.size()], {}); before_last.exists())
    context_.role.host(limit_name_, std::span{&before_last, 1});
  auto const buffer = context_.role.buffer({.name = context_.program.name(name),
                                            .elements = group.elements,
                                            .type = context_.plan.kernels.precision,
                                            .category = MemoryCategory::kBuckets});
  zero_padding(context_, group, buffer);
  return buffer;
}

void ShardedGradients::reduce(Group const& group, BufferId whole, OpId after) {
  auto const sum = shard_of(group);
  if (context_.is_first_micro_step()) {
    reduce_scatter(context_, lanes_.inside, reduce_name_, context_.role.whole(whole), sum, after);
  } else {
    auto const part = context_.role.whole(context_.role.buffer({.name = part_name_,
                                                                .elements = layout_.shard(group),
                                                                .type = context_.plan.kernels.precision,
                                                                .category = MemoryCategory::kBuckets}));
    reduce_scatter(context_, lanes_.inside, reduce_name_, context_.role.whole(whole), part, after);
    add_kernel(context_, lanes_.inside.stream, add_name_, sum, part);
  }
  if (context_.is_last_micro_step()) sum_across(context_, lanes_, sum, context_.role.last_on(lanes_.inside.stream));
  latest_[reductions_++ % latest_.size()] = context_.role.last_on(lanes_.inside.stream);
}

}  // namespace twinstep::strategies
