#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ask.hpp"
#include "app/scenario.hpp"
#include "reports/page/page.hpp"

namespace twinstep::app {

/// A scenario file with its settings, and the step of each of its strategies: what the sections of its page are made
/// of.
struct Question {
  std::string path;
  std::vector<std::string> settings;  ///< of the command line
  std::vector<Scenario> scenarios;    ///< one for each strategy
  std::vector<Outcome> outcomes;      ///< one for each scenario

  [[nodiscard]] Run const* run(std::size_t place) const { return std::get_if<Run>(&outcomes[place]); }
  /// The scenario to look at closely: the fastest that fits, else the fastest. Nothing if none can be laid out.
  [[nodiscard]] std::optional<std::size_t> best() const;
  /// The path of a scenario's strategy in --set: "strategy", or "strategy.2" in a list.
  [[nodiscard]] std::string strategy_path(std::size_t place) const;
};

/// Reads the file and runs its steps, on all cores. Throws InputError.
[[nodiscard]] Question read_question(std::string const& path, std::vector<std::string> const& settings);

/// The scenario at `place` with more settings, as the command line would read it. Throws InputError.
[[nodiscard]] Scenario changed(Question const& question, std::size_t place, std::vector<std::string> const& more);

/// What a step comes to; nothing if the plan cannot be laid out. Throws BeyondRange for what no clock can count.
[[nodiscard]] std::optional<reports::Summary> summary_of(Scenario const& scenario);

/// "nic, 20.0 % of the step": the link that is in use most.
[[nodiscard]] std::string busiest_link(reports::Summary const& summary);

}  // namespace twinstep::app
