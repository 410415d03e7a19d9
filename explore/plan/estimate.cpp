#include "explore/plan/estimate.hpp"

#include <algorithm>

namespace twinstep::explore::plan {
namespace {

double slowdown(WorkTerms const& work, Pass pass) {
  return pass == Pass::kForward ? work.slowdown_forward : pass == Pass::kBackward ? work.slowdown_backward : 0.0;
}

double pass_seconds(Pass pass, Sheet const& strategy, WorkTerms const& work, double held_sms) {
  auto const both = [&](Part part) { return strategy.at(pass, part) + work.sheet.at(pass, part); };
  auto const communication = std::max(strategy.at(pass, Part::kInside), strategy.at(pass, Part::kBetween));
  auto const compute = both(Part::kCompute);
  auto const overlap = compute > 0 ? std::min(1.0, communication / compute) : 0.0;
  auto const slowed = compute + overlap * held_sms * slowdown(work, pass);
  auto const device = strategy.at(pass, Part::kExposed) + std::max({slowed, communication, both(Part::kCopies)});
  return std::max(device, both(Part::kHost));
}

/// While one of the sub-groups is updated, the one before is written to drives and the next is read.
double update_seconds(Sheet const& strategy, std::int64_t sub_groups) {
  auto const of = [&](Part part) { return strategy.at(Pass::kUpdate, part); };
  auto const updated = of(Part::kCompute) + of(Part::kExposed);
  auto const slowest = std::max({updated, of(Part::kRead), of(Part::kWritten)});
  auto const others = updated + of(Part::kRead) + of(Part::kWritten) - slowest;
  return std::max(slowest + others / static_cast<double>(sub_groups), of(Part::kHost));
}

}  // namespace

Estimate estimate(StrategyTerms const& strategy, WorkTerms const& work, std::int64_t micro_batches) {
  auto const micro_batch = [&](Sheet const& sheet) {
    return pass_seconds(Pass::kForward, sheet, work, strategy.held_sms) +
           pass_seconds(Pass::kBackward, sheet, work, strategy.held_sms);
  };
  auto const step = micro_batch(strategy.last) +
                    static_cast<double>(micro_batches - 1) * micro_batch(strategy.earlier) +
                    update_seconds(strategy.last, strategy.sub_groups);
  auto const& held = micro_batches > 1 ? strategy.repeated : strategy.once;
  auto const kept = static_cast<double>(work.kept.count());
  auto const at_turn = held.at_turn + (work.casts_again ? 0 : held.casts);
  auto const beside = std::max(held.at_most, work.offloads_activations ? kept : at_turn + kept);
  return {Seconds{step}, to_bytes(held.always + beside), to_bytes(held.on_host), to_bytes(held.on_nvme)};
}

}  // namespace twinstep::explore::plan
