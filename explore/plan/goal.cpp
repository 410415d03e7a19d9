#include "explore/plan/goal.hpp"

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::explore::plan {
namespace {

/// GPUs that share what is said of one.
double sharers(bool is_of_node, hardware::Node const& node) {
  return is_of_node ? static_cast<double>(node.gpus) : 1.0;
}

/// How often one GPU fails: what the user says, or else its profile.
reports::Reliability how_often(Goal const& goal, hardware::Node const& node) {
  if (auto const& said = goal.between_failures)
    return {.between_failures_of_gpu = said->value * sharers(said->is_of_node, node), .source = "--mtbf"};
  auto const& failures = node.gpu.failures_per_thousand_days;
  if (!failures)
    throw InputError{
        fmt::format("--checkpoint and --restart: found no time between failures in the profile of {}, "
                    "expected one; give --mtbf (\"50000 h/GPU\")",
                    node.gpu.name)};
  constexpr auto kThousandDays = Seconds{1000 * 86'400.0};
  return {.between_failures_of_gpu = kThousandDays * (1 / failures->value), .source = failures->source};
}

reports::Reliability reliability_on(Goal const& goal, hardware::Node const& node) {
  auto out = how_often(goal, node);
  if (goal.restart) out.restart = *goal.restart;
  if (goal.checkpoint) {
    if (auto const* time = std::get_if<Seconds>(&*goal.checkpoint))
      out.checkpoint = *time;
    else
      out.storage = std::get<BytesPerSecond>(*goal.checkpoint);
  }
  return out;
}

}  // namespace

reports::Goal goal_on(Goal const& goal, hardware::Node const& node) {
  auto out = reports::Goal{
      .tokens = goal.tokens, .deadline = goal.deadline, .budget = goal.budget, .most_energy_kwh = goal.most_energy_kwh};
  if (goal.watts) out.watts_per_gpu = goal.watts->value / sharers(goal.watts->is_of_node, node);
  out.pue = goal.pue;
  if (goal.between_failures || goal.checkpoint || goal.restart) out.reliability = reliability_on(goal, node);
  out.critical_batch = goal.critical_batch;
  return out;
}

reports::Price price_on(HourlyPrice const& price, hardware::Node const& node) {
  auto money = price.price.value;
  money.amount /= sharers(price.price.is_of_node, node);
  return {std::move(money), price.date};
}

}  // namespace twinstep::explore::plan
