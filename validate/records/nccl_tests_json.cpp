#include <cmath>

#include <fmt/format.h>

#include "validate/records/collective_words.hpp"
#include "validate/records/nccl_tests.hpp"

namespace twinstep::records {
namespace {

using io::Node;

/// A double as the program prints it; nothing for null and for "nan".
std::optional<double> measured(Node const& half, std::string_view key) {
  auto const value = half.find(key);
  if (!value || value->is(Node::Type::kString)) return std::nullopt;
  return value->number();
}

std::optional<BytesPerSecond> rate(Node const& half, std::string_view key) {
  auto const value = measured(half, key);
  return value ? std::optional{BytesPerSecond{*value * 1e9}} : std::nullopt;
}

/// "out_of_place" or "in_place" of a result; nothing where it was not run and where its time is no number.
std::optional<LoggedTiming> timing(Node const& result, std::string_view half) {
  auto const node = result.find(half);
  if (!node) return std::nullopt;
  auto const time = measured(*node, node->has("cpu_time") ? "cpu_time" : "time");
  constexpr double kLongest = 1e12;  // us
  if (!time || !(*time >= 0) || *time > kLongest) return std::nullopt;
  auto out = LoggedTiming{to_duration(Seconds{*time * 1e-6}), rate(*node, "alg_bw"), rate(*node, "bus_bw"), {}};
  constexpr double kMostWrong = 1e18;
  if (auto const wrong = measured(*node, "nwrong"); wrong && std::abs(*wrong) < kMostWrong)
    out.wrong = static_cast<std::int64_t>(*wrong);
  return out;
}

/// A count of processes, threads or GPUs.
std::int64_t count(Node const& node, std::int64_t least) {
  constexpr std::int64_t kMost = 1 << 20;
  auto const value = node.integer_from(least);
  if (value > kMost) node.fail(fmt::format("found {}, expected {} at most", value, kMost), "correct it");
  return value;
}

/// The ranks of all processes: each lists its first, and drives the GPUs from that one on.
std::vector<LoggedRank> ranks_of(Node const& config) {
  auto const threads = count(config.at("nthreads"), 1);
  auto const gpus = count(config.at("ngpus"), 1);
  constexpr std::int64_t kMostInProcess = 1024;
  if (threads * gpus > kMostInProcess)
    config.fail(fmt::format("found {} GPUs in a process, expected {} at most", threads * gpus, kMostInProcess),
                "correct \"nthreads\" and \"ngpus\"");
  auto ranks = std::vector<LoggedRank>{};
  for (auto const& device : config.at("devices").elements())
    for (std::int64_t i = 0; i < threads * gpus; ++i)
      ranks.push_back({count(device.at("rank"), 0) + i, device.at("pid").integer(),
                       std::string{device.at("hostname").string()}, count(device.at("device"), 0) + i,
                       std::string{device.at("device_info").string()}});
  return ranks;
}

void read_environment(Node const& document, CollectiveLog& log) {
  auto const environment = document.find("env");
  if (!environment) return;
  for (auto const& each : environment->elements()) {
    auto const text = each.string();
    auto const equals = text.find('=');
    if (equals == std::string_view::npos || !(text.starts_with("NCCL_") || text.starts_with("RCCL_"))) continue;
    log.environment.insert_or_assign(std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)});
  }
}

/// Adds a result to the last log; results of another element type or reduction (-d all, -o all) begin a new one.
void read_result(Node const& result, std::vector<CollectiveLog>& logs) {
  auto const type = std::string{result.at("type").string()};
  auto const reduction = std::string{result.at("redop").string()};
  if (auto& last = logs.back(); !last.rows.empty() && (type != last.type || reduction != last.reduction)) {
    auto next = last;
    next.rows.clear();
    next.warnings.clear();
    logs.push_back(std::move(next));
  }
  auto& log = logs.back();
  log.type = type;
  log.reduction = reduction;
  auto const row = LoggedRow{Bytes{result.at("size").integer_from(0)}, result.at("count").integer_from(0),
                             timing(result, "out_of_place"), timing(result, "in_place")};
  if (row.out_of_place)
    log.rows.push_back(row);
  else
    log.warnings.push_back(fmt::format("{}: {}: has no out-of-place time at {} bytes; it is left out",
                                       result.source().name, result.path(), row.size.count()));
}

/// All but the results.
CollectiveLog read_head(Node const& document) {
  auto log = CollectiveLog{};
  if (auto const program = document.at("args").elements(); !program.empty()) {
    auto const name = program.front().string();
    log.collective = collective_named_in(name.substr(name.rfind('/') + 1));
  }
  if (auto const version = document.find("nccl_version")) log.library_version = version_of_code(version->integer());
  read_environment(document, log);
  log.seen_ranks = ranks_of(document.at("config"));
  if (auto const average = document.find("average_bus_bandwidth"))
    log.average_bus_bandwidth = rate(*average, "bandwidth");
  else
    log.warnings.push_back(
        fmt::format("{}: found no average after the results: its program may have failed", document.source().name));
  return log;
}

}  // namespace

std::vector<CollectiveLog> read_nccl_tests_json(Node const& document) {
  if (!document.is(Node::Type::kObject) || !document.has("results") || !document.has("config"))
    document.fail("found JSON without \"config\" and \"results\", expected what nccl-tests writes with -J FILE",
                  "give that, or its text log");
  auto logs = std::vector{read_head(document)};
  auto const results = document.at("results");
  for (auto const& result : results.elements()) read_result(result, logs);
  if (logs.back().rows.empty())
    results.fail("found no result with a time, expected one for each size", "run it to its end");
  for (auto& log : logs) complete(document.source().name, log);
  return logs;
}

}  // namespace twinstep::records
