#include <filesystem>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/sizes.hpp"
#include "reports/json_writer.hpp"
#include "reports/render/nccl_tests_table.hpp"
#include "sim/base/input_error.hpp"
#include "sim/program/bus_bandwidth.hpp"
#include "validate/cuda/collective_benchmark.hpp"
#include "validate/cuda/load_device.hpp"
#include "validate/launch/launch.hpp"

namespace twinstep::app {
namespace {

using program::CollectiveKind;

/// Throws InputError for what no backend could run.
cuda::BenchmarkOptions benchmark_options(MeasureOptions const& options) {
  auto const fail = [](std::string const& sentence) { throw InputError{sentence}; };
  if (options.backend != "nccl")
    fail(fmt::format("--backend {}: found no such backend, expected nccl; it runs on NVIDIA GPUs",
                     one_line(options.backend)));
  auto const kind = find_enum<CollectiveKind>(options.op);
  if (!kind)
    fail(fmt::format("--op {}: found no such collective; {}", one_line(options.op),
                     suggest_name(options.op, all_names<CollectiveKind>())));
  auto const [smallest, largest] = read_sizes(options.smallest, options.largest);
  return {.kind = *kind,
          .smallest = smallest,
          .largest = largest,
          .factor = options.factor,
          .iterations = options.iterations,
          .warm_up = options.warm_up};
}

/// The ranks of this process. Alone it drives all GPUs unless told; one of several drives one.
cuda::Ranks ranks_of(launch::Launch const& launch, std::optional<int> gpus, int devices) {
  auto const local_ranks = gpus.value_or(launch.processes > 1 ? 1 : devices);
  auto const first_device = launch.local_process * local_ranks;
  if (first_device + local_ranks > devices)
    throw InputError{fmt::format("-g {}: found {} GPUs, expected {} for this host's processes; lower it or start fewer",
                                 local_ranks, devices, first_device + local_ranks)};
  return {.world = launch.processes * local_ranks,
          .local_ranks = local_ranks,
          .first_rank = launch.process * local_ranks,
          .first_device = first_device};
}

void connect(cuda::DeviceApi& device, cuda::Ranks const& ranks, launch::Launch const& launch) {
  if (launch.processes == 1) return device.connect(ranks, {});
  auto const file = launch::meeting_file(launch);
  auto id = launch.process == 0 ? device.make_meeting_id() : std::vector<char>{};
  device.connect(ranks, launch::exchange_id(launch, file, std::move(id)));
  auto error = std::error_code{};
  if (launch.process == 0) std::filesystem::remove(file, error);  // all have read it: they are connected
}

/// nccl-tests' row of what was measured.
reports::CollectiveRow table_row(cuda::BenchmarkRow const& row, CollectiveKind kind, int world) {
  auto const half =
      [&](std::optional<cuda::BenchmarkTiming> const& timing) -> std::optional<reports::CollectiveTiming> {
    if (!timing) return std::nullopt;
    auto const rates = program::collective_rates(kind, world, row.size, std::max(timing->time, Duration{1}));
    return reports::CollectiveTiming{timing->time, rates.algorithm, rates.bus, timing->wrong};
  };
  return {.size = row.size,
          .count = row.count,
          .type = "float",
          .reduction = reduces(kind) ? "sum" : "none",
          .root = has_root(kind) ? std::optional<std::int64_t>{0} : std::nullopt,
          .out_of_place = half(row.out_of_place),
          .in_place = half(row.in_place)};
}

std::string heading(cuda::DeviceApi& device, cuda::Ranks const& ranks, MeasureOptions const& options) {
  auto text = fmt::format("# twinstep measure collective --op {}, {} ranks, {} in this process\n", options.op,
                          ranks.world, ranks.local_ranks);
  for (int rank = 0; rank < ranks.local_ranks; ++rank)
    text +=
        fmt::format("#  device {:2} {}\n", ranks.first_device + rank, device.device_name(ranks.first_device + rank));
  return text + fmt::format("NCCL version {}\n", device.library_version());
}

void write_timing(reports::JsonWriter& json, std::string const& prefix,
                  std::optional<reports::CollectiveTiming> const& timing) {
  auto const value = [&](auto get) { return timing ? std::optional<double>{get(*timing)} : std::nullopt; };
  using Timing = reports::CollectiveTiming;
  json.member(prefix + "time_us", value([](Timing const& t) { return to_seconds(t.time).count() * 1e6; }));
  json.member(prefix + "algbw_GBps", value([](Timing const& t) { return t.algorithm_bandwidth.count() / 1e9; }));
  json.member(prefix + "busbw_GBps", value([](Timing const& t) { return t.bus_bandwidth.count() / 1e9; }));
  json.member(prefix + "wrong", timing ? timing->wrong : std::nullopt);
}

std::string json_text(std::vector<reports::CollectiveRow> const& rows, std::string const& version, int world,
                      MeasureOptions const& options) {
  auto json = reports::JsonWriter{};
  json.begin_object();
  json.member("collective", options.op);
  json.member("backend", options.backend);
  json.member("library_version", version);
  json.member("ranks", world);
  json.key("rows");
  json.begin_array();
  for (auto const& row : rows) {
    json.begin_object();
    json.member("size_bytes", row.size);
    write_timing(json, "", row.out_of_place);
    write_timing(json, "in_place_", row.in_place);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

int run(MeasureOptions const& options) {
  auto const benchmark = benchmark_options(options);
  auto const launch = launch::read_launch(launch::environment_variable);
  auto const device = cuda::load_device();
  auto const ranks = ranks_of(launch, options.gpus, device->device_count());
  connect(*device, ranks, launch);
  auto const speaks = launch.process == 0;
  auto const prints_table = speaks && !options.as_json;
  if (prints_table) print(heading(*device, ranks, options) + reports::nccl_tests_header());
  auto rows = std::vector<reports::CollectiveRow>{};
  cuda::run_benchmark(*device, ranks, benchmark, [&](cuda::BenchmarkRow const& row) {
    rows.push_back(table_row(row, benchmark.kind, ranks.world));
    if (prints_table) print(reports::nccl_tests_line(rows.back()));
  });
  if (prints_table) print(reports::nccl_tests_average(rows));
  if (speaks && options.as_json) print(json_text(rows, device->library_version(), ranks.world, options));
  return kDone;
}

}  // namespace

int measure_collective(MeasureOptions const& options) try { return run(options); } catch (cuda::Absent const& error) {
  complain(error.what());
  return kSomethingAbsent;
} catch (cuda::DeviceError const& error) {
  complain(fmt::format("the GPUs or NCCL failed: {}; NCCL_DEBUG=INFO tells more", error.what()));
  return kSomethingAbsent;
}

}  // namespace twinstep::app
