#include <array>
#include <numeric>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/measure_job.hpp"
#include "app/measure_nccl.hpp"
#include "app/measure_records.hpp"
#include "app/output.hpp"
#include "app/sizes.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/nccl_tests_table.hpp"
#include "sim/base/input_error.hpp"
#include "sim/program/bus_bandwidth.hpp"
#include "validate/measure/collective_sweep.hpp"
#include "validate/records/measured_kind.hpp"
#include "validate/records/self_checks.hpp"

namespace twinstep::app {
namespace {

using measure::Exchange;
using measure::SweepHalf;
using measure::SweepRow;

/// One record: a collective, alone or beside another.
struct Series {
  Exchange exchange;
  std::optional<std::string> beside;
  std::vector<SweepRow> rows;
};

std::string_view op_name(Exchange const& exchange) {
  return exchange.kind ? name_of(*exchange.kind) : "send_recv";
}

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

// Tables.

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

std::string heading(MeasureCollectiveOptions const& options, measure::Job const& job) {
  auto const beside = options.beside ? fmt::format(" beside {}", *options.beside) : std::string{};
  return fmt::format("# twinstep measure collective: {}{}, {} rank{}, {} a node, {}\n# {}\n", options.op, beside,
                     job.ranks, job.ranks == 1 ? "" : "s", job.ranks_per_node, job.library, job.device);
}

// Records.

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

void write_rows(reports::JsonWriter& json, Series const& series, std::int64_t ranks, bool is_in_place) {
  json.key(is_in_place ? "rows_in_place" : "rows");
  json.begin_array();
  for (auto const& row : series.rows)
    if (!is_in_place || row.in_place)
      write_row(json, row, is_in_place ? *row.in_place : row.out_of_place, series.exchange, ranks);
  json.end_array();
}

std::int64_t wrong_in(std::vector<SweepRow> const& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}, [](std::int64_t sum, SweepRow const& row) {
    return sum + row.out_of_place.wrong + (row.in_place ? row.in_place->wrong : 0);
  });
}

