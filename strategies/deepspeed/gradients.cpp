#include "strategies/deepspeed/gradients.hpp"

#include <algorithm>
#include <utility>

#include "strategies/deepspeed/quantized.hpp"

namespace twinstep::strategies {

using namespace program;

PartitionGradients::PartitionGradients(StepContext& context, FlatLayout const& layout, Lanes lanes)
    : context_{context},
      layout_{layout},
      lanes_{lanes},
      reduce_{overlaps() ? context.role.stream("reduce_and_partition") : context.compute},
      bucket_{persistent_buffer(context, "ipg_buffer", options().reduce_bucket_size, context.plan.kernels.precision,
                                MemoryCategory::kBuckets)},
      made_{context} {
  auto const partition = layout.total() / layout.shards();
  if (offloads_optimizer(context.plan))
    host_gradients_.emplace(context, partition);
  else
    sums_ = persistent_buffer(context, "gradient_partition", partition, master_type(context.plan),
                              MemoryCategory::kGradients);
}

void PartitionGradients::add(ParameterId id, OpId by) {
  auto const elements = context_.parameters.elements(id);
  if (bucket_elements_ > 0 && bucket_elements_ + elements > options().reduce_bucket_size) reduce();
  if (overlaps()) context_.role.wait(reduce_, by);
  put(id);
}

void PartitionGradients::finish() {
  reduce();
  auto const last = context_.role.last_on(reduce_);
  context_.role.host(context_.name("reduction.synchronize"), std::span{&last, 1});
  reductions_.clear();
}

void PartitionGradients::put(ParameterId id) {
  auto const elements = context_.parameters.elements(id);
  auto const is_copied = elements <= options().reduce_bucket_size;
  auto const from = of(id);
  auto const in_bucket = Region{bucket_, bucket_elements_, elements};
  if (is_copied) copy_kernel(context_, reduce_, fill_name_, from, in_bucket);
  members_.push_back({id, is_copied ? in_bucket : from});
  made_.let_go(id);
  bucket_elements_ += elements;
}

void PartitionGradients::reduce() {
  if (members_.empty()) return;
  constexpr std::size_t kMostReductions = 2;  // stage3.py, max_param_reduce_events
  if (reductions_.size() > kMostReductions) {
    context_.role.host(limit_name_, std::span{&reductions_.front(), 1});
    reductions_.pop_front();
  }
  std::ranges::sort(members_, {}, &Member::id);
  if (options().zero_quantized_gradients) reduce_quantized_members();
  if (!members_.empty()) keep(sum());
  reductions_.push_back(context_.role.last_on(reduce_));
  members_.clear();
  bucket_elements_ = 0;
}

/// qgZ, one gradient after the other. The others are left in the bucket.
void PartitionGradients::reduce_quantized_members() {
  auto const bucket = std::exchange(members_, {});
  auto others = std::vector<Member>{};
  auto const outside = context_.groups.replicas() > 1 ? std::optional{lanes_.outside} : std::nullopt;
  for (auto const& member : bucket) {
    if (!can_reduce_quantized(context_, member.id)) {
      others.push_back(member);
      continue;
    }
    members_ = {member};
    keep(reduce_quantized(context_, reduce_, outside ? lanes_.inside : lanes_.all, outside, member.gradient));
  }
  members_ = others;
}

/// The reduce-scatter of the bucket's shards, concatenated rank by rank; this rank's are in the result.
Region PartitionGradients::sum() {
  auto own = std::int64_t{0};
  for (auto const& member : members_) own += layout_.shard(group(member.id));
  auto const ranks = layout_.shards();
  auto whole = members_.front().gradient;  // one that needs no padding stays where it is
  if (members_.size() > 1 || whole.elements.base != own * ranks) {
    whole = context_.role.whole(context_.role.buffer({.name = partitions_name_,
                                                      .elements = own * ranks,
                                                      .type = context_.plan.kernels.precision,
                                                      .category = MemoryCategory::kBuckets}));
    copy_pieces(context_, reduce_, partitions_name_, partitions_of(whole.buffer, own));
  }
  scale_kernel(context_, reduce_, divide_name_, whole, 1 / static_cast<double>(ranks));
  auto const place = context_.program.variation({.along = context_.groups.all_axes(), .stride = own});
  auto const result = Region{whole.buffer, {whole.offset.base, place}, own};
  auto const ready = context_.role.last_on(reduce_);
  auto const summed = options().reduce_scatter
                          ? reduce_scatter(context_, lanes_.all, reduce_name_, whole, result, ready)
                          : all_reduce(context_, lanes_.all, reduce_name_, whole, ready);
  context_.role.wait(reduce_, summed);
  return result;
}

std::vector<Piece> PartitionGradients::partitions_of(BufferId partitions, std::int64_t own) {
  auto pieces = std::vector<Piece>{};
  auto begin = std::int64_t{0};
  for (auto const& [id, region] : members_) {
    auto const shard = layout_.shard(group(id));
    if (!writes_every_piece(context_))
      pieces.push_back({region, {partitions, begin * layout_.shards(), region.elements}, {}});
    else
      add_shards(pieces, region, {partitions, begin, shard}, own);
    begin += shard;
  }
  return pieces;
}

/// The shards of one gradient, `own` elements apart; what is left of the last ones is zero.
void PartitionGradients::add_shards(std::vector<Piece>& pieces, Region gradient, Region to, std::int64_t own) {
  auto const shard = to.elements.base;
  for (std::int64_t begin = 0; begin < shard * layout_.shards(); begin += shard, to.offset.base += own) {
    auto const filled = std::clamp(gradient.elements.base - begin, std::int64_t{0}, shard);
    if (filled > 0)
      pieces.push_back(
          {{gradient.buffer, gradient.offset.base + begin, filled}, {to.buffer, to.offset.base, filled}, {}});
    if (filled < shard)
      zero_kernel(context_, reduce_, partitions_name_, {to.buffer, to.offset.base + filled, shard - filled});
  }
}

void PartitionGradients::keep(Region own) {
  auto begin = own.offset;
  for (auto const& member : members_) {
    auto const& of_member = group(member.id);
    auto const from = Region{own.buffer, begin, layout_.shard(of_member)};
    auto const to = layout_.place_shard(sums_, of_member);
    if (host_gradients_)
      host_gradients_->keep(reduce_, {from, to, {}});
    else if (context_.is_first_micro_step())
      copy_kernel(context_, reduce_, keep_name_, from, to);
    else
      add_kernel(context_, reduce_, keep_name_, to, from);
    begin.base += layout_.shard(of_member);
  }
}

}  // namespace twinstep::strategies
