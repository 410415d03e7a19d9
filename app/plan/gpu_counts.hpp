#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/plan/read_goal.hpp"
#include "sim/hardware/cluster.hpp"

/// Which numbers of GPUs a global batch can be trained on, and why others cannot.
namespace twinstep::app::plan {

/// A number of GPUs that the user named, with why it was not searched.
struct RefusedCount {
  std::int64_t gpus = 1;
  std::string reason;  ///< "a global batch of 512 sequences cannot be divided; nearest that can: 64, 128; or --set …"
};

struct AskedCounts {
  std::vector<std::int64_t> searched;  ///< in the order of asking, each once
  std::vector<RefusedCount> refused;
};

/// Whole nodes of one cluster, as many as its fabric joins, that divide the global batch evenly.
class GpuCounts {
 public:
  GpuCounts() = default;
  GpuCounts(hardware::Cluster const& cluster, std::int64_t global_batch);

  /// From the fewest on.
  [[nodiscard]] std::vector<std::int64_t> const& possible() const { return possible_; }
  /// What the ranges hold of them; numbers that were named one by one and are none of them with the reason.
  [[nodiscard]] AskedCounts asked(std::vector<GpuRange> const& ranges) const;
  /// Requires a number that is not possible.
  [[nodiscard]] std::string why_not(std::int64_t gpus) const;

 private:
  [[nodiscard]] std::string nearest(std::int64_t gpus) const;

  std::string cluster_;
  std::int64_t gpus_per_node_ = 1;
  std::int64_t most_ = 0;
  std::int64_t global_batch_ = 1;
  std::vector<std::int64_t> possible_;
};

}  // namespace twinstep::app::plan
