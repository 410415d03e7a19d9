#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/plan/search.hpp"
#include "reports/plan.hpp"

namespace twinstep::explore::plan {

/// Configurations on one number of GPUs that were left out, by strategy.
class Rejected {
 public:
  Rejected(std::string cluster, std::int64_t gpus) : cluster_{std::move(cluster)}, gpus_{gpus} {}

  /// One that was simulated and does not fit with ease.
  void add(Simulated const& simulated);
  /// One that holds more than `capacity`, by its bound.
  void add(Candidate const& candidate, Capacity const& capacity);
  /// A strategy that the training does not go with.
  void add(std::string_view strategy, std::string const& reason);
  /// A plan of the strategy fits.
  void found(strategies::StrategyName strategy);

  /// What comes nearest to fitting first. Of strategies that fit nowhere the nearest is simulated, if it was not.
  [[nodiscard]] std::vector<reports::RejectedPlans> by_nearness(
      std::function<std::optional<Simulated>(Candidate const&)> const& simulate) &&;

 private:
  struct Group {
    reports::RejectedPlans plans;
    std::optional<Candidate> not_simulated;  // the nearest, if so
  };
  Group& group(std::string_view strategy);
  [[nodiscard]] static bool count(Group& group, double fullness);

  std::string cluster_;
  std::int64_t gpus_;
  std::vector<Group> groups_;
};

}  // namespace twinstep::explore::plan
