#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/json_writer.hpp"
#include "validate/records/nccl_tests.hpp"
#include "validate/records/self_checks.hpp"

namespace twinstep::records {
namespace {

/// Different values, in order of appearance.
std::vector<std::string> different(std::vector<LoggedRank> const& ranks, std::string LoggedRank::*member) {
  auto values = std::vector<std::string>{};
  for (auto const& rank : ranks)
    if (std::ranges::find(values, rank.*member) == values.end()) values.push_back(rank.*member);
  return values;
}

constexpr double kPicosecondsPerMicrosecond = 1e6;

double microseconds(Duration time) {
  return static_cast<double>(time.count()) / kPicosecondsPerMicrosecond;
}

/// GB/s with the decimals that logs have.
double rounded_rate(BytesPerSecond rate) {
  return std::round(rate.count() / 1e9 * 1e6) / 1e6;
}

/// "NVIDIA H100 + NVIDIA H200"
std::string devices_of(CollectiveLog const& log) {
  return fmt::format("{}", fmt::join(log.device_names(), " + "));
}

/// What the record of a log is called: by its file, and by its place where that holds several.
std::string id_of(std::filesystem::path const& file, std::size_t place, std::size_t logs) {
  auto id = file.stem().string();
  return logs > 1 ? fmt::format("{}-{}", id, place + 1) : id;
}

// As records.

std::optional<BytesPerSecond> rate_of(std::optional<BytesPerSecond> const& logged) {
  return logged ? std::optional{BytesPerSecond{rounded_rate(*logged) * 1e9}} : std::nullopt;
}

Seconds time_of(std::string const& name, Bytes size, LoggedTiming const& timing) {
  if (timing.time <= Duration{})
    throw InputError{
        fmt::format("{}: found 0 us at {} bytes, expected a time above zero; correct it, or leave the row "
                    "out",
                    one_line(name), size.count())};
  return Seconds{microseconds(timing.time) * 1e-6};
}

/// Nothing for a row that moved nothing, or has no time out of place.
std::optional<validate::MeasuredPoint> point_of(std::string const& name, LoggedRow const& row) {
  if (!row.out_of_place) return std::nullopt;
  if (row.size == Bytes{}) return std::nullopt;
  auto point = validate::MeasuredPoint{.size = row.size,
                                       .time = time_of(name, row.size, *row.out_of_place),
                                       .algorithm_bandwidth = rate_of(row.out_of_place->algorithm_bandwidth),
                                       .bus_bandwidth = rate_of(row.out_of_place->bus_bandwidth)};
  if (row.in_place) point.in_place = time_of(name, row.size, *row.in_place);
  return point;
}

validate::CollectiveRecord record_of(std::string const& name, std::string id, CollectiveLog const& log) {
  if (!log.collective)
    throw InputError{fmt::format(
        "{}: found a table that does not say which collective it is of, expected a line with the program's name, such "
        "as all_reduce_perf; add it",
        name)};
  if (!log.ranks)
    throw InputError{fmt::format(
        "{}: found no number of ranks, expected \"#  Rank\" lines or the launcher's command; keep the log's "
        "beginning, or give --ranks",
        name)};
  auto record = validate::CollectiveRecord{.id = id,
                                           .system = std::move(id),
                                           .kind = *log.collective,
                                           .ranks = *log.ranks,
                                           .device = devices_of(log),
                                           .library = log.is_rccl ? "rccl" : "nccl",
                                           .environment = log.environment,
                                           .launcher = log.launcher.value_or(hardware::Launcher::kProcessPerGpu),
                                           .health = "healthy"};
  if (!log.is_rccl) record.version = validate::nccl_version_in(log.library_version);
  for (auto const& row : log.rows)
    if (auto const point = point_of(name, row)) record.points.push_back(*point);
  return record;
}

/// The one number of ranks that busbw over algbw leaves, if it is one.
std::optional<std::int64_t> ranks_by_columns(CollectiveLog const& log) {
  auto record = validate::CollectiveRecord{.kind = *log.collective};
  for (auto const& row : log.rows)
    if (row.out_of_place)
      record.points.push_back({.size = row.size,
                               .algorithm_bandwidth = rate_of(row.out_of_place->algorithm_bandwidth),
                               .bus_bandwidth = rate_of(row.out_of_place->bus_bandwidth)});
  auto const range = validate::ranks_by_bandwidths(record);
  return range && range->most == range->least && range->least > 1 ? range->most : std::nullopt;
}

// As JSON.

using io::JsonWriter;

std::optional<std::string> unless_empty(std::string const& text) {
  return text.empty() ? std::nullopt : std::optional{text};
}

void write_rate(JsonWriter& json, std::optional<BytesPerSecond> const& rate) {
  json.value(rate ? std::optional{rounded_rate(*rate)} : std::nullopt);
}

void write_rows(JsonWriter& json, std::vector<LoggedRow> const& rows, std::optional<LoggedTiming> LoggedRow::*half) {
  json.begin_array();
  for (auto const& row : rows) {
    auto const& timing = row.*half;
    if (!timing) continue;
    json.begin_array();
    json.value(row.size);
    json.value(microseconds(timing->time));
    write_rate(json, timing->algorithm_bandwidth);
    write_rate(json, timing->bus_bandwidth);
    json.end_array();
  }
  json.end_array();
}

/// Of texts, on one line.
void write_object(JsonWriter& json, std::string_view key,
                  std::vector<std::pair<std::string, std::optional<std::string>>> const& members) {
  json.key(key);
  json.begin_object(JsonWriter::Layout::kLine);
  for (auto const& [name, value] : members) json.member(name, value);
  json.end_object();
}

std::optional<std::int64_t> nodes_of(CollectiveLog const& log) {
  auto const hosts = std::ssize(log.hosts());
  if (hosts > 0) return hosts;
  return log.command ? log.command->nodes : std::nullopt;
}

/// Ranks on each host, if they are as many on each.
std::optional<std::int64_t> ranks_per_host(CollectiveLog const& log) {
  auto counts = std::map<std::string, std::int64_t>{};
  for (auto const& rank : log.seen_ranks) ++counts[rank.host];
  if (counts.empty()) {
    auto const nodes = nodes_of(log);
    return nodes && log.ranks && *log.ranks % *nodes == 0 ? std::optional{*log.ranks / *nodes} : std::nullopt;
  }
  auto const first = counts.begin()->second;
  for (auto const& [host, count] : counts)
    if (count != first) return std::nullopt;
  return first;
}

void write_record(JsonWriter& json, std::string const& id, std::string const& file, CollectiveLog const& log) {
  json.begin_object();
  json.member("id", id);
  json.member("system", nullptr);
  json.member("collective", log.collective ? std::optional{word_of(*log.collective)} : std::nullopt);
  json.member("nodes", nodes_of(log));
  json.member("gpus_per_node", ranks_per_host(log));
  json.member("ranks", log.ranks);
  json.member("gpu", unless_empty(devices_of(log)));
  write_object(json, "interconnect", {{"intra", {}}, {"inter", {}}});
  json.member("nccl_version", unless_empty(log.library_version));
  write_object(json, "env", {log.environment.begin(), log.environment.end()});
  json.member("dtype", unless_empty(log.type));
  json.member("redop", unless_empty(log.reduction));
  json.member("launcher", log.launcher ? std::optional{name_of(*log.launcher)} : std::nullopt);
  json.member("tool", log.is_rccl ? "rccl-tests" : "nccl-tests");
  for (auto const* const unsaid : {"health", "trust", "coverage"}) json.member(unsaid, nullptr);
  json.member("column", "out_of_place");
  json.key("rows_fields");
  json.begin_array(JsonWriter::Layout::kLine);
  for (auto const* const field : {"size_bytes", "time_us", "algbw_GBps", "busbw_GBps"}) json.value(field);
  json.end_array();
  json.key("rows");
  write_rows(json, log.rows, &LoggedRow::out_of_place);
  if (std::ranges::any_of(log.rows, [](LoggedRow const& row) { return row.in_place.has_value(); })) {
    json.key("rows_in_place");
    write_rows(json, log.rows, &LoggedRow::in_place);
  }
  write_object(json, "source", {{"file", file}});
  json.member("notes", nullptr);
  json.member("cluster", nullptr);
  json.end_object();
}

}  // namespace

std::vector<std::string> CollectiveLog::hosts() const {
  return different(seen_ranks, &LoggedRank::host);
}

std::vector<std::string> CollectiveLog::device_names() const {
  return different(seen_ranks, &LoggedRank::device_name);
}

void complete(std::string const& name, CollectiveLog& log, std::optional<std::int64_t> told_ranks) {
  auto processes = std::set<std::pair<std::string, std::int64_t>>{};
  for (auto const& rank : log.seen_ranks) processes.emplace(rank.host, rank.process);
  if (!log.seen_ranks.empty()) log.ranks = static_cast<std::int64_t>(log.seen_ranks.size());
  if (log.seen_ranks.size() > 1)
    log.launcher = processes.size() == log.seen_ranks.size() ? hardware::Launcher::kProcessPerGpu
                                                             : hardware::Launcher::kOneProcess;
  auto const say = [&](std::string const& sentence) {
    log.warnings.push_back(fmt::format("{}: {}", one_line(name), sentence));
  };
  if (!log.ranks && log.command) log.ranks = log.command->ranks();
  if (log.ranks && told_ranks && *log.ranks != *told_ranks)
    say(fmt::format("says itself that {} ranks took part: not the {} that were given for logs that do not say",
                    *log.ranks, *told_ranks));
  if (!log.ranks) log.ranks = told_ranks;
  if (!log.ranks && log.collective) {
    log.ranks = ranks_by_columns(log);
    if (log.ranks) say(fmt::format("does not say how many ranks took part: {}, by busbw over algbw", *log.ranks));
  }
  if (log.programs > 1)
    say(fmt::format(
        "{} programs of {} rank{} each ran side by side and measured nothing together: nccl-tests was built "
        "without MPI=1",
        log.programs, log.ranks.value_or(1), log.ranks.value_or(1) == 1 ? "" : "s"));
  if (!log.collective) say("does not say which collective it measured");
  if (!log.ranks) say("does not say how many ranks took part");
  for (auto const& row : log.rows)
    for (auto const& timing : {row.out_of_place, row.in_place})
      if (timing && timing->wrong.value_or(0) > 0)
        say(fmt::format("{} elements were wrong at {} bytes: its times cannot be trusted", *timing->wrong,
                        row.size.count()));
}

std::vector<validate::CollectiveRecord> records_of(std::string const& name, std::vector<CollectiveLog> const& logs) {
  auto const path = std::filesystem::path{name};
  auto records = std::vector<validate::CollectiveRecord>{};
  for (auto const& log : logs) records.push_back(record_of(name, id_of(path, records.size(), logs.size()), log));
  return records;
}

std::string records_json(std::string const& name, std::vector<CollectiveLog> const& logs) {
  constexpr auto kDepthOfRows = 3;
  auto const path = std::filesystem::path{name};
  auto json = JsonWriter{kDepthOfRows};
  json.begin_array();
  for (std::size_t i = 0; i < logs.size(); ++i)
    write_record(json, id_of(path, i, logs.size()), path.filename().string(), logs[i]);
  json.end_array();
  return std::move(json).finish();
}

}  // namespace twinstep::records
