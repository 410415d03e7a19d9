#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/ask.hpp"
#include "explore/ask/scenario.hpp"
#include "reports/page/page.hpp"

namespace twinstep::explore {

/// A scenario file with its settings, and the step of each of its strategies once they ran: what the sections of its
/// page are made of.
struct Question {
  std::string path;
  std::vector<std::string> settings;  ///< of the command line
  std::vector<Scenario> scenarios;    ///< one for each strategy
  std::vector<Outcome> outcomes;      ///< one for each scenario; none before they ran

  [[nodiscard]] Run const* run(std::size_t place) const { return std::get_if<Run>(&outcomes[place]); }
  /// The scenario to look at closely: the fastest that fits, else the fastest. Nothing if none can be laid out.
  [[nodiscard]] std::optional<std::size_t> best() const;
  /// Where the charts of a scenario that is not the best are folded away: "the other strategies".
  [[nodiscard]] std::string fold(std::size_t place) const;
  /// The scenarios that ran, the best one first.
  [[nodiscard]] std::vector<std::size_t> best_first() const;
  /// The path of a scenario's strategy in --set: "strategy", or "strategy.2" in a list.
  [[nodiscard]] std::string strategy_path(std::size_t place) const;
};

/// Reads and checks the file; no step runs. Throws InputError.
[[nodiscard]] Question read_question(std::string const& path, std::vector<std::string> const& settings);

/// Runs the steps of a question that was read, on all cores. Throws InputError for what no clock can count.
void run_steps(Question& question);

/// The scenario at `place` with more settings, as the command line would read it. Throws InputError.
[[nodiscard]] Scenario changed(Question const& question, std::size_t place, std::vector<std::string> const& more);

/// The step of a scenario that varies the question, without the checks that its own steps have passed: they cost more
/// than the simulation. Throws BeyondRange for what no clock can count.
[[nodiscard]] Outcome run_variation(Scenario const& scenario, engine::RunOptions options = {});

/// What its rates count: "token", or "sample" where the model has no sequences.
[[nodiscard]] std::string unit_counted(Question const& question);
/// "tokens/s" or "samples/s".
[[nodiscard]] std::string rate_unit(Question const& question);

/// "nic, 20.0 % of the step": the link that is in use most.
[[nodiscard]] std::string busiest_link(reports::Summary const& summary);

}  // namespace twinstep::explore
