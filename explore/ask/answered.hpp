#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/ask.hpp"
#include "explore/ask/question.hpp"

namespace twinstep::explore {

/// A question with its scenarios, and the step of each once they ran: what the sections of its page are made of.
struct Answered {
  Question question;
  std::vector<Scenario> scenarios;  ///< one for each strategy
  std::vector<Outcome> outcomes;    ///< one for each scenario; none before they ran

  /// The step of a scenario; nullptr where it cannot be laid out.
  [[nodiscard]] Run const* run(std::size_t place) const { return std::get_if<Run>(&outcomes[place]); }
  /// The scenario to look at closely: the fastest that fits, else the fastest. Nothing if none can be laid out.
  [[nodiscard]] std::optional<std::size_t> best() const;
  /// Where the charts of a scenario that is not the best are folded away: "the other strategies".
  [[nodiscard]] std::string fold(std::size_t place) const;
  /// The scenarios that ran, the best one first.
  [[nodiscard]] std::vector<std::size_t> best_first() const;
  /// The path of a scenario's strategy in --set: "strategy", or "strategy.2" in a list.
  [[nodiscard]] std::string strategy_path(std::size_t place) const;
  /// The scenario at `place` with more changes. Throws InputError.
  [[nodiscard]] Scenario changed(std::size_t place, std::vector<io::Change> const& more) const;
};

/// Reads and checks the scenarios; no step runs. Throws InputError.
[[nodiscard]] Answered without_answers(Question question);

/// Runs the steps with all their micro-batches, on all cores. Throws InputError for what no clock can count.
void run_steps(Answered& question);

/// The step of one of its scenarios. What leads beyond the clock or the count of bytes is known only here: throws
/// InputError that names the question.
[[nodiscard]] Outcome run_placed(Answered const& question, std::size_t place, engine::RunOptions options = {},
                                 MicroBatches micro_batches = MicroBatches::kFew);

/// What its rates count: "token", or "sample" where the model has no sequences.
[[nodiscard]] std::string unit_counted(Answered const& question);
/// "tokens/s" or "samples/s".
[[nodiscard]] std::string rate_unit(Answered const& question);

/// "nic, 20.0 % of the step": the link that is in use most.
[[nodiscard]] std::string busiest_link(reports::Summary const& summary);

}  // namespace twinstep::explore
