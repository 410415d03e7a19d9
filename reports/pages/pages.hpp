#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explore/scale/closer_look.hpp"
#include "explore/sweep/results.hpp"
#include "reports/accuracy.hpp"
#include "reports/calibration.hpp"
#include "reports/collective.hpp"
#include "reports/compare.hpp"
#include "reports/page/page.hpp"
#include "reports/plan.hpp"
#include "reports/summary.hpp"
#include "reports/why.hpp"
#include "sim/io/change.hpp"
#include "sim/io/document.hpp"

/// Results as pages: one function for each kind of file that `report` takes.
namespace twinstep::pages {

/// One page of all that the files hold, in their order; each is recognised by what is in it. Changes are of scenarios
/// only. All files are checked before the first scenario is simulated. Throws InputError for a file that is none of the
/// kinds below, and for changes where it is no scenario. Results of a sweep are read from the file of their name.
[[nodiscard]] reports::Page report_page(std::vector<io::Source> results, std::vector<io::Change> const& changes,
                                        explore::Listener const& listener);
/// The same for one question that was read; what was answered of it is not asked again.
[[nodiscard]] reports::Page report_page(explore::Answered question, explore::Listener const& listener);

using Renderer = std::string (*)(reports::Page const&);

/// What writes a page as the ending of the file's name says: .html or .htm, .md, .csv, .json, .txt; HTML without one.
/// Throws InputError for another. `option` is what named the file: "--out".
[[nodiscard]] Renderer renderer_of(std::string_view option, std::string const& path);

/// What `simulate` answers: one scenario on one screen (how fast, whether it fits, where the time and the memory go,
/// how busy the links are, what the numbers rest on), or several side by side. Requires one at least.
[[nodiscard]] reports::Page summary_page(std::string title, std::vector<reports::NamedSummary> const& answers);

/// Adds why one of these steps takes so long, and what would help.
void add_why(reports::Page& page, reports::Summary const& summary, reports::Why const& why);

/// Adds what the scenario called `title` leaves open, with what says the contrary and what that comes to. Nothing where
/// nothing matters.
void add_assumptions(reports::Page& page, std::string_view title, std::vector<reports::Assumption> const& assumptions);

/// One title for all strategies of a question.
[[nodiscard]] std::string title_of(explore::Answered const& question);

/// What was found of a question: every section of sections.hpp.
[[nodiscard]] reports::Page scenario_page(explore::CloserLook const& look);

/// A timeline that `simulate --trace` or `measure step --trace` wrote.
[[nodiscard]] reports::Page timeline_page(io::Node const& document);

/// What is predicted of a collective: bus bandwidth by size, the busiest links, and what was chosen from and why.
[[nodiscard]] reports::Page collective_page(reports::CollectiveSweep const& sweep);

/// What `validate collectives` or `validate steps` found.
[[nodiscard]] reports::Page validation_page(reports::Accuracy const& accuracy);

/// What `calibrate` found: numbers, what could not be fitted and why, and errors before and after.
[[nodiscard]] reports::Page calibration_page(reports::CalibrationReport const& report);

/// Two timelines: the step, time by kind of work, memory at the peak, the operations that differ most, and those that
/// only one side has.
[[nodiscard]] reports::Page compare_page(reports::Comparison const& comparison);

/// What `plan` found.
[[nodiscard]] reports::Page plan_page(reports::Plans const& plans);

/// The results of a sweep.
[[nodiscard]] reports::Page sweep_page(explore::sweep::Results const& results);

/// Whether a text begins like what `sweep` exports as JSON Lines.
[[nodiscard]] bool is_sweep_lines(std::string_view text);

/// The results in such a text. What it cannot know stays empty: the sweep, and the version that made it. Throws
/// InputError with the number of the line that is wrong.
[[nodiscard]] explore::sweep::Results read_sweep_lines(io::Source const& source);

/// One page of several, in their order.
///
/// Sections that have the same title are one section, in which charts of the same kind are one chart: a line, or a bar,
/// for each result, named "[2] zero-3" after the place of its page. Units are made the same. Areas and timelines stand
/// one after another. Tables with the same columns are one table. Other sections keep the name of their page.
[[nodiscard]] reports::Page joined(std::vector<reports::Page> pages);

}  // namespace twinstep::pages
