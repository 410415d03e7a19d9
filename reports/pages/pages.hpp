#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explore/scale/closer_look.hpp"
#include "explore/sweep/results.hpp"
#include "reports/accuracy.hpp"
#include "reports/page/page.hpp"
#include "reports/plan.hpp"
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

/// What was found of a question: every section of sections.hpp.
[[nodiscard]] reports::Page scenario_page(explore::CloserLook const& look);

/// A timeline that `simulate --trace` or `measure step --trace` wrote.
[[nodiscard]] reports::Page timeline_page(io::Node const& document);

/// What `collective --json` printed.
[[nodiscard]] reports::Page collective_page(io::Node const& document);

/// What `validate collectives` or `validate steps` found.
[[nodiscard]] reports::Page validation_page(reports::Accuracy const& accuracy);

/// What `plan` found.
[[nodiscard]] reports::Page plan_page(reports::Plans const& plans);

/// The results of a sweep.
[[nodiscard]] reports::Page sweep_page(explore::sweep::Results const& results);

}  // namespace twinstep::pages
