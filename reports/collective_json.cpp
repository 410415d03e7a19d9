#include "reports/collective.hpp"
#include "reports/json_reader.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {
namespace {

using Row = CollectiveSweep::Row;

constexpr double kGigabyte = 1e9;

double microseconds(Seconds time) {
  return time.count() * 1e6;
}

void write_row(io::JsonWriter& json, Row const& row) {
  json.begin_object();
  json.member("size_bytes", row.size);
  json.member("time_us", microseconds(row.time));
  json.member("algbw_GBps", row.algorithm_bandwidth.count() / kGigabyte);
  json.member("busbw_GBps", row.bus_bandwidth.count() / kGigabyte);
  json.member("algorithm", row.algorithm);
  json.member("protocol", row.protocol);
  json.member("channels", row.channels);
  json.member("low_us", row.low ? std::optional{microseconds(*row.low)} : std::nullopt);
  json.member("high_us", row.high ? std::optional{microseconds(*row.high)} : std::nullopt);
  json.member("extrapolated", row.is_extrapolated);
  json.member("messages", row.messages);
  json.member("events", row.events);
  write_array(json, "links", row.links, [](io::JsonWriter& out, CollectiveSweep::Link const& link) {
    out.begin_object();
    out.member("kind", link.kind);
    out.member("bytes", link.bytes);
    out.member("utilisation", link.utilisation);
    out.end_object();
  });
  json.end_object();
}

std::optional<Seconds> microseconds_at(io::Node const& row, std::string_view key) {
  auto const found = number_at(row, key);
  return found ? std::optional{Seconds{*found * 1e-6}} : std::nullopt;
}

Row read_row(io::Node const& node) {
  auto row = Row{.size = Bytes{node.at("size_bytes").integer()},
                 .time = Seconds{node.at("time_us").number() * 1e-6},
                 .algorithm_bandwidth = BytesPerSecond{node.at("algbw_GBps").number() * kGigabyte},
                 .bus_bandwidth = BytesPerSecond{node.at("busbw_GBps").number() * kGigabyte},
                 .algorithm = std::string{node.at("algorithm").string()},
                 .protocol = std::string{node.at("protocol").string()},
                 .channels = node.at("channels").integer(),
                 .low = microseconds_at(node, "low_us"),
                 .high = microseconds_at(node, "high_us")};
  if (auto const links = node.find("links"))
    for (auto const& link : links->elements())
      row.links.push_back(
          {std::string{link.at("kind").string()}, Bytes{link.at("bytes").integer()}, link.at("utilisation").number()});
  return row;
}

}  // namespace

std::string collective_json(CollectiveSweep const& sweep) {
  auto json = io::JsonWriter{};
  json.begin_object();
  json.member("collective", sweep.collective);
  json.member("cluster", sweep.cluster);
  json.member("ranks", sweep.ranks);
  json.member("fidelity", sweep.fidelity);
  json.member("library", sweep.library);
  json.member("library_version", sweep.library_version);
  json.member("calibration", sweep.calibration);
  write_array(json, "rows", sweep.rows, write_row);
  if (!sweep.choices.empty()) json.member("explanation", sweep.choices.back().reason);
  json.end_object();
  return std::move(json).finish();
}

CollectiveSweep read_collective(io::Node const& document) {
  auto const text = [&](std::string_view key) { return std::string{document.at(key).string()}; };
  auto sweep = CollectiveSweep{.collective = text("collective"),
                               .cluster = text("cluster"),
                               .ranks = document.at("ranks").integer(),
                               .fidelity = text("fidelity"),
                               .library = text("library"),
                               .library_version = text("library_version"),
                               .calibration = text("calibration")};
  for (auto const& row : document.at("rows").elements()) sweep.rows.push_back(read_row(row));
  return sweep;
}

}  // namespace twinstep::reports
