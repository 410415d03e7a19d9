#pragma once

#include <vector>

#include "strategies/parts/flat_layout.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {

/// Parameters in a flat buffer of the type that the plan holds them in, and as kernels see them: where that is another
/// type than the plan computes in, autocast casts each tensor once in a forward, by a kernel of its own, and keeps the
/// result for backward. Modules that are recomputed cast again, since recomputation is an autocast of its own. Simpler
/// than torch.amp: every tensor is cast, norms' and embeddings' too.
class AutocastParameters {
 public:
  /// `layout` must outlive it.
  AutocastParameters(StepContext& context, FlatLayout const& layout);

  [[nodiscard]] program::Region parameter(ParameterId id) const;
  [[nodiscard]] BufferId held() const { return held_; }

  void begin_micro_step() { is_cached_.assign(is_cached_.size(), false); }
  void before_module(ModuleId module, Pass pass);

 private:
  void cast(ParameterId id);

  StepContext& context_;
  FlatLayout const& layout_;
  BufferId held_;
  bool is_casting_;
  NameId name_;
  std::vector<BufferId> casts_;  // by parameter: in the type of compute; none where there is no cast
  std::vector<bool> is_cached_;  // by parameter: cast in this forward
};

}  // namespace twinstep::strategies
