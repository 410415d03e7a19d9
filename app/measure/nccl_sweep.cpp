#include "app/measure/nccl_sweep.hpp"

#include "app/commands.hpp"
#include "app/measure/job.hpp"
#include "validate/cuda/collective_benchmark.hpp"
#include "validate/cuda/load_device.hpp"
#include "validate/measure/gpu_ranks.hpp"

namespace twinstep::app {
namespace {

measure::SweepHalf half_of(cuda::BenchmarkTiming const& timing) {
  return {measure::spread_of(std::span{&timing.time, 1}), timing.wrong};
}

measure::SweepRow row_of(cuda::BenchmarkRow const& row) {
  auto out = measure::SweepRow{
      .size = row.size, .count = row.count, .out_of_place = half_of(row.out_of_place), .in_place = {}};
  if (row.in_place) out.in_place = half_of(*row.in_place);
  return out;
}

}  // namespace

bool is_benchmark(measure::Exchange const& exchange) {
  return exchange.kind && exchange.type == DataType::kFp32 && exchange.reduction == program::Reduction::kSum;
}

int run_nccl_benchmark(MeasureOptions const& options, measure::CollectiveSweep const& sweep,
                       std::function<void(measure::Job const&)> const& begin,
                       std::function<void(measure::SweepRow const&)> const& take, std::function<int()> const& finish) {
  auto code = int{kDone};
  auto const absent = on_gpus(options, [&](launch::Launch const& launch) {
    auto const device = cuda::load_device();
    auto const connection = measure::connect_gpus(*device, launch, options.gpus);
    auto const job = measure::job_on_gpus(*device, connection, launch);
    if (job.is_first_process) begin(job);
    cuda::run_benchmark(*device, connection,
                        {.kind = sweep.exchange.kind.value(),
                         .smallest = sweep.smallest,
                         .largest = sweep.largest,
                         .factor = sweep.factor,
                         .iterations = options.iterations,
                         .warm_up = options.warm_up},
                        [&](cuda::BenchmarkRow const& row) {
                          if (job.is_first_process) take(row_of(row));
                        });
    if (job.is_first_process) code = finish();
  });
  return absent != kDone ? absent : code;
}

}  // namespace twinstep::app
