#include "strategies/model/kept.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/check.hpp"

namespace twinstep::strategies {
namespace {

/// What a forward kernel does, as policies tell kernels apart.
enum class Maker : std::uint8_t {
  kLinear,   ///< a product with a parameter
  kProduct,  ///< of two activations: the scores of unfused attention, and its result
  kAttention,
  kOther  ///< products in 8 bits too (_scaled_mm): lists of operations to keep name mm alone
};

void mark_written(Kernel const& kernel, bool value, std::vector<bool>& slots) {
  for (auto const& access : kernel.accesses)
    if (access.mode != program::AccessMode::kRead) slots[static_cast<std::size_t>(access.slot)] = value;
}

/// By slot: whether it is a parameter, or made of parameters alone (a cast).
std::vector<bool> weights_of(UnitWork const& unit) {
  auto is_weight = std::vector<bool>{};
  for (auto const& slot : unit.slots) is_weight.push_back(slot.kind == SlotKind::kParameter);
  for (auto const& kernel : unit.forward) {
    auto const is_made_of_weights = std::ranges::all_of(kernel.accesses, [&](SlotAccess access) {
      return access.mode == program::AccessMode::kWrite || is_weight[static_cast<std::size_t>(access.slot)];
    });
    if (is_made_of_weights) mark_written(kernel, true, is_weight);
  }
  return is_weight;
}

/// By forward kernel.
std::vector<Maker> makers_of(UnitWork const& unit) {
  auto const is_weight = weights_of(unit);
  auto const has_weight = [&](Kernel const& kernel) {
    return std::ranges::any_of(kernel.accesses,
                               [&](SlotAccess access) { return is_weight[static_cast<std::size_t>(access.slot)]; });
  };
  auto out = std::vector<Maker>{};
  for (auto const& kernel : unit.forward) {
    auto const* gemm = std::get_if<program::Gemm>(&kernel.work);
    if (std::holds_alternative<program::Attention>(kernel.work))
      out.push_back(Maker::kAttention);
    else if (gemm == nullptr || gemm->type == DataType::kFp8)
      out.push_back(Maker::kOther);
    else
      out.push_back(has_weight(kernel) ? Maker::kLinear : Maker::kProduct);
  }
  return out;
}

std::vector<bool> saved_slots(UnitWork const& unit) {
  auto out = std::vector<bool>{};
  for (auto const& slot : unit.slots) out.push_back(slot.kind == SlotKind::kSaved);
  return out;
}

/// The attention core is one fused kernel, or all kernels from the first product of two activations to the last. Its
/// result is the first tensor that the last of them writes.
void drop_attention_core(UnitWork const& unit, std::vector<bool>& kept) {
  auto last = std::optional<std::size_t>{};
  auto first = std::optional<std::size_t>{};
  auto const makers = makers_of(unit);
  for (std::size_t i = 0; i < makers.size(); ++i) {
    if (makers[i] != Maker::kProduct && makers[i] != Maker::kAttention) continue;
    if (!first) first = i;
    last = i;
  }
  if (!first) return;
  for (auto i = *first; i <= *last; ++i) mark_written(unit.forward[i], false, kept);
  auto const& accesses = unit.forward[*last].accesses;
  auto const result = std::ranges::find(accesses, program::AccessMode::kWrite, &SlotAccess::mode);
  TWINSTEP_CHECK(result != accesses.end(), "attention writes its result");
  kept[static_cast<std::size_t>(result->slot)] = true;
}

std::vector<bool> results_of_costly_operations(UnitWork const& unit) {
  auto kept = std::vector<bool>(unit.slots.size());
  auto const makers = makers_of(unit);
  auto linears = 0;
  for (std::size_t i = 0; i < makers.size(); ++i) {
    auto const is_odd_linear = makers[i] == Maker::kLinear && ++linears % 2 == 1;
    if (is_odd_linear || makers[i] == Maker::kAttention) mark_written(unit.forward[i], true, kept);
  }
  return kept;
}

bool reads_slot(Kernel const& kernel, std::size_t slot) {
  return std::ranges::any_of(kernel.accesses,
                             [&](SlotAccess access) { return static_cast<std::size_t>(access.slot) == slot; });
}

}  // namespace

std::vector<bool> kept_slots(UnitWork const& unit, KeepPolicy policy) {
  switch (policy) {
    case KeepPolicy::kEverything: return saved_slots(unit);
    case KeepPolicy::kNothing: return std::vector<bool>(unit.slots.size());
    case KeepPolicy::kAllButAttentionCore: {
      auto kept = saved_slots(unit);
      drop_attention_core(unit, kept);
      return kept;
    }
    case KeepPolicy::kPerOp: return results_of_costly_operations(unit);
  }
  TWINSTEP_UNREACHABLE("a policy says what it keeps");
}

std::vector<SavedTensor> saved_tensors(UnitWork const& unit, std::vector<bool> const& kept) {
  auto const recomputed = kernels_to_recompute(unit, kept);
  auto const is_read_later = [&](std::size_t slot) {
    return std::ranges::any_of(unit.backward, [&](Kernel const& kernel) { return reads_slot(kernel, slot); }) ||
           std::ranges::any_of(recomputed, [&](std::size_t kernel) { return reads_slot(unit.forward[kernel], slot); });
  };
  auto out = std::vector<SavedTensor>{};
  for (std::size_t i = 0; i < unit.slots.size(); ++i) {
    auto const& slot = unit.slots[i];
    if (kept[i] || (slot.kind == SlotKind::kInput && is_read_later(i)))
      out.push_back({slot.name, size_of(slot.type) * slot.elements});
  }
  return out;
}

std::vector<SavedTensor> saved_tensors(UnitWork const& unit) {
  return saved_tensors(unit, saved_slots(unit));
}

Bytes saved_bytes(UnitWork const& unit) {
  return saved_bytes(unit, saved_slots(unit));
}

Bytes saved_bytes(UnitWork const& unit, std::vector<bool> const& kept) {
  auto sum = Bytes{};
  for (auto const& tensor : saved_tensors(unit, kept)) sum += tensor.bytes;
  return sum;
}

}  // namespace twinstep::strategies
