#include "strategies/states.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::strategies {

using namespace program;

BufferId persistent_buffer(StepContext& context, std::string_view name, std::int64_t elements, DataType type,
                           MemoryCategory category) {
  return context.role.buffer({.name = context.program.name(name),
                              .elements = elements,
                              .type = type,
                              .category = category,
                              .is_persistent = true});
}

FlatLayout bucketed_layout(StepContext const& context, std::int64_t shards) {
  return {context.parameters, bucketed(context.parameters, context.plan.precision, bucket_limits(context.plan)),
          shards};
}

BufferId whole_parameters(StepContext& context, FlatLayout const& layout) {
  return persistent_buffer(context, "parameters", layout.total(), context.plan.precision, MemoryCategory::kParameters);
}

BufferId whole_gradients(StepContext& context, FlatLayout const& layout) {
  return persistent_buffer(context, "gradients", layout.total(), context.plan.precision, MemoryCategory::kGradients);
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
    by_shard_.emplace_back(shard, context_.program.variation({.axes = {Axis::kData}, .stride = shard}));
    known = by_shard_.end() - 1;
  }
  return {buffer, RankValue{group.begin, known->second}, shard};
}

AdamW::AdamW(StepContext& context, std::int64_t elements) : context_{context}, name_{context.program.name("adamw")} {
  auto const& plan = context.plan;
  auto const state = master_type(plan);
  auto const add = [&](std::string_view name) {
    return persistent_buffer(context, name, elements, state, MemoryCategory::kOptimizer);
  };
  if (has_master_copy(plan)) master_ = add("master");
  first_moment_ = add("first_moment");
  second_moment_ = add("second_moment");
  // Weights and both moments are read and written, the gradient is read, a model copy is written
  // (frameworks: 28 bytes for fp32, and for fp32 masters with bf16 gradients and copies).
  auto const state_bytes = 6 * size_of(state).count();
  auto const model_bytes = size_of(plan.precision).count();
  bytes_per_element_ = static_cast<std::int32_t>(state_bytes + (has_master_copy(plan) ? 2 : 1) * model_bytes);
}

OpId AdamW::update(std::int64_t begin, Region parameters, Region gradient) {
  auto const elements = parameters.elements;
  auto const work = Elementwise{.function = Function::kAdamW,
                                .elements = elements,
                                .bytes_per_element = bytes_per_element_,
                                .type = master_type(context_.plan)};
  auto const state = [&](BufferId buffer) { return updates({buffer, begin, elements}); };
  if (!master_.exists())
    return context_.role.add(context_.compute, name_, work,
                             {updates(parameters), reads(gradient), state(first_moment_), state(second_moment_)});
  return context_.role.add(
      context_.compute, name_, work,
      {state(master_), reads(gradient), state(first_moment_), state(second_moment_), writes(parameters)});
}

namespace {

/// Zeroes the padding of `group` in a buffer that holds it alone; nothing if it has none.
void zero_padding(StepContext& context, Group const& group, BufferId buffer) {
  auto const padding = group.elements - group.used;
  if (padding == 0) return;
  auto const type = context.role.get(buffer).type;
  auto const work = Elementwise{.function = Function::kFill,
                                .elements = padding,
                                .bytes_per_element = static_cast<std::int32_t>(size_of(type).count()),
                                .type = type,
                                .scalar = 0};
  context.role.add(context.compute, context.program.name("zero_padding"), work,
                   {writes({buffer, group.used, padding})});
}

}  // namespace

ShardedGradients::ShardedGradients(StepContext& context, FlatLayout const& layout)
    : context_{context},
      layout_{layout},
      shards_{persistent_buffer(context, "gradient_shard", layout.total() / layout.shards(), context.plan.precision,
                                MemoryCategory::kGradients)},
      reduce_name_{context.program.name("gradient.reduce_scatter")},
      part_name_{context.program.name("gradient_shard.micro_batch")},
      add_name_{context.program.name("gradient.accumulate")},
      limit_name_{context.program.name("gradient.reduce_scatter.limit")} {}

BufferId ShardedGradients::make_whole(Group const& group, std::string_view name) {
  if (auto const before_last = std::exchange(latest_[reductions_ % latest_.size()], {}); before_last.exists())
    context_.role.host(limit_name_, std::span{&before_last, 1});
  auto const buffer = context_.role.buffer({.name = context_.program.name(name),
                                            .elements = group.elements,
                                            .type = context_.plan.precision,
                                            .category = MemoryCategory::kBuckets});
  zero_padding(context_, group, buffer);
  return buffer;
}

void ShardedGradients::reduce(Group const& group, BufferId whole, OpId after) {
  auto const sum = shard_of(group);
  if (context_.is_first_micro_step()) {
    reduce_scatter(context_, reduce_name_, context_.role.whole(whole), sum, after);
  } else {
    auto const part = context_.role.whole(context_.role.buffer({.name = part_name_,
                                                                .elements = layout_.shard(group),
                                                                .type = context_.plan.precision,
                                                                .category = MemoryCategory::kBuckets}));
    reduce_scatter(context_, reduce_name_, context_.role.whole(whole), part, after);
    add_to(sum, part);
  }
  latest_[reductions_++ % latest_.size()] = context_.role.last_on(context_.communication);
}

void ShardedGradients::add_to(Region sum, Region part) {
  auto const element = static_cast<std::int32_t>(size_of(context_.plan.precision).count());
  auto const add = Elementwise{.function = Function::kAdd,
                               .elements = sum.elements,
                               .bytes_per_element = 3 * element,
                               .type = context_.plan.precision};
  context_.role.add(context_.communication, add_name_, add, {reads(sum), reads(part), writes(sum)});
}

namespace {

OpId communicate(StepContext& context, NameId name, CollectiveKind kind, RankValue elements, Region sent,
                 Region received, OpId after) {
  if (after.exists()) context.role.wait(context.communication, after);
  auto const collective = Collective{
      .kind = kind, .type = context.role.get(sent.buffer).type, .communicator = context.ranks, .elements = elements};
  return context.role.add(context.communication, name, collective, sent, received);
}

}  // namespace

OpId reduce_scatter(StepContext& context, NameId name, Region whole, Region own, OpId after) {
  return communicate(context, name, CollectiveKind::kReduceScatter, whole.elements, whole, own, after);
}

OpId all_gather(StepContext& context, NameId name, Region own, Region whole, OpId after) {
  return communicate(context, name, CollectiveKind::kAllGather, whole.elements, own, whole, after);
}

OpId all_reduce(StepContext& context, NameId name, Region region, OpId after) {
  return communicate(context, name, CollectiveKind::kAllReduce, region.elements, region, region, after);
}

}  // namespace twinstep::strategies
