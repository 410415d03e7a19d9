#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "validate/measure/executor.hpp"

/// Executors for tests of what is measured: one process that is all ranks.
namespace twinstep::tests {

/// Runs programs by a function that hands back a timeline, such as the virtual clock's. It holds no numbers.
class ClockedExecutor : public measure::Executor {
 public:
  using Run = std::function<timeline::Timeline(program::StepProgram const&)>;

  ClockedExecutor(std::int64_t ranks, Run run) : job_{.ranks = ranks, .ranks_per_node = ranks}, run_{std::move(run)} {}

  [[nodiscard]] measure::Job const& job() const override { return job_; }
  void require_supported(program::StepProgram const& /*program*/) const override {}
  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program) override {
    programs_.push_back(program);
    return run_(program);
  }
  [[nodiscard]] std::vector<RankId> local_ranks() const override { return {}; }
  [[nodiscard]] std::vector<double> read(RankId /*rank*/, std::string_view /*name*/, std::string_view /*scope*/,
                                         std::size_t /*first*/, std::size_t count) const override {
    return std::vector<double>(count);
  }
  [[nodiscard]] std::int64_t sum(std::int64_t contribution) override { return contribution; }

  /// What was run, in its order.
  [[nodiscard]] std::vector<program::StepProgram> const& programs() const { return programs_; }

 private:
  measure::Job job_;
  Run run_;
  std::vector<program::StepProgram> programs_;
};

}  // namespace twinstep::tests
