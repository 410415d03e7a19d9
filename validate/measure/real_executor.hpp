#pragma once

#include <span>
#include <string_view>

#include "sim/program/fresh_buffer.hpp"
#include "validate/measure/executor.hpp"

namespace twinstep::measure {

/// Fills fresh buffers of a program as `Executor::run` promises. Parameters are alike on all ranks, as replicas are.
void fill_with_known_values(program::FreshBuffer const& buffer, std::span<double> values);

/// What the executors on a real clock share: how their processes agree.
class RealExecutor : public Executor {
 public:
  [[nodiscard]] Job const& job() const override { return job_; }
  /// By a collective of its own, of one number a rank. It also shows that all ranks are there.
  [[nodiscard]] std::int64_t sum(std::int64_t contribution) override;

 protected:
  /// Overwrites a persistent buffer of a rank of this process; false if it holds none yet.
  virtual bool write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) = 0;

  Job job_;
};

}  // namespace twinstep::measure
