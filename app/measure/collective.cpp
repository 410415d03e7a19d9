#include <array>

#include <fmt/core.h>

#include "app/arguments.hpp"
#include "app/commands.hpp"
#include "app/measure/collective_series.hpp"
#include "app/measure/job.hpp"
#include "app/measure/records.hpp"
#include "app/output.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/json_writer.hpp"
#include "validate/cuda/collective_benchmark.hpp"
#include "validate/cuda/load_device.hpp"
#include "validate/measure/gpu_ranks.hpp"
#include "validate/records/self_checks.hpp"

namespace twinstep::app {
namespace {

using measure::Exchange;
using measure::SweepRow;

std::string heading(MeasureCollectiveOptions const& options, measure::Job const& job) {
  auto const beside = options.beside ? fmt::format(" beside {}", *options.beside) : std::string{};
  return fmt::format("# twinstep measure collective: {}{}, {} rank{}, {} a node, {}\n# {}\n", options.op, beside,
                     job.ranks, job.ranks == 1 ? "" : "s", job.ranks_per_node, job.library, job.device);
}

/// A sweep that grows row by row: in the table, and in the records.
class GrowingSweep {
 public:
  GrowingSweep(MeasureCollectiveOptions const& options, Exchange const& exchange, MeasuredRecords& records)
      : options_{options}, records_{records}, series_{exchange, {}, {}} {}

  void begin(measure::Job const& job) {
    records_.belong_to(job);
    if (!options_.common.as_json) print(heading(options_, job) + reports::nccl_tests_header());
  }

  void take(SweepRow const& row) {
    series_.rows.push_back(row);
    if (series_.rows.size() == 1)
      records_.add([this](io::JsonWriter& json) { write_series(json, series_, records_.job()); });
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
    for (auto const& oddity : validate::check_records({record_of(series_, records_.job())})) warn(oddity);
    auto const wrong = wrong_in(series_.rows);
    if (wrong == 0) return kDone;
    warn(fmt::format("{} elements came out wrong: times of wrong results mean nothing", wrong));
    return kGateMissed;
  }

 private:
  MeasureCollectiveOptions const& options_;
  MeasuredRecords& records_;
  CollectiveSeries series_;
  std::vector<reports::CollectiveRow> table_;
};

measure::SweepHalf half_of(cuda::BenchmarkTiming const& timing) {
  return {measure::spread_of(std::span{&timing.time, 1}), timing.wrong};
}

measure::SweepRow row_of(cuda::BenchmarkRow const& row) {
  auto out = measure::SweepRow{
      .size = row.size, .count = row.count, .out_of_place = half_of(row.out_of_place), .in_place = {}};
  if (row.in_place) out.in_place = half_of(*row.in_place);
  return out;
}

/// Whether nccl-tests would measure it: a collective of fp32 that is summed. All else runs as a step program.
bool is_benchmark(measure::Exchange const& exchange) {
  return exchange.kind && exchange.type == DataType::kFp32 && exchange.reduction == program::Reduction::kSum;
}

/// A sweep of NCCL exactly as nccl-tests makes it: nothing lies between two launches, where a step program has the
/// events of its spans, a microsecond or two that small sizes would feel. One batch a point; its mean is the time.
int run_nccl_benchmark(MeasureOptions const& options, measure::CollectiveSweep const& sweep, GrowingSweep& answer) {
  auto code = int{kDone};
  auto const absent = on_gpus(options, [&](launch::Launch const& launch) {
    auto const device = cuda::load_device();
    auto const connection = measure::connect_gpus(*device, launch, options.gpus);
    auto const job = measure::job_on_gpus(*device, connection, launch);
    if (job.is_first_process) answer.begin(job);
    cuda::run_benchmark(*device, connection,
                        {.kind = sweep.exchange.kind.value(),
                         .smallest = sweep.smallest,
                         .largest = sweep.largest,
                         .factor = sweep.factor,
                         .iterations = options.iterations,
                         .warm_up = options.warm_up},
                        [&](cuda::BenchmarkRow const& row) {
                          if (job.is_first_process) answer.take(row_of(row));
                        });
    if (job.is_first_process) code = answer.finish();
  });
  return absent != kDone ? absent : code;
}

int measure_alone(MeasureCollectiveOptions const& options, measure::CollectiveSweep const& sweep,
                  MeasuredRecords& records) {
  auto answer = GrowingSweep{options, sweep.exchange, records};
  if (options.common.backend == "nccl" && is_benchmark(sweep.exchange))
    return run_nccl_benchmark(options.common, sweep, answer);
  auto code = int{kDone};
  auto const absent = run_job(options.common, 2, [&](measure::Executor& executor) {
    auto const is_first = executor.job().is_first_process;
    if (is_first) answer.begin(executor.job());
    measure::sweep_collective(executor, sweep, [&](SweepRow const& row) { answer.take(row); });
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
  auto series = std::array<CollectiveSeries, 4>{
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
        records.add([&each, &records](io::JsonWriter& json) { write_series(json, each, records.job()); });
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
