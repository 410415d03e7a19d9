#include "reports/render/nccl_tests_table.hpp"

#include <fmt/format.h>

namespace twinstep::reports {
namespace {

constexpr double kGigabyte = 1e9;

/// Microseconds in seven columns: two decimals below 100, one below 10000, none above.
std::string time_column(Duration time) {
  auto const microseconds = to_seconds(time).count() / kMicrosecond;
  auto const decimals = microseconds >= 10'000 ? 0 : microseconds >= 100 ? 1 : 2;
  return fmt::format("{:7.{}f}", microseconds, decimals);
}

std::string rate_column(BytesPerSecond rate) {
  return fmt::format("{:6.2f}", rate.count() / kGigabyte);
}

std::string half_text(std::optional<CollectiveTiming> const& timing) {
  constexpr auto kHalfWidth = 2 + 7 + 2 + 6 + 2 + 6 + 2 + 5;
  if (!timing) return std::string(kHalfWidth, ' ');
  auto const wrong = timing->wrong ? fmt::format("{:5g}", static_cast<double>(*timing->wrong)) : std::string{"  N/A"};
  return fmt::format("  {}  {}  {}  {}", time_column(timing->time), rate_column(timing->algorithm_bandwidth),
                     rate_column(timing->bus_bandwidth), wrong);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string nccl_tests_header() {
  constexpr auto kColumns =
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}";
  auto const line = [&](auto... titles) {
    return without_trailing_spaces(fmt::format(fmt::runtime(kColumns), titles...)) + "\n";
  };
  return fmt::format("#{:>74}{:>31}\n", "out-of-place", "in-place") +
         line("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
              "#wrong") +
         line("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

std::string nccl_tests_line(CollectiveRow const& row) {
  auto line = fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}", row.size.count(), row.count, row.type, row.reduction,
                          row.root.value_or(-1), half_text(row.out_of_place), half_text(row.in_place));
  if (!row.remark.empty()) line += "  " + row.remark;
  return without_trailing_spaces(std::move(line)) + "\n";
}

std::string nccl_tests_table(std::vector<CollectiveRow> const& rows) {
  auto text = nccl_tests_header();
  for (auto const& row : rows) text += nccl_tests_line(row);
  return text;
}

std::string nccl_tests_average(std::vector<CollectiveRow> const& rows) {
  auto sum = 0.0;
  auto count = 0;
  for (auto const& row : rows)
    for (auto const& timing : {row.out_of_place, row.in_place}) {
      if (!timing) continue;
      sum += timing->bus_bandwidth.count() / kGigabyte;
      ++count;
    }
  return fmt::format("# Avg bus bandwidth    : {:g}\n", count == 0 ? 0.0 : sum / count);
}

}  // namespace twinstep::reports
