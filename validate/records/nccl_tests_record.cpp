#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "sim/io/document.hpp"
#include "validate/records/nccl_tests.hpp"

namespace twinstep::records {
namespace {

constexpr auto kNull = "null";

std::string text_or_null(std::string const& text) {
  return text.empty() ? kNull : io::json_string(text);
}

template <class Number>
std::string number_or_null(std::optional<Number> const& number) {
  return number ? fmt::format("{}", *number) : kNull;
}

/// GB/s with the decimals that logs have.
std::string rate_or_null(std::optional<BytesPerSecond> const& rate) {
  if (!rate) return kNull;
  return fmt::format("{}", std::round(rate->count() / 1e9 * 1e6) / 1e6);
}

std::string row_json(Bytes size, LoggedTiming const& timing) {
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  return fmt::format("[{}, {}, {}, {}]", size.count(),
                     static_cast<double>(timing.time.count()) / kPicosecondsPerMicrosecond,
                     rate_or_null(timing.algorithm_bandwidth), rate_or_null(timing.bus_bandwidth));
}

std::string rows_json(std::vector<LoggedRow> const& rows, std::optional<LoggedTiming> LoggedRow::*half) {
  auto lines = std::vector<std::string>{};
  for (auto const& row : rows)
    if (auto const& timing = row.*half) lines.push_back("      " + row_json(row.size, *timing));
  return lines.empty() ? "[]" : fmt::format("[\n{}\n    ]", fmt::join(lines, ",\n"));
}

std::string environment_json(std::map<std::string, std::string> const& environment) {
  auto members = std::vector<std::string>{};
  for (auto const& [name, value] : environment)
    members.push_back(fmt::format("{}: {}", io::json_string(name), io::json_string(value)));
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

/// Ranks on each host, if they are as many on each.
std::optional<std::int64_t> ranks_per_host(CollectiveLog const& log) {
  auto counts = std::map<std::string, std::int64_t>{};
  for (auto const& rank : log.seen_ranks) ++counts[rank.host];
  if (counts.empty()) return std::nullopt;
  auto const first = counts.begin()->second;
  for (auto const& [host, count] : counts)
    if (count != first) return std::nullopt;
  return first;
}

std::string record_json(std::string const& id, std::string const& file, CollectiveLog const& log) {
  auto const hosts = log.hosts();
  auto const nodes = hosts.empty() ? std::nullopt : std::optional{hosts.size()};
  auto const has_in_place =
      std::ranges::any_of(log.rows, [](LoggedRow const& row) { return row.in_place.has_value(); });
  auto members = std::vector<std::string>{};
  auto const add = [&](std::string_view key, std::string const& value) {
    members.push_back(fmt::format("    \"{}\": {}", key, value));
  };
  add("id", io::json_string(id));
  add("system", kNull);
  add("collective", log.collective ? io::json_string(name_of(*log.collective)) : kNull);
  add("nodes", number_or_null(nodes));
  add("gpus_per_node", number_or_null(ranks_per_host(log)));
  add("ranks", number_or_null(log.ranks));
  add("gpu", text_or_null(fmt::format("{}", fmt::join(log.device_names(), " + "))));
  add("interconnect", R"({"intra": null, "inter": null})");
  add("nccl_version", text_or_null(log.library_version));
  add("env", environment_json(log.environment));
  add("dtype", text_or_null(log.type));
  add("redop", text_or_null(log.reduction));
  add("launcher", log.launcher ? io::json_string(name_of(*log.launcher)) : kNull);
  add("tool", log.is_rccl ? "\"rccl-tests\"" : "\"nccl-tests\"");
  for (auto const* const unsaid : {"health", "trust", "coverage"}) add(unsaid, kNull);
  add("column", "\"out_of_place\"");
  add("rows_fields", R"(["size_bytes", "time_us", "algbw_GBps", "busbw_GBps"])");
  add("rows", rows_json(log.rows, &LoggedRow::out_of_place));
  if (has_in_place) add("rows_in_place", rows_json(log.rows, &LoggedRow::in_place));
  add("source", fmt::format(R"({{"file": {}}})", io::json_string(file)));
  add("notes", kNull);
  add("cluster", kNull);
  return fmt::format("  {{\n{}\n  }}", fmt::join(members, ",\n"));
}

}  // namespace

std::string records_json(std::string const& name, std::vector<CollectiveLog> const& logs) {
  auto const path = std::filesystem::path{name};
  auto records = std::vector<std::string>{};
  for (auto const& log : logs) {
    auto id = path.stem().string();
    if (logs.size() > 1) id += fmt::format("-{}", records.size() + 1);
    records.push_back(record_json(id, path.filename().string(), log));
  }
  return fmt::format("[\n{}\n]\n", fmt::join(records, ",\n"));
}

}  // namespace twinstep::records
