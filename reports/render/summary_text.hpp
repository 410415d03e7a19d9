#pragma once

#include <string>

#include "reports/summary.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// One step on one screen: how fast, whether it fits, where the time and the memory go, how busy the links are, and
/// what the numbers rest on.
[[nodiscard]] std::string summary_text(Summary const& summary, TextStyle const& style = {});

/// The answer for a plan that cannot be laid out.
[[nodiscard]] std::string summary_text(Infeasible const& infeasible, TextStyle const& style = {});

/// "reason; way out", or the reason alone.
[[nodiscard]] std::string why_it_is_infeasible(Infeasible const& infeasible);

}  // namespace twinstep::reports
