#include "validate/records/collective_record.hpp"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

namespace twinstep::validate {
namespace {

MeasuredKind kind_at(io::Node const& node) {
  auto const found = std::ranges::find(kMeasuredWords, node.string());
  if (found == kMeasuredWords.end())
    node.fail(fmt::format("found {}, expected a collective or sendrecv", quoted(node.string())),
              suggest_name(node.string(), {kMeasuredWords.begin(), kMeasuredWords.end()}));
  if (*found == kMeasuredWords.back()) return kSendReceive;
  return static_cast<CollectiveKind>(found - kMeasuredWords.begin());
}

using hardware::Launcher;
using io::Node;

std::string text_or(Node const& record, std::string_view key, std::string otherwise) {
  auto const found = record.find(key);
  return found && found->is(Node::Type::kString) ? std::string{found->string()} : std::move(otherwise);
}

Launcher launcher_of(Node const& record) {
  if (auto const launcher = record.find("launcher")) return launcher->word<Launcher>();
  if (text_or(record, "tool", "").find(".py") != std::string::npos) return Launcher::kPython;
  static auto const one_process = std::regex{R"(\b1 process x|_perf -g [2-9])"};
  if (std::regex_search(text_or(record, "notes", ""), one_process)) return Launcher::kOneProcess;
  auto const cluster = record.find("cluster");
  if (!cluster || cluster->at("nodes").integer() > 1) return Launcher::kProcessPerGpu;
  auto const intra = text_or(*cluster, "intra", "");
  auto const is_full_server =
      (intra == "nvswitch" || intra == "xgmi-mesh") && cluster->at("gpus_per_node").integer() > 4;
  return is_full_server || intra == "nvl72" ? Launcher::kProcessPerGpu : Launcher::kOneProcess;
}

/// What the record's version, tool and backend say of the library. Only what twinstep measured names a backend.
void read_library(Node const& record, CollectiveRecord& result) {
  auto const tool = text_or(record, "tool", "nccl-tests");
  auto const version = text_or(record, "nccl_version", text_or(record, "library_version", ""));
  auto const is_rccl = tool.starts_with("rccl") || version.starts_with("RCCL");
  auto const usual = is_rccl ? "rccl" : tool.find("MLSL") != std::string::npos ? "mlsl" : "nccl";
  result.library = text_or(record, "backend", usual);
  if (result.library == "nccl") result.version = nccl_version_in(version);
}

/// GB/s in one cell of a row; nothing where it is missing or null. Throws InputError for what no link has.
std::optional<BytesPerSecond> rate(std::vector<Node> const& cells, std::size_t column) {
  constexpr double kFastest = 1e9;
  if (column >= cells.size() || cells[column].is(Node::Type::kNull)) return std::nullopt;
  auto const gigabytes = cells[column].number();
  if (!(gigabytes >= 0 && gigabytes <= kFastest))
    cells[column].fail(fmt::format("found {} GB/s, expected 0 to {}", gigabytes, kFastest),
                       "give bandwidths in gigabytes a second");
  return BytesPerSecond{gigabytes * 1e9};
}

/// Throws InputError for more than any machine has.
std::int64_t ranks_of(Node const& count) {
  constexpr auto kMost = std::int64_t{100'000'000};
  auto const ranks = count.integer_from(1);
  if (ranks > kMost) count.fail(fmt::format("found {} ranks, expected at most {}", ranks, kMost), "correct it");
  return ranks;
}

/// A time in us. Throws InputError outside a picosecond to 104 days, which nothing takes and no fit survives.
Seconds time_of(Node const& cell) {
  constexpr double kShortest = 1e-6;
  constexpr double kLongest = 9e12;
  auto const microseconds = cell.number();
  if (!(microseconds > 0))
    cell.fail(fmt::format("found {} us, expected a time above zero", microseconds), "correct it, or leave the row out");
  if (microseconds < kShortest || microseconds > kLongest)
    cell.fail(fmt::format("found {} us, expected {} to {}", microseconds, kShortest, kLongest),
              "give times in microseconds");
  return Seconds{microseconds * 1e-6};
}

/// Times of "rows_in_place", by size.
std::map<std::int64_t, Seconds> in_place_times(Node const& record) {
  auto times = std::map<std::int64_t, Seconds>{};
  auto const rows = record.find("rows_in_place");
  if (!rows) return times;
  for (auto const& row : rows->elements()) {
    auto const cells = row.elements();
    if (cells.size() < 2 || cells[1].is(Node::Type::kNull)) continue;
    if (auto const size = cells[0].integer_from(0); size > 0) times.emplace(size, time_of(cells[1]));
  }
  return times;
}

std::vector<MeasuredPoint> read_points(Node const& record) {
  auto const in_place = in_place_times(record);
  auto outliers = std::vector<std::int64_t>{};
  if (auto const sizes = record.find("outlier_sizes"))
    for (auto const& size : sizes->elements()) outliers.push_back(size.integer());
  auto points = std::vector<MeasuredPoint>{};
  for (auto const& row : record.at("rows").elements()) {
    auto const cells = row.elements();
    if (cells.size() < 2) row.fail("found a row without a time, expected [size_bytes, time_us, …]", "complete it");
    if (cells[1].is(Node::Type::kNull)) continue;
    auto const size = cells[0].integer_from(0);
    if (size == 0) continue;  // nothing was moved
    auto const other = in_place.find(size);
    points.push_back({Bytes{size}, time_of(cells[1]), std::ranges::find(outliers, size) != outliers.end(),
                      rate(cells, 2), rate(cells, 3),
                      other == in_place.end() ? std::nullopt : std::optional{other->second}});
  }
  return points;
}

CollectiveRecord read_record(Node const& record) {
  auto result = CollectiveRecord{};
  result.id = record.at("id").string();
  result.system = text_or(record, "system", result.id);
  result.kind = kind_at(record.at("collective"));
  result.ranks = ranks_of(record.at("ranks"));
  result.health = text_or(record, "health", "healthy");
  result.launcher = launcher_of(record);
  result.device = text_or(record, "gpu", text_or(record, "device", ""));
  read_library(record, result);
  if (auto const environment = record.find("env"))
    for (auto const& [name, value] : environment->members())
      if (value.is(Node::Type::kString)) result.environment[std::string{name}] = std::string{value.string()};
  result.points = read_points(record);
  result.cluster = record.find("cluster");
  return result;
}

}  // namespace

std::vector<MeasuredPoint> believed(CollectiveRecord const& record) {
  auto points = std::vector<MeasuredPoint>{};
  for (auto const& point : record.points)
    if (!point.is_outlier) points.push_back(point);
  return points;
}

std::string nccl_version_in(std::string const& text) {
  static auto const number = std::regex{R"((?:NCCL )?(\d+\.\d+\.\d+)\b.*)"};
  auto match = std::smatch{};
  return std::regex_match(text, match, number) ? match[1].str() : std::string{};
}

std::vector<CollectiveRecord> read_collective_records(Node const& document) {
  auto records = std::vector<CollectiveRecord>{};
  for (auto const& each : document.elements()) records.push_back(read_record(each));
  if (records.empty()) document.fail("found no record, expected at least one", "see `twinstep import nccl-tests`");
  return records;
}

}  // namespace twinstep::validate
