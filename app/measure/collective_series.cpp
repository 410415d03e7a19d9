#include "app/measure/collective_series.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/program/bus_bandwidth.hpp"
#include "validate/records/measured_kind.hpp"

namespace twinstep::app {
namespace {

using measure::Exchange;
using measure::SweepHalf;
using measure::SweepRow;

validate::MeasuredKind measured_kind(Exchange const& exchange) {
  return exchange.kind ? static_cast<validate::MeasuredKind>(*exchange.kind) : validate::MeasuredKind::kSendReceive;
}

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

double microseconds(Duration time) {
  return to_seconds(time).count() * 1e6;
}

void write_row(reports::JsonWriter& json, SweepRow const& row, SweepHalf const& half, Exchange const& exchange,
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

void write_rows(reports::JsonWriter& json, CollectiveSeries const& series, std::int64_t ranks, bool is_in_place) {
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

void write_series(reports::JsonWriter& json, CollectiveSeries const& series, measure::Job const& job) {
  auto const beside = series.beside ? "-beside-" + *series.beside : std::string{};
  json.member("id", fmt::format("{}-{}-{}{}", job.backend, op_name(series.exchange), job.ranks, beside));
  json.member("collective", name_of(measured_kind(series.exchange)));
  json.member("dtype", name_of(series.exchange.type));
  json.member("redop", nccl_reduction(series.exchange));
  json.member("library", job.backend);
  if (job.backend == "nccl") json.member("nccl_version", job.library.substr(job.library.find(' ') + 1));
  json.member("beside", series.beside);
  // Only what ran alone shows the machine as it is; readers fit healthy records.
  json.member("health", series.beside ? "deliberately-constrained: another collective ran at the same time"
                        : wrong_in(series.rows) > 0 ? "wrong results"
                                                    : "healthy");
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
