#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explore/plan/gpu_counts.hpp"
#include "explore/plan/plan_question.hpp"
#include "explore/plan/search.hpp"
#include "reports/plan.hpp"

namespace twinstep::explore::plan {

/// Why no job ends whose failures leave it next to nothing; of a plan with such a job.
[[nodiscard]] std::string lost_job_text(reports::PlannedStep const& plan);

/// The search on one cluster, on whatever number of its nodes.
class ClusterSearch {
 public:
  /// Throws InputError.
  ClusterSearch(PlanQuestion const& asked, explore::Question question, std::optional<HourlyPrice> const& price,
                std::function<void()> progress);

  [[nodiscard]] reports::Goal const& goal() const { return goal_; }
  [[nodiscard]] std::optional<reports::Price> const& price() const { return price_; }
  [[nodiscard]] std::int64_t batch_tokens() const;
  [[nodiscard]] Scenario const& base() const { return base_; }
  [[nodiscard]] std::vector<std::string> const& warnings() const { return base_.warnings; }
  /// The numbers of GPUs that are asked for.
  [[nodiscard]] AskedCounts const& asked() const { return asked_; }

  /// Plans that fit on `gpus`, the fastest `of_each` strategy, the fastest of all first.
  [[nodiscard]] std::vector<reports::PlannedStep> plans_on(std::int64_t gpus, std::size_t of_each);
  /// The plan of another search in this one, on as many GPUs; nothing where it does not fit with ease.
  [[nodiscard]] std::optional<reports::PlannedStep> same_plan(reports::PlannedStep const& other);
  /// What was left out there, what comes nearest to fitting first.
  [[nodiscard]] std::vector<reports::RejectedPlans> rejected_on(std::int64_t gpus);
  /// Why nothing fits there, by what comes nearest. Requires that no plan does.
  [[nodiscard]] std::string nearest_reason(std::int64_t gpus);
  /// Nothing where `gpus` can be searched, whether they are asked for or not.
  [[nodiscard]] std::optional<std::string> why_not_searched(std::int64_t gpus) const;
  [[nodiscard]] reports::MinimumGpus minimum();

  [[nodiscard]] std::size_t configurations() const { return configurations_; }
  [[nodiscard]] std::size_t simulations() const { return simulations_; }

 private:
  struct Searched {
    Setup question;
    Space space;
    Found found;
    std::size_t of_each = 0;  ///< plans that were looked for
  };

  [[nodiscard]] explore::Question on_nodes(std::int64_t nodes) const;
  void leave_out_what_cannot_be_read();
  Searched& search(std::int64_t gpus, std::size_t of_each);
  /// Bounded, and not simulated if nobody asked for it.
  Searched& bounded(std::int64_t gpus);
  /// The whole job of a candidate whose step takes `step_time`.
  [[nodiscard]] std::optional<reports::Job> job_of(Setup const& question, Candidate const& candidate,
                                                   Duration step_time) const;
  [[nodiscard]] reports::PlannedStep planned(Setup const& question, Simulated const& simulated) const;
  [[nodiscard]] std::optional<reports::PlannedStep> any_plan_on(std::int64_t gpus);
  [[nodiscard]] std::optional<reports::PlannedStep> plan_in_time(std::int64_t gpus);
  /// Before which no job ends there. Nothing where nothing can fit.
  [[nodiscard]] std::optional<Seconds> job_bound(std::int64_t gpus);
  [[nodiscard]] std::optional<reports::Soonest> soonest();

  std::vector<strategies::StrategyName> strategies_;
  explore::Question question_;  ///< with its cluster
  std::function<void()> progress_;
  Scenario base_;
  reports::Goal goal_;
  double headroom_ = 0;
  std::optional<reports::Price> price_;
  GpuCounts counts_;
  AskedCounts asked_;
  std::vector<std::int64_t> possible_;         ///< numbers of GPUs
  std::map<std::int64_t, Searched> searched_;  // by GPUs
  std::size_t configurations_ = 0;
  std::size_t simulations_ = 0;
};

/// One search for each cluster of the question, each with its price. Throws InputError before anything is searched.
[[nodiscard]] std::vector<ClusterSearch> searches_of(PlanQuestion const& asked, std::function<void()> const& progress);

}  // namespace twinstep::explore::plan
