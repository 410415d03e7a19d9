#include "app/measure/job.hpp"

#include <new>

#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "sim/base/input_error.hpp"
#include "validate/cuda/load_device.hpp"
#include "validate/launch/local_ranks.hpp"
#include "validate/measure/backends.hpp"

namespace twinstep::app {
namespace {

/// Throws InputError where --ranks and the launcher say two things.
void check_ranks(MeasureOptions const& options, launch::Launch const& launch) {
  if (launch.processes > 1 && options.ranks && *options.ranks != launch.processes)
    throw InputError{
        fmt::format("--ranks {}: found {} processes that the launcher started, expected as many; leave "
                    "--ranks out",
                    *options.ranks, launch.processes)};
}

int on_gloo(MeasureOptions const& options, int otherwise, std::function<void(measure::Executor&)> const& body) {
  auto const launch = launch::read_launch(launch::environment_variable);
  check_ranks(options, launch);
  if (options.gpus) throw InputError{"-g: found with --backend gloo, which has no GPUs; use --ranks"};
  auto const make_executor = measure::load_gloo();
  auto const run = [&](launch::Launch const& each) {
    try {
      body(*make_executor(each));
    } catch (std::bad_alloc const&) {
      throw InputError{"found too little memory for what is measured, expected less of it; lower -e or the shapes"};
    }
  };
  auto const ranks = options.ranks.value_or(otherwise);
  if (launch.processes > 1 || ranks == 1)
    run(launch);
  else
    launch::run_local_ranks(ranks, run);
  return kDone;
}

}  // namespace

int on_gpus(MeasureOptions const& options, std::function<void(launch::Launch const&)> const& body) try {
  auto const launch = launch::read_launch(launch::environment_variable);
  check_ranks(options, launch);
  if (options.ranks && launch.processes == 1)
    throw InputError{"--ranks: found with --backend nccl, whose ranks are GPUs; use -g"};
  body(launch);
  return kDone;
} catch (cuda::DeviceError const& error) {
  complain(fmt::format("the GPUs or NCCL failed: {}; NCCL_DEBUG=INFO tells more", error.what()));
  return kSomethingAbsent;
}

int run_job(MeasureOptions const& options, int otherwise, std::function<void(measure::Executor&)> const& body) {
  check_backend(options);
  if (options.backend == "gloo") return on_gloo(options, otherwise, body);
  return on_gpus(options, [&](launch::Launch const& launch) {
    auto const executor = measure::nccl_executor(cuda::load_device(), launch, options.gpus);
    body(*executor);
    for (auto const& doubt : executor->doubts()) warn(doubt);
  });
}

void check_backend(MeasureOptions const& options) {
  if (options.backend == "gloo" || options.backend == "nccl") return;
  throw InputError{
      fmt::format("--backend {}: found no such backend, expected gloo (CPUs) or nccl (NVIDIA GPUs); name one of them",
                  one_line(options.backend))};
}

measure::Sampling sampling_of(MeasureOptions const& options) {
  return {.precision = options.precision / 100,
          .max_time = Seconds{options.max_time},
          .iterations = options.iterations,
          .warm_up = options.warm_up,
          .clock = {}};
}

DataType read_type(std::string const& text) {
  auto const type = find_enum<DataType>(text);
  if (!type)
    throw InputError{
        fmt::format("--dtype {}: found no such type; {}", one_line(text), suggest_name(text, all_names<DataType>()))};
  return *type;
}

std::optional<CollectiveKind> read_op(std::string const& option, std::string const& text) {
  constexpr std::string_view kNeighbours = "send_recv";
  if (text == kNeighbours) return std::nullopt;
  auto const kind = find_enum<CollectiveKind>(text);
  if (kind) return kind;
  auto names = all_names<CollectiveKind>();
  names.push_back(kNeighbours);
  throw InputError{
      fmt::format("{} {}: found no such collective; {}", option, one_line(text), suggest_name(text, names))};
}

void warn_of_doubts(std::string const& what, measure::Spread const& spread, measure::Sampling const& sampling) {
  auto const doubts = measure::find_doubts(spread, sampling);
  if (!doubts.empty()) warn(fmt::format("{}: {}", what, fmt::join(doubts, "; ")));
}

}  // namespace twinstep::app
