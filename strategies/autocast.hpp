#pragma once

#include <vector>

#include "strategies/flat_layout.hpp"
#include "strategies/states.hpp"

namespace twinstep::strategies {

/// Parameters in a flat buffer of the type that the plan holds them in, and as kernels see them: where that is another
/// type than the plan computes in, autocast casts each tensor once in a forward, by a kernel of its own, and keeps the
/// result for backward. A unit that is recomputed casts again, since its recomputation is an autocast of its own.
/// Simpler than torch.amp: every tensor is cast, norms' and embeddings' too.
class AutocastParameters {
 public:
  /// `layout` must outlive it.
  AutocastParameters(StepContext& context, FlatLayout const& layout);

  [[nodiscard]] program::Region parameter(ParameterId id) const;
  [[nodiscard]] BufferId held() const { return held_; }

  void before_forward(std::size_t unit) { cast(unit); }
  void after_forward(std::size_t unit);
  void before_backward(std::size_t unit);

 private:
  void cast(std::size_t unit);

  StepContext& context_;
  FlatLayout const& layout_;
  BufferId held_;
  bool is_casting_;
  NameId name_;
  std::vector<BufferId> casts_;  // by parameter: in the type of compute; none where there is no cast
};

}  // namespace twinstep::strategies
