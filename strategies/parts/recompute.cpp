#include "strategies/parts/recompute.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/model/kept.hpp"

namespace twinstep::strategies {
namespace {

KeepPolicy policy_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone: return KeepPolicy::kEverything;
    case Recompute::kFull: return KeepPolicy::kNothing;
    case Recompute::kSelective: return KeepPolicy::kAllButAttentionCore;
    case Recompute::kPerOp: return KeepPolicy::kPerOp;
  }
  TWINSTEP_UNREACHABLE("every way to recompute keeps something or nothing");
}

bool reads_input(UnitWork const& unit, Kernel const& kernel) {
  return std::ranges::any_of(kernel.accesses, [&](SlotAccess access) {
    return unit.slots[static_cast<std::size_t>(access.slot)].kind == SlotKind::kInput;
  });
}

Recomputation of_kind(UnitWork const& unit, KeepPolicy policy) {
  auto out = Recomputation{.kept = kept_slots(unit, policy)};
  out.kernels = kernels_to_recompute(unit, out.kept);
  out.keeps_input =
      std::ranges::any_of(unit.backward, [&](Kernel const& kernel) { return reads_input(unit, kernel); }) ||
      std::ranges::any_of(out.kernels, [&](std::size_t i) { return reads_input(unit, unit.forward[i]); });
  return out;
}

Recomputation whole_of_kind(UnitWork const& unit) {
  auto out = of_kind(unit, KeepPolicy::kNothing);
  out.kernels.resize(unit.forward.size());
  std::iota(out.kernels.begin(), out.kernels.end(), std::size_t{0});
  return out;
}

Flops flops_of(UnitWork const& unit, Recomputation const& recomputation) {
  auto sum = Flops{};
  for (auto const kernel : recomputation.kernels) {
    auto work = unit.forward[kernel].work;
    if (auto* const attention = std::get_if<program::Attention>(&work)) attention->causal = false;
    sum += program::flops_of(work);
  }
  return sum;
}

}  // namespace

RecomputedUnits::RecomputedUnits(ModelWork const& model, Plan const& plan, std::vector<std::size_t> begins)
    : model_{&model},
      scope_{plan.kernels.recompute_scope},
      begins_{std::move(begins)},
      is_on_{plan.kernels.recompute != Recompute::kNone} {
  for (auto const& kind : model.kinds) {
    none_.push_back(of_kind(kind, KeepPolicy::kEverything));
    as_needed_.push_back(of_kind(kind, policy_of(plan.kernels.recompute)));
    everything_.push_back(whole_of_kind(kind));
  }
}

bool RecomputedUnits::contain(std::size_t unit) const {
  auto const index = model_->units[unit].index;
  return is_on_ && index >= 0 && index < scope_.first.value_or(std::numeric_limits<std::int64_t>::max()) &&
         (index + 1) % scope_.every == 0;
}

bool RecomputedUnits::follows(std::size_t unit) const {
  if (unit == 0 || std::ranges::find(begins_, unit) != begins_.end()) return false;
  return model_->units[unit - 1].index + 1 == model_->units[unit].index;
}

std::size_t RecomputedUnits::segment_begin(std::size_t unit) const {
  if (!contain(unit)) return unit;
  auto first = unit;
  for (auto left = model_->units[unit].index % scope_.segment; left > 0 && follows(first); --left) --first;
  return first;
}

bool RecomputedUnits::ends_segment(std::size_t unit) const {
  auto const is_last = unit + 1 == model_->units.size();
  return is_last || segment_begin(unit + 1) == unit + 1;
}

Recomputation const& RecomputedUnits::of(std::size_t unit) const {
  auto const kind = static_cast<std::size_t>(model_->units[unit].kind);
  if (!contain(unit)) return none_[kind];
  return ends_segment(unit) ? as_needed_[kind] : everything_[kind];
}

Flops RecomputedUnits::flops() const {
  auto sum = Flops{};
  for (std::size_t unit = 0; unit < model_->units.size(); ++unit)
    sum += flops_of(model_->work(model_->units[unit]), of(unit));
  return sum;
}

}  // namespace twinstep::strategies