void write_series(reports::JsonWriter& json, Series const& series, measure::Job const& job) {
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

/// Says what is odd about what was measured, as practitioners look at it before they believe it.
void check(MeasuredRecords const& records) {
  for (auto const& sentence :
       validate::check_records(validate::read_collective_records(io::parse({"what was measured", records.text()}))))
    warn(sentence);
}

// Measuring.

/// A sweep that grows row by row: in the table, and in the records.
class Sweep {
 public:
  Sweep(MeasureCollectiveOptions const& options, Exchange const& exchange, MeasuredRecords& records)
      : options_{options}, records_{records}, series_{exchange, {}, {}} {}

  void begin(measure::Job const& job) {
    records_.belong_to(job);
    if (!options_.common.as_json) print(heading(options_, job) + reports::nccl_tests_header());
  }

  void take(SweepRow const& row) {
    series_.rows.push_back(row);
    if (series_.rows.size() == 1)
      records_.add([this](reports::JsonWriter& json) { write_series(json, series_, records_.job()); });
    else
      records_.save();
    table_.push_back(table_row(row, series_.exchange, records_.job().ranks));
    if (!options_.common.as_json) print(reports::nccl_tests_line(table_.back()));
    warn_of_doubts(fmt::format("{} of {}", op_name(series_.exchange), reports::memory_text(row.size)),
                   row.out_of_place.time, sampling_of(options_.common));
  }

  int finish() {
    if (!options_.common.as_json) print(reports::nccl_tests_average(table_));
    records_.finish();
    if (series_.rows.empty()) {
      warn("no size is large enough to be shared by the ranks; raise -e");
      return kDone;
    }
    check(records_);
    auto const wrong = wrong_in(series_.rows);
    if (wrong == 0) return kDone;
    warn(fmt::format("{} elements came out wrong: times of wrong results mean nothing", wrong));
    return kGateMissed;
  }

 private:
  MeasureCollectiveOptions const& options_;
  MeasuredRecords& records_;
  Series series_;
  std::vector<reports::CollectiveRow> table_;
};

int measure_alone(MeasureCollectiveOptions const& options, measure::CollectiveSweep const& sweep,
                  MeasuredRecords& records) {
  auto answer = Sweep{options, sweep.exchange, records};
  auto code = int{kDone};
  auto const take = [&](SweepRow const& row) { answer.take(row); };
  if (options.common.backend == "nccl" && is_benchmark(sweep.exchange))
    return run_nccl_benchmark(
        options.common, sweep, [&](measure::Job const& job) { answer.begin(job); }, take,
        [&] { code = answer.finish(); }, code);
  auto const absent = run_job(options.common, 2, [&](measure::Executor& executor) {
    auto const is_first = executor.job().is_first_process;
    if (is_first) answer.begin(executor.job());
    measure::sweep_collective(executor, sweep, take);
    if (is_first) code = answer.finish();
  });
  return absent != kDone ? absent : code;
}

std::string beside_line(Bytes size, std::array<measure::Beside, 2> const& both) {
  auto line = fmt::format("{:>12}", size.count());
  for (auto const& each : both)
    line += fmt::format("  {:>12} {:>12} {:>8.2f}", reports::time_text(each.alone.median),
                        reports::time_text(each.together.median), each.slowdown());
  return line + "\n";
}

/// Two collectives on communicators of their own, each alone and both at once: four records.
int measure_both(MeasureCollectiveOptions const& options, measure::CollectiveSweep const& sweep, Exchange const& other,
                 MeasuredRecords& records) {
  auto const names = std::array{std::string{op_name(sweep.exchange)}, std::string{op_name(other)}};
  auto series = std::array<Series, 4>{
      {{sweep.exchange, {}, {}}, {other, {}, {}}, {sweep.exchange, names[1], {}}, {other, names[0], {}}}};
  auto const prints = !options.common.as_json;
  auto const body = [&](measure::Executor& executor) {
    auto const is_first = executor.job().is_first_process;
    if (is_first) {
      records.belong_to(executor.job());
      if (prints)
        print(heading(options, executor.job()) + fmt::format("{:>12}  {:>12} {:>12} {:>8}  {:>12} {:>12} {:>8}\n",
                                                             "size (B)", names[0], "together", "slowdown", names[1],
                                                             "together", "slowdown"));
    }
    measure::sweep_beside(executor, sweep, other, [&](Bytes size, std::array<measure::Beside, 2> const& both) {
      if (prints) print(beside_line(size, both));
      for (std::size_t i = 0; i < 2; ++i) {
        series[i].rows.push_back({.size = size, .count = 0, .out_of_place = {both[i].alone, 0}, .in_place = {}});
        series[i + 2].rows.push_back({.size = size, .count = 0, .out_of_place = {both[i].together, 0}, .in_place = {}});
      }
      if (series[0].rows.size() > 1) return records.save();
      for (auto& each : series)
        records.add([&each, &records](reports::JsonWriter& json) { write_series(json, each, records.job()); });
    });
    if (is_first) records.finish();
  };
  return run_job(options.common, 2, body);
}

/// Throws InputError for what the backend could not run, before anything is started.
Exchange read_exchange(MeasureCollectiveOptions const& options, std::string const& option, std::string const& op) {
  auto exchange = Exchange{.kind = read_op(option, op), .type = read_type(options.type)};
  if (options.common.backend == "gloo" && exchange.type != DataType::kFp32 && exchange.type != DataType::kFp64)
    throw InputError{fmt::format("--dtype {}: found with --backend gloo, expected fp32 or fp64; choose one of them",
                                 one_line(options.type))};
  auto const reduction = find_enum<program::Reduction>(options.reduction);
  if (!reduction)
    throw InputError{fmt::format("--redop {}: found no such reduction; {}", one_line(options.reduction),
                                 suggest_name(options.reduction, all_names<program::Reduction>()))};
  exchange.reduction = *reduction;
  return exchange;
}

}  // namespace

int measure_collective(MeasureCollectiveOptions const& options) {
  check_backend(options.common);
  auto const [smallest, largest] = read_sizes(options.smallest, options.largest);
  auto const sweep = measure::CollectiveSweep{.exchange = read_exchange(options, "--op", options.op),
                                              .smallest = smallest,
                                              .largest = largest,
                                              .factor = options.factor,
                                              .sampling = sampling_of(options.common)};
  auto records = MeasuredRecords{options.common};
  if (!options.beside) return measure_alone(options, sweep, records);
  return measure_both(options, sweep, read_exchange(options, "--beside", *options.beside), records);
}

}  // namespace twinstep::app
