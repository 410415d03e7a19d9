#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/records/ddp_times.hpp"
#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

std::string_view bare_cell(std::string_view text) {
  auto const is_edge = [](char c) { return c == ' ' || c == '\t' || c == '"' || c == '\r'; };
  while (!text.empty() && is_edge(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_edge(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  auto cells = std::vector<std::string_view>{};
  for (;;) {
    auto const comma = line.find(',');
    cells.push_back(bare_cell(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// Where the columns stand, and how many seconds the unit of the times has.
struct Columns {
  std::size_t step = 0;
  std::size_t time = 0;
  std::optional<std::size_t> rank;
  double unit = 1;
};

std::optional<double> unit_of(std::string_view title) {
  auto letters = plain_letters(title);
  for (auto const* const prefix : {"step", "iteration", "iter"})
    if (letters.starts_with(prefix)) letters.erase(0, std::string_view{prefix}.size());
  if (letters == "times" || letters == "seconds" || letters == "timesec" || letters == "timeseconds") return 1;
  if (letters == "timems" || letters == "milliseconds" || letters == "timemilliseconds") return 1e-3;
  if (letters == "timeus" || letters == "microseconds" || letters == "timemicroseconds") return 1e-6;
  return std::nullopt;
}

Columns columns_of(std::string const& place, std::string_view header) {
  auto columns = Columns{};
  auto step = std::optional<std::size_t>{};
  auto time = std::optional<std::size_t>{};
  auto const titles = cells_of(header);
  for (std::size_t i = 0; i < titles.size(); ++i) {
    auto const letters = plain_letters(titles[i]);
    if (letters == "rank") columns.rank = i;
    if (letters == "step" || letters == "iteration" || letters == "iter") step = i;
    if (auto const unit = unit_of(titles[i]); unit && !time) {
      time = i;
      columns.unit = *unit;
    }
  }
  if (!step || !time)
    throw InputError{
        fmt::format("{}: found the columns {}, expected \"step\" and a time with its unit, \"time_s\", "
                    "\"time_ms\" or \"time_us\", and perhaps \"rank\"; name them in the first line",
                    place, quoted(header))};
  columns.step = *step;
  columns.time = *time;
  return columns;
}

/// The times of all ranks, by step.
using TimesByStep = std::map<std::int64_t, std::map<std::int64_t, Seconds>>;

class CsvReader {
 public:
  void read(io::Source const& file, std::int64_t rank_of_file) {
    auto columns = std::optional<Columns>{};
    line_ = 0;
    file_ = one_line(file.name);
    for (auto const line : lines_of(file.text)) {
      ++line_;
      if (bare_cell(line).empty() || bare_cell(line).starts_with('#')) continue;
      if (!columns)
        columns = columns_of(place(), line);
      else
        read_row(*columns, cells_of(line), rank_of_file);
    }
    if (!columns)
      throw InputError{fmt::format("{}: found no line, expected \"step,time_s\" and rows; give a CSV file", file_)};
  }

  StepTimes finish(std::string id) &&;

 private:
  [[nodiscard]] std::string place() const { return fmt::format("{}:{}", file_, line_); }

  template <class Number>
  Number number(std::vector<std::string_view> const& cells, std::size_t column, std::string_view what) const {
    auto const text = column < cells.size() ? cells[column] : std::string_view{};
    auto const value = whole_number<Number>(text);
    if (!value)
      throw InputError{
          fmt::format("{}: found {}, expected {}; correct the row, or leave it out", place(), quoted(text), what)};
    return *value;
  }

  void read_row(Columns const& columns, std::vector<std::string_view> const& cells, std::int64_t rank_of_file) {
    auto const step = number<std::int64_t>(cells, columns.step, "the number of a step");
    auto const rank = columns.rank ? number<std::int64_t>(cells, *columns.rank, "a rank") : rank_of_file;
    auto const time = number<double>(cells, columns.time, "a time");
    constexpr double kLongest = 9e6;  // s; 104 days
    if (!(time > 0) || !(time * columns.unit < kLongest))
      throw InputError{
          fmt::format("{}: found the time {}, expected one above zero and below 104 days; correct the row, "
                      "or leave it out",
                      place(), time)};
    ranks_.insert(rank);
    if (!times_[step].try_emplace(rank, time * columns.unit).second)
      throw InputError{
          fmt::format("{}: found step {} of rank {} a second time, expected it once; give each rank a file "
                      "of its own, or a column \"rank\"",
                      place(), step, rank)};
  }

  std::string file_;
  int line_ = 0;
  TimesByStep times_;
  std::set<std::int64_t> ranks_;
};

StepTimes CsvReader::finish(std::string id) && {
  auto run = StepTimes{.id = std::move(id), .model = {}, .ranks = static_cast<std::int64_t>(ranks_.size())};
  for (auto const& [step, times] : times_) {
    if (times.size() != ranks_.size())
      throw InputError{fmt::format("{}: found step {} of {} ranks, expected it of all {}; give the same steps of each",
                                   file_, step, times.size(), ranks_.size())};
    auto slowest = Seconds{};
    for (auto const& [rank, time] : times) slowest = std::max(slowest, time);
    run.steps.push_back(slowest);
  }
  if (run.steps.empty())
    throw InputError{fmt::format("{}: found no row below the header, expected one for each step; let it run", file_)};
  return run;
}

/// Steps at the beginning that are longer than `kSlow` times the median of all.
void leave_out_warm_up(StepTimes& run) {
  constexpr double kSlow = 1.2;
  constexpr double kMedian = 0.5;
  auto const limit = percentile(run.steps, kMedian) * kSlow;
  auto const first = std::ranges::find_if(run.steps, [&](Seconds time) { return time <= limit; });
  run.warm_up = first - run.steps.begin();
  run.steps.erase(run.steps.begin(), first);
}

}  // namespace

StepTimes read_step_csv(std::vector<io::Source> const& files) {
  auto reader = CsvReader{};
  for (std::size_t i = 0; i < files.size(); ++i) reader.read(files[i], static_cast<std::int64_t>(i));
  auto run = std::move(reader).finish(std::filesystem::path{files.front().name}.stem().string());
  leave_out_warm_up(run);
  return run;
}

}  // namespace twinstep::records
