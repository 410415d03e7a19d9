#include "explore/sweep/figures.hpp"

#include <optional>
#include <string>

#include "sim/base/check.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {
namespace {

Cell cell(std::string const& text) {
  return text;
}
Cell cell(double number) {
  return number;
}
Cell cell(std::int64_t number) {
  return number;
}
Cell cell(Bytes bytes) {
  return bytes.count();
}
Cell cell(Duration time) {
  return to_seconds(time).count();
}
template <class T>
Cell cell(std::optional<T> const& maybe) {
  return maybe ? cell(*maybe) : Cell{};
}

std::string memory_json(reports::BytesByCategory const& held) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_object();
  for (std::size_t i = 0; i < held.size(); ++i)
    if (auto const category = static_cast<program::MemoryCategory>(i);
        category != program::MemoryCategory::kFragmentation)
      json.member(name_of(category), held[i]);
  json.end_object();
  return std::move(json).text();
}

std::string breakdown_json(std::vector<reports::BreakdownEntry> const& breakdown) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_array();
  for (auto const& entry : breakdown) {
    json.begin_object();
    json.member("name", breakdown_name(entry));
    json.member("seconds", entry.time);
    json.end_object();
  }
  json.end_array();
  return std::move(json).text();
}

}  // namespace

std::vector<Cell> figures_of(reports::Summary const& summary) {
  auto const capacity = summary.capacity > Bytes{} ? std::optional{summary.capacity} : std::nullopt;
  auto const reserved = summary.allocator ? std::optional{summary.reserved_peak.total()} : std::nullopt;
  auto figures = std::vector<Cell>{
      cell(summary.scenario),
      cell(summary.world_size),
      cell(summary.tokens),
      cell(std::string{summary.counted}),
      cell(summary.step_time),
      summary.interval ? cell(summary.interval->low) : Cell{},
      summary.interval ? cell(summary.interval->high) : Cell{},
      cell(summary.token_rate.count()),
      cell(summary.token_rate_per_gpu.count()),
      cell(summary.model_rate_per_gpu.count() / 1e12),
      cell(summary.mfu),
      cell(summary.hfu),
      cell(std::int64_t{summary.fits}),
      cell(summary.peak.total()),
      cell(reserved),
      cell(capacity),
      cell(summary.host_peak),
      cell(summary.nvme_peak),
      cell(summary.exposed_communication),
      cell(summary.communication),
      cell(summary.wire.intra),
      cell(summary.wire.inter),
      cell(summary.events),
      cell(summary.calibration),
      cell(memory_json(summary.peak.held)),
      cell(breakdown_json(summary.breakdown)),
  };
  TWINSTEP_CHECK(figures.size() == kFigures.size(), "every figure has a cell");
  return figures;
}

}  // namespace twinstep::explore::sweep
