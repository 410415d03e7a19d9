#include "strategies/torch/fsdp_states.hpp"

#include <algorithm>

#include "strategies/parts/clipping.hpp"

namespace twinstep::strategies {

using namespace program;

FsdpUnits::FsdpUnits(bool shards_root, ModelWork const& model, Parameters const& parameters, std::int64_t wraps_from,
                     std::span<UnitRange const> chunks)
    : holding_(model.units.size()) {
  auto root = std::optional<std::size_t>{};
  auto is_tied = false;
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) is_tied = is_tied || parameters.is_shared(unit);
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) {
    chunks_.push_back(chunk_of(chunks, unit).value_or(UnitRange{0, model.units.size()}));
    if (unit == chunks_.back().first) root.reset();
    auto own = std::vector<ParameterId>{};
    for (std::size_t tensor = 0; tensor < model.work(model.units[unit]).parameters.size(); ++tensor)
      if (auto const id = parameters.at(unit, static_cast<std::int32_t>(tensor)); id.exists()) own.push_back(id);
    if (own.empty()) continue;
    auto elements = std::int64_t{0};
    for (auto const id : own) elements += parameters.elements(id);
    auto const is_no_layer = model.units[unit].index < 0;
    auto const is_of_root =
        wraps_from > 0 ? elements < wraps_from || (is_no_layer && is_tied) : is_no_layer && (shards_root || is_tied);
    if (is_of_root && root) {
      holding_[unit] = root;
    } else {
      holding_[unit] = groups_.size();
      if (is_of_root) roots_.push_back(*(root = groups_.size()));
      groups_.emplace_back();
    }
    auto& group = groups_[*holding_[unit]];
    group.insert(group.end(), own.begin(), own.end());
  }
}

std::optional<std::size_t> FsdpUnits::before(std::size_t unit) const {
  for (auto each = unit; each-- > chunks_[unit].first;)
    if (holding_[each] && holding_[each] != holding_[unit] && !is_root(*holding_[each])) return holding_[each];
  return std::nullopt;
}

std::optional<std::size_t> FsdpUnits::after(std::size_t unit) const {
  for (auto each = unit + 1; each < chunks_[unit].end; ++each)
    if (holding_[each] && holding_[each] != holding_[unit] && !is_root(*holding_[each])) return holding_[each];
  return std::nullopt;
}

bool FsdpUnits::ends_backward(std::size_t unit) const {
  auto const earlier = holding_.begin() + static_cast<std::ptrdiff_t>(unit);
  return std::find(holding_.begin(), earlier, holding_[unit]) == earlier;
}

FsdpStates::FsdpStates(StepContext& context, FlatLayout const& layout)
    : context_{context},
      layout_{layout},
      space_{context.plan.states.offload.parameters == OffloadPlace::kNone ? MemorySpace::kDevice : MemorySpace::kHost},
      parameters_{persistent_buffer(context, "parameter_shard", layout.total() / layout.shards(),
                                    held_type(context.plan), MemoryCategory::kParameters, space_)},
      optimizer_{context, layout.total() / layout.shards(), space_},
      gradients_(layout.groups().size()),
      to_device_{context.name("shard.to_device")},
      to_host_{context.name("gradient_shard.to_host")},
      cast_{context.name("shard.cast")},
      gradient_cast_{context.name("gradient_shard.cast")},
      add_{context.name("gradient_shard.accumulate")},
      gradient_shard_{context.name("gradient_shard")} {
  if (is_on_host()) cpu_ = context.role.stream("cpu", true);
}

Region FsdpStates::buffer(NameId name, std::int64_t elements, DataType type, MemoryCategory category,
                          MemorySpace space) {
  return context_.role.whole(
      context_.role.buffer({.name = name, .elements = elements, .type = type, .category = category, .space = space}));
}

Region FsdpStates::shard_to_gather(Group const& group, StreamId stream) {
  using enum MemoryCategory;
  auto shard = layout_.place_shard(parameters_, group);
  auto const elements = layout_.shard(group);
  if (is_on_host()) {
    auto const copy = buffer(to_device_, elements, held_type(context_.plan), kGatheredParameters, MemorySpace::kDevice);
    copy_between(context_, stream, to_device_, shard, copy);
    shard = copy;
  }
  if (held_type(context_.plan) == context_.plan.kernels.precision) return shard;
  auto const low = buffer(cast_, elements, context_.plan.kernels.precision, kGatheredParameters, MemorySpace::kDevice);
  copy_kernel(context_, stream, cast_, shard, low);
  return low;
}

MemoryCategory FsdpStates::category_of_reduced(std::size_t unit, DataType type) const {
  auto const is_kept = type == held_type(context_.plan) && !is_on_host() && !gradients_[unit].buffer.exists();
  return is_kept ? MemoryCategory::kGradients : MemoryCategory::kBuckets;
}

void FsdpStates::keep_gradient(std::size_t unit, Region reduced, StreamId stream) {
  auto const held = held_type(context_.plan);
  auto const elements = layout_.shard(layout_.groups()[unit]);
  if (context_.role.get(reduced.buffer).type != held) {
    auto const cast = buffer(gradient_shard_, elements, held, MemoryCategory::kGradients, MemorySpace::kDevice);
    copy_kernel(context_, stream, gradient_cast_, reduced, cast);
    reduced = cast;
  }
  if (is_on_host()) {
    auto const copy = buffer(gradient_shard_, elements, held, MemoryCategory::kGradients, MemorySpace::kHost);
    copy_between(context_, stream, to_host_, reduced, copy);
    reduced = copy;
  }
  auto& sum = gradients_[unit];
  if (!sum.buffer.exists()) {
    sum = reduced;
    return;
  }
  auto const adds_on = is_on_host() ? cpu_ : stream;
  if (is_on_host()) context_.role.wait(cpu_, context_.role.last_on(stream));
  add_kernel(context_, adds_on, add_, sum, reduced);
}

void FsdpStates::update(StreamId reduced, std::optional<Lane> shared_by) {
  auto const last = context_.role.last_on(reduced);
  if (is_on_host()) {
    context_.role.host(to_host_, std::span{&last, 1});
  } else if (last.exists()) {
    context_.role.wait(context_.compute, last);
  }
  if (is_on_host())
    clip_host_gradients(context_, cpu_, gradients_, shared_by);
  else
    clip_gradients(context_, gradients_, shared_by, has_master_copy(context_.plan));  // an overflow spares masters
  optimizer_.update(is_on_host() ? cpu_ : context_.compute, 0, context_.role.whole(parameters_), gradients_);
}

DivideFactors divide_factors(std::int64_t ranks) {
  auto factor = std::int64_t{1};
  while (ranks % factor == 0 && ranks / factor > factor) factor *= 2;
  return {static_cast<double>(factor), static_cast<double>(ranks) / static_cast<double>(factor)};
}

}  // namespace twinstep::strategies
