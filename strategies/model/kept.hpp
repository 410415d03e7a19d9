#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "strategies/model/work.hpp"

namespace twinstep::strategies {

/// What a unit keeps from its forward until its backward, beside its input. What it does not keep, its backward makes
/// again with the kernels that `kernels_to_recompute` lists.
enum class KeepPolicy : std::uint8_t {
  kEverything,  ///< every saved tensor: nothing is recomputed
  kNothing,     ///< no tensor: full recomputation
  /// Every saved tensor but those inside the attention core: scores, probabilities and their dropout; with fused
  /// attention the log-sum-exp. The core's result stays, for the product that follows saves its input.
  /// Source: Korthikanti et al., arXiv 2205.05198, section 5 (34 s b h bytes a layer in 16 bits).
  kAllButAttentionCore,
  /// The results of every second product with a weight in 16 bits or more (the first, the third, ...) and of fused
  /// attention, whether backward reads them or not; those in 8 bits are another operation, which is not on the list.
  /// Source: torchtitan's selective checkpointing "op" (apply_ac, _save_list): a policy of torch.utils.checkpoint holds
  /// what an operation returns, so a projection is kept before its rotation.
  kPerOp
};

/// By slot: whether `policy` keeps it. Kept are saved tensors; with kPerOp also temporaries, which then live until
/// recomputation has passed the kernel that wrote them. A kernel that is recomputed may write a kept tensor once more.
[[nodiscard]] std::vector<bool> kept_slots(UnitWork const& unit, KeepPolicy policy);

/// What a unit holds from its forward to its backward if it keeps `kept`: these slots, and its input where backward or
/// a recomputed kernel reads it.
[[nodiscard]] std::vector<SavedTensor> saved_tensors(UnitWork const& unit, std::vector<bool> const& kept);
[[nodiscard]] Bytes saved_bytes(UnitWork const& unit, std::vector<bool> const& kept);

}  // namespace twinstep::strategies

namespace twinstep {

template <>
struct EnumNames<strategies::KeepPolicy> {
  static constexpr std::array<std::string_view, 4> values{"everything", "nothing", "all-but-attention-core", "per-op"};
};

}  // namespace twinstep
