#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explore/ask/ask.hpp"
#include "explore/ask/parts.hpp"
#include "explore/sweep/row.hpp"
#include "explore/sweep/spec.hpp"
#include "sim/engine/virtual_executor.hpp"

namespace twinstep::explore::sweep {

/// Answers points of a sweep. Threads share it; a point's row depends on nothing but the sweep and the options.
///
/// A cluster, its machine and a model are made once for all points that agree on them.
class Evaluator {
 public:
  Evaluator(Sweep const& sweep, engine::RunOptions options);

  /// The row of a point, or nothing if a constraint leaves it out. A point that is wrong or cannot be laid out is a row
  /// with its reason. Cost: that of a simulation.
  [[nodiscard]] std::optional<Row> operator()(std::int64_t point) const;

  /// Reads points of every value of every axis, so that a mistake of the sweep shows before anything is simulated.
  /// Throws InputError where a path does not exist, whatever its value, and where a constraint never has an answer.
  /// Returns what the first point's scenario warns of.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] Scenario scenario(io::Node const& document) const;
  [[nodiscard]] Checks checks(std::int64_t point) const;

  Sweep const* sweep_;
  engine::RunOptions options_;
  std::shared_ptr<Parts> parts_;
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> checked_;  // strategies
};

}  // namespace twinstep::explore::sweep
