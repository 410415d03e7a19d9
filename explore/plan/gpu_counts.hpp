#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/plan/plan_question.hpp"
#include "sim/hardware/cluster.hpp"

/// Which numbers of GPUs a global batch can be trained on, and why others cannot.
namespace twinstep::explore::plan {

/// A number of GPUs that the user named, with why it was not searched.
struct RefusedCount {
  std::int64_t gpus = 1;
  std::string reason;  ///< "a global batch of 512 sequences cannot be divided; nearest that can: 64, 128; or --set …"
};

/// A number of GPUs that another global batch would take.
struct OtherBatch {
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1;  ///< the multiple that is nearest to the scenario's
};

struct AskedCounts {
  std::vector<std::int64_t> searched;  ///< in the order of asking, each once
  std::vector<RefusedCount> refused;
  std::vector<OtherBatch>
      others;  ///< of ranges: between two that are searched, whose batch is the nearest; and the last
};

/// Whole nodes of one cluster, as many as its fabric joins, that divide the global batch evenly.
class GpuCounts {
 public:
  GpuCounts() = default;
  GpuCounts(hardware::Cluster const& cluster, std::int64_t global_batch);

  /// From the fewest on.
  [[nodiscard]] std::vector<std::int64_t> const& possible() const { return possible_; }
  /// What the ranges hold of them; ranges that hold none, as those of one number, with the reason.
  [[nodiscard]] AskedCounts asked(std::vector<GpuRange> const& ranges) const;
  /// Requires a number that is not possible.
  [[nodiscard]] std::string why_not(std::int64_t gpus) const;

 private:
  /// Of whole nodes from `least` to `most` that are not possible: whose batch is the nearest, the most GPUs of those.
  [[nodiscard]] std::optional<OtherBatch> nearest_batch(std::int64_t least, std::int64_t most) const;
  void add_others(GpuRange const& range, AskedCounts& counts) const;
  [[nodiscard]] std::string nearest(std::int64_t gpus) const;

  std::string cluster_;
  std::int64_t gpus_per_node_ = 1;
  std::int64_t most_ = 0;
  std::int64_t global_batch_ = 1;
  std::vector<std::int64_t> possible_;
};

}  // namespace twinstep::explore::plan
