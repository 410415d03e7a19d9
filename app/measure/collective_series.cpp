#include "app/measure/collective_series.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/io/json_writer.hpp"
#include "sim/program/bus_bandwidth.hpp"

namespace twinstep::app {
namespace {

using measure::Exchange;
using measure::SweepHalf;
using measure::SweepRow;

/// algbw and busbw; that of send and receive is what a rank sends.
program::CollectiveRates rates_of(Exchange const& exchange, std::int64_t ranks, Bytes size, Duration time) {
  auto const safe = std::max(time, Duration{1});
  if (exchange.kind) return program::collective_rates(*exchange.kind, ranks, size, safe);
  auto const rate = BytesPerSecond{static_cast<double>(size.count()) / to_seconds(safe).count()};
  return {rate, rate};
}

reports::CollectiveTiming timing_of(SweepHalf const& half, Exchange const& exchange, std::int64_t ranks, Bytes size) {
  auto const rates = rates_of(exchange, ranks, size, half.time.median);
  return {half.time.median, rates.algorithm, rates.bus, half.wrong};
}

/// nccl-tests' names of types and reductions.
std::string nccl_type(DataType type) {
  switch (type) {
    case DataType::kFp32: return "float";
    case DataType::kFp64: return "double";
    case DataType::kFp16: return "half";
    case DataType::kBf16: return "bfloat16";
    default: return std::string{name_of(type)};
  }
}
std::string nccl_reduction(Exchange const& exchange) {
  if (!exchange.kind || !reduces(*exchange.kind)) return "none";
  return exchange.reduction == program::Reduction::kAverage ? "avg" : std::string{name_of(exchange.reduction)};
}

std::string id_of(CollectiveSeries const& series, measure::Job const& job) {
  auto const beside = series.beside ? "-beside-" + *series.beside : std::string{};
  return fmt::format("{}-{}-{}{}", job.backend, op_name(series.exchange), job.ranks, beside);
}

/// Only what ran alone shows the machine as it is; readers fit healthy records.
std::string_view health_of(CollectiveSeries const& series) {
  if (series.beside) return "deliberately-constrained: another collective ran at the same time";
  return wrong_in(series.rows) > 0 ? "wrong results" : "healthy";
}

/// "2.28.7" of "NCCL 2.28.7"; nothing for another library.
std::optional<std::string> nccl_version_of(measure::Job const& job) {
  return job.backend == "nccl" ? std::optional{job.library.substr(job.library.find(' ') + 1)} : std::nullopt;
}

validate::MeasuredPoint point_of(SweepRow const& row, Exchange const& exchange, std::int64_t ranks) {
  auto const time = row.out_of_place.time.median;
  auto const rates = rates_of(exchange, ranks, row.size, time);
  auto point = validate::MeasuredPoint{
      .size = row.size, .time = to_seconds(time), .algorithm_bandwidth = rates.algorithm, .bus_bandwidth = rates.bus};
  if (row.in_place) point.in_place = to_seconds(row.in_place->time.median);
  return point;
}

double microseconds(Duration time) {
  return to_seconds(time).count() * 1e6;
}

void write_row(io::JsonWriter& json, SweepRow const& row, SweepHalf const& half, Exchange const& exchange,
               std::int64_t ranks) {
  auto const rates = rates_of(exchange, ranks, row.size, half.time.median);
  json.begin_array();
  json.value(row.size);
  json.value(microseconds(half.time.median));
  json.value(rates.algorithm.count() / 1e9);
  json.value(rates.bus.count() / 1e9);
  json.value(microseconds(half.time.low));
  json.value(microseconds(half.time.high));
  json.value(half.time.samples);
  json.end_array();
}

void write_rows(io::JsonWriter& json, CollectiveSeries const& series, std::int64_t ranks, bool is_in_place) {
  json.key(is_in_place ? "rows_in_place" : "rows");
  json.begin_array();
  for (auto const& row : series.rows)
    if (!is_in_place || row.in_place)
      write_row(json, row, is_in_place ? *row.in_place : row.out_of_place, series.exchange, ranks);
  json.end_array();
}

}  // namespace

std::string_view op_name(Exchange const& exchange) {
  return exchange.kind ? name_of(*exchange.kind) : "send_recv";
}

reports::CollectiveRow table_row(SweepRow const& row, Exchange const& exchange, std::int64_t ranks) {
  auto out = reports::CollectiveRow{.size = row.size,
                                    .count = row.count,
                                    .type = nccl_type(exchange.type),
                                    .reduction = nccl_reduction(exchange),
                                    .root = {},
                                    .out_of_place = timing_of(row.out_of_place, exchange, ranks, row.size),
                                    .in_place = {}};
  if (exchange.kind && has_root(*exchange.kind)) out.root = 0;
  if (row.in_place) out.in_place = timing_of(*row.in_place, exchange, ranks, row.size);
  auto const& time = row.out_of_place.time;
  if (time.precision) out.remark = fmt::format("+-{:.1f} %, {} batches", *time.precision * 100, time.samples);
  return out;
}

std::int64_t wrong_in(std::vector<SweepRow> const& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}, [](std::int64_t sum, SweepRow const& row) {
    return sum + row.out_of_place.wrong + (row.in_place ? row.in_place->wrong : 0);
  });
}

validate::CollectiveRecord record_of(CollectiveSeries const& series, measure::Job const& job) {
  auto record = validate::CollectiveRecord{.id = id_of(series, job),
                                           .system = job.device,
                                           .kind = series.exchange.kind,
                                           .ranks = job.ranks,
                                           .device = job.device,
                                           .library = job.backend,
                                           .version = nccl_version_of(job).value_or(""),
                                           .type = series.exchange.type,
                                           .health = std::string{health_of(series)}};
  for (auto const& row : series.rows) record.points.push_back(point_of(row, series.exchange, job.ranks));
  return record;
}

void write_series(io::JsonWriter& json, CollectiveSeries const& series, measure::Job const& job) {
  json.member("id", id_of(series, job));
  json.member("collective", word_of(validate::MeasuredKind{series.exchange.kind}));
  json.member("dtype", name_of(series.exchange.type));
  json.member("redop", nccl_reduction(series.exchange));
  json.member("library", job.backend);
  if (auto const version = nccl_version_of(job)) json.member("nccl_version", *version);
  json.member("beside", series.beside);
  json.member("health", health_of(series));
  json.member("wrong", wrong_in(series.rows));
  json.key("rows_fields");
  json.begin_array();
  for (auto const* const field : {"size_bytes", "time_us", "algbw_GBps", "busbw_GBps", "low_us", "high_us", "batches"})
    json.value(field);
  json.end_array();
  write_rows(json, series, job.ranks, false);
  write_rows(json, series, job.ranks, true);
}

}  // namespace twinstep::app
