#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/sweep/results.hpp"
#include "explore/sweep/row.hpp"
#include "sim/base/units.hpp"

namespace twinstep::explore::sweep {

/// What a results file comes to.
struct Outcome {
  std::string path;
  std::vector<std::string> settings;  ///< the paths
  std::int64_t points = 0;            ///< of the whole sweep
  std::int64_t rows = 0;
  bool is_finished = false;
  std::array<std::int64_t, kEnumSize<Status>> counts{};       ///< by status
  std::array<std::optional<Row>, kEnumSize<Status>> first{};  ///< of each status
  std::optional<Row> fastest;                                 ///< the shortest step that fits
  std::optional<Row> most_efficient;                          ///< the most tokens a second and GPU that fit

  [[nodiscard]] std::int64_t left_out() const { return is_finished ? points - rows : 0; }
};

/// What it cost to come to it; all zero where nothing was asked.
struct Effort {
  std::int64_t asked = 0;
  Seconds wall{};
  int jobs = 1;
  int processes = 1;
};

/// Reads all rows of a results file. Throws InputError where one is damaged.
[[nodiscard]] Outcome summarize(ResultsFile& results);

/// In lines of 80 columns, but for names that are longer: how many points there are of each status, the two best beside
/// each other, and the reason of the first point that is wrong (of every status where no point fits).
[[nodiscard]] std::string outcome_text(Outcome const& outcome, Effort const& effort);
/// {"results", "points", "rows", "left_out", "finished", "ok", "does_not_fit", "infeasible", "wrong_input", "fastest":
/// {"point", "settings", "step_time_s", "tokens_per_s_per_gpu"}, "most_efficient", "asked", "wall_s", "jobs",
/// "processes"}
[[nodiscard]] std::string outcome_json(Outcome const& outcome, Effort const& effort);

/// How far a sweep is.
struct Advance {
  std::int64_t done = 0;
  std::int64_t total = 0;
  double elapsed_s = 0;  ///< since the first of `done`
  std::string_view unit = "points";
};

/// How fast: "1,234 a second", "12.5 a second"; "2.500 s each" of what takes longer than a second.
[[nodiscard]] std::string pace_text(std::int64_t count, double seconds);

/// "[#####.....]  50 %, 500 of 1,000 points, 250 a second, 2 s left"; without the bar for a `bar_width` of 0,
/// and without a guess of what is left before 2 % are done.
[[nodiscard]] std::string progress_text(Advance const& advance, int bar_width);

}  // namespace twinstep::explore::sweep
