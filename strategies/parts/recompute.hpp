#pragma once

#include <cstddef>
#include <vector>

#include "strategies/model/work.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// What a unit keeps from its forward, and what it computes a second time before its backward.
struct Recomputation {
  std::vector<bool> kept;            ///< by slot
  std::vector<std::size_t> kernels;  ///< of forward, by index
  bool keeps_input = true;           ///< backward, or a kernel that runs again, reads it
};

/// Which units of a model a plan recomputes, and together with which others.
///
/// Blocks can be; embedding and head keep what they need. Blocks of one segment keep nothing between forward and
/// backward but the input of the first. Before the backward of the last one the forward of the others runs again, whole
/// and in order; that of the last one, as of a block by itself, only as far as backward needs it. Sources: Chen et al.,
/// arXiv 1604.06174, section 4 (segments); Megatron-LM, megatron/core/transformer/transformer_block.py,
/// _checkpointed_forward ("uniform" is `segment`, "block" is `first`); torchtitan, apply_ac (`every`).
/// A segment ends with a chunk of a pipeline's stage, whose first units are `begins`. Requires a model that outlives
/// this.
class RecomputedUnits {
 public:
  RecomputedUnits(ModelWork const& model, Plan const& plan, std::vector<std::size_t> begins = {});

  /// A unit that is not recomputed, or by itself, is a segment of one.
  [[nodiscard]] std::size_t segment_begin(std::size_t unit) const;
  [[nodiscard]] bool ends_segment(std::size_t unit) const;
  [[nodiscard]] Recomputation const& of(std::size_t unit) const;
  /// FLOPs that the step's second forwards take for one micro-batch, counted as model FLOPs are: every score of an
  /// attention.
  [[nodiscard]] Flops flops() const;

 private:
  [[nodiscard]] bool contain(std::size_t unit) const;
  /// Whether the unit before it is the layer before it: a stage may begin in the middle of a segment.
  [[nodiscard]] bool follows(std::size_t unit) const;

  ModelWork const* model_;
  RecomputeScope scope_;
  std::vector<std::size_t> begins_;  // of chunks
  bool is_on_;
  std::vector<Recomputation> none_;        // by kind: of units that are not recomputed
  std::vector<Recomputation> as_needed_;   // by kind: of the last units of segments
  std::vector<Recomputation> everything_;  // by kind: of the others
};

}  // namespace twinstep::strategies
