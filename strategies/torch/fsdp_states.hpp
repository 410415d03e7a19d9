#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "strategies/parts/flat_layout.hpp"
#include "strategies/parts/optimizer.hpp"
#include "strategies/parts/states.hpp"

/// What FSDP1 and FSDP2 have in common: units, and the states of which every rank keeps its shard.
namespace twinstep::strategies {

/// How a model is cut into units: each repeated layer is one; what is left (embedding, final norm, head) is the root
/// unit, or one unit each if the root is not sharded as one. Tensors that are tied lie in one unit. The root comes
/// first. With a least number of parameters (`wraps_from`) what has fewer is the root's, and all else a unit. Each
/// chunk of a pipeline's stage is a model of its own, with a root of its own.
class FsdpUnits {
 public:
  FsdpUnits(bool shards_root, ModelWork const& model, Parameters const& parameters, std::int64_t wraps_from = 0,
            std::span<UnitRange const> chunks = {});

  /// The parameters of each unit.
  [[nodiscard]] std::vector<std::vector<ParameterId>> const& groups() const { return groups_; }
  /// The unit that holds the parameters of unit `unit` of the model; none if that has no parameters.
  [[nodiscard]] std::optional<std::size_t> holding(std::size_t unit) const { return holding_[unit]; }
  /// The unit whose backward comes after that of the model's `unit`, the root apart.
  [[nodiscard]] std::optional<std::size_t> before(std::size_t unit) const;
  /// The unit whose forward comes after that of the model's `unit`, the root apart.
  [[nodiscard]] std::optional<std::size_t> after(std::size_t unit) const;
  [[nodiscard]] bool is_root(std::size_t group) const { return std::ranges::find(roots_, group) != roots_.end(); }
  /// Whether no other backward of this unit's parts follows that of the model's `unit`.
  [[nodiscard]] bool ends_backward(std::size_t unit) const;

 private:
  std::vector<std::vector<ParameterId>> groups_;
  std::vector<std::optional<std::size_t>> holding_;  // by unit of the model
  std::vector<std::size_t> roots_;                   // one for each chunk that has what is no layer
  std::vector<UnitRange> chunks_;                    // by unit of the model
};

/// A rank's shards: parameters of the held type, gradients and the optimizer's states; in host memory with CPU offload.
/// A unit's gradient shard lives from its first reduction to the update.
class FsdpStates {
 public:
  FsdpStates(StepContext& context, FlatLayout const& layout);

  /// The shard of `group` in device memory and in the type of compute, copied and cast on `stream` as far as needed.
  [[nodiscard]] program::Region shard_to_gather(Group const& group, StreamId stream);
  /// What a reduced gradient shard of unit `unit` counts as: a gradient if it is what is kept, a bucket if it is still
  /// cast, copied or added to that.
  [[nodiscard]] program::MemoryCategory category_of_reduced(std::size_t unit, DataType type) const;
  /// Casts, copies and adds a reduced gradient shard of unit `unit` to what earlier micro-batches left, on `stream`.
  void keep_gradient(std::size_t unit, program::Region reduced, StreamId stream);
  /// The update, after the last reduction on `reduced`; the norm of clipping is summed over
  /// `shared_by`.
  void update(StreamId reduced, std::optional<Lane> shared_by);

 private:
  [[nodiscard]] bool is_on_host() const { return space_ == program::MemorySpace::kHost; }
  [[nodiscard]] program::Region buffer(NameId name, std::int64_t elements, DataType type,
                                       program::MemoryCategory category, program::MemorySpace space);

  StepContext& context_;
  FlatLayout const& layout_;
  program::MemorySpace space_;
  BufferId parameters_;
  OptimizerStates optimizer_;
  StreamId cpu_;                            // of the update with offload
  std::vector<program::Region> gradients_;  // by unit; none before its first reduction
  NameId to_device_;
  NameId to_host_;
  NameId cast_;
  NameId gradient_cast_;
  NameId add_;
  NameId gradient_shard_;
};

/// The factors by which gradients are divided before and after they are summed over `ranks`, which keep 16-bit sums in
/// range: the first power of two whose square reaches `ranks` or that does not divide them, and the rest. Source:
/// torch/distributed/algorithms/_comm_hooks/default_hooks.py, DefaultState.
struct DivideFactors {
  double before = 1;
  double after = 1;
};
[[nodiscard]] DivideFactors divide_factors(std::int64_t ranks);

}  // namespace twinstep::strategies
