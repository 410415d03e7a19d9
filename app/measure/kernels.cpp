#include "validate/measure/kernels.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "app/arguments.hpp"
#include "app/commands.hpp"
#include "app/measure/job.hpp"
#include "app/measure/records.hpp"
#include "app/output.hpp"
#include "explore/ask/question.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/json_writer.hpp"
#include "strategies/compile.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

/// What is in a table or a record.
struct KernelLine {
  measure::KernelPoint point;
  bool is_launch = false;             ///< the host's time counts
  std::optional<std::string> beside;  ///< the collective at the same time
};

/// That are enqueued at once where the host's time counts.
inline constexpr std::int64_t kLaunches = 1000;

inline constexpr auto kKernelHeader =
    "operation                                          median   10th pct   90th pct             rate\n";

using measure::Workload;
using program::Attention;
using program::Copy;
using program::Elementwise;
using program::Gemm;

void write_shape(io::JsonWriter& json, Gemm const& gemm) {
  json.member("dtype", name_of(gemm.type));
  json.member("m", gemm.m);
  json.member("n", gemm.n);
  json.member("k", gemm.k);
  json.member("batch", gemm.batch);
}
void write_shape(io::JsonWriter& json, Attention const& attention) {
  json.member("dtype", name_of(attention.type));
  json.member("batch", attention.batch);
  json.member("heads", attention.heads);
  json.member("kv_heads", attention.kv_heads);
  json.member("query_length", attention.query_length);
  json.member("key_length", attention.key_length);
  json.member("head_size", attention.head_size);
  json.member("causal", attention.causal);
  json.member("backward", attention.backward);
}
void write_shape(io::JsonWriter& json, Elementwise const& kernel) {
  json.member("dtype", name_of(kernel.type));
  json.member("elements", kernel.elements.base);
  json.member("bytes_per_element", kernel.bytes_per_element);
}
void write_shape(io::JsonWriter& json, Copy const& copy) {
  json.member("direction", name_of(copy.direction));
  json.member("bytes", copy.bytes.base);
}
void write_shape(io::JsonWriter& /*json*/, measure::Exchange const& /*exchange*/) {}

constexpr std::string_view kind_name(Workload const& work) {
  constexpr std::string_view kNames[] = {"exchange", "gemm", "attention", "elementwise", "copy"};
  return kNames[work.index()];
}

void write_time(io::JsonWriter& json, measure::Spread const& spread, double factor) {
  auto const value = [&](Duration time) { return to_seconds(time).count() * 1e6 * factor; };
  json.member("time_us", value(spread.median));
  json.member("low_us", value(spread.low));
  json.member("high_us", value(spread.high));
  json.member("repetitions", spread.samples);
}

/// "23.4 GFLOP/s", "11.2 GB/s": what the time comes to.
std::string rate_text(Workload const& work, Duration time) {
  auto const seconds = to_seconds(std::max(time, Duration{1})).count();
  if (auto const* copy = std::get_if<Copy>(&work))
    return reports::rate_text(BytesPerSecond{static_cast<double>(copy->bytes.base) / seconds});
  if (auto const* kernel = std::get_if<Elementwise>(&work))
    return reports::rate_text(
        BytesPerSecond{static_cast<double>(kernel->elements.base) * kernel->bytes_per_element / seconds});
  auto const flops =
      std::holds_alternative<Gemm>(work) ? flops_of(std::get<Gemm>(work)) : flops_of(std::get<Attention>(work));
  return fmt::format("{:.1f} GFLOP/s", flops.count() / seconds / 1e9);
}

std::string table_line(KernelLine const& line) {
  if (line.is_launch)
    return fmt::format("{:<44} {:>10}\n", "launch, host time each", reports::time_text(line.point.alone.issue.median));
  auto const& alone = line.point.alone.each;
  auto const& time = line.beside ? line.point.beside.value() : alone;
  auto text = fmt::format("{:<44} {:>10} {:>10} {:>10}  {:>15}", measure::describe(line.point.work),
                          reports::time_text(time.median), reports::time_text(time.low), reports::time_text(time.high),
                          rate_text(line.point.work, time.median));
  if (line.beside)
    text += fmt::format("  beside {}: {:.2f} times as long", *line.beside,
                        static_cast<double>(time.median.count()) /
                            static_cast<double>(std::max<std::int64_t>(alone.median.count(), 1)));
  return text + "\n";
}

/// The members of its own record, as validate::read_kernel_records takes them.
void write_line(io::JsonWriter& json, KernelLine const& line) {
  json.member("measurement", line.is_launch ? "launch" : kind_name(line.point.work));
  if (line.is_launch)
    json.member("launches", kLaunches);
  else
    std::visit([&](auto const& work) { write_shape(json, work); }, line.point.work);
  if (line.beside) json.member("beside", *line.beside);
  if (line.is_launch) return write_time(json, line.point.alone.issue, static_cast<double>(kLaunches));
  write_time(json, line.beside ? line.point.beside.value() : line.point.alone.each, 1);
}

using measure::KernelPoint;
using measure::Workload;

/// What is measured one after another: in the table, and in the records.
class KernelAnswer {
 public:
  KernelAnswer(MeasureOptions const& options, std::optional<std::string> beside)
      : options_{options}, records_{options}, beside_{std::move(beside)} {}

  void begin(measure::Job const& job) {
    records_.belong_to(job);
    if (options_.as_json) return;
    print(fmt::format("# twinstep measure: {} rank{} at once, {}, {}\n{}", job.ranks, job.ranks == 1 ? "" : "s",
                      job.library, job.device, kKernelHeader));
  }

  [[nodiscard]] measure::KernelSink sink(bool is_launch = false) {
    return {.take =
                [this, is_launch](KernelPoint const& point) {
                  take({point, is_launch, std::nullopt});
                  if (point.beside) take({point, is_launch, beside_});
                },
            .leave_out = [](std::string const& sentence) { warn("left out: " + sentence); }};
  }

  void finish() { records_.finish(); }

 private:
  void take(KernelLine const& line) {
    records_.add([line](io::JsonWriter& json) { write_line(json, line); });
    if (!options_.as_json) print(table_line(line));
    warn_of_doubts(line.is_launch ? "launch" : measure::describe(line.point.work),
                   line.is_launch ? line.point.alone.issue : line.point.alone.each, sampling_of(options_));
  }

  MeasureOptions const& options_;
  MeasuredRecords records_;
  std::optional<std::string> beside_;
};

/// "256,512,128;1024,1024,1024". Throws InputError.
std::vector<Workload> read_shapes(std::string const& text, DataType type) {
  auto const fail = [&] {
    throw InputError{
        fmt::format("--shapes {}: expected m,n,k;m,n,k;… of whole numbers above zero; write it like "
                    "1024,1024,1024;512,2048,512",
                    one_line(text))};
  };
  auto works = std::vector<Workload>{};
  auto const* at = text.data();
  auto const* const end = at + text.size();
  while (at < end) {
    constexpr std::int64_t kMost = 1 << 20;
    std::int64_t sizes[3] = {};
    for (auto i = 0; i < 3; ++i) {
      auto const [rest, error] = std::from_chars(at, end, sizes[i]);
      if (error != std::errc{} || sizes[i] < 1 || sizes[i] > kMost) fail();
      auto const separator = i < 2 ? ',' : ';';
      if (i < 2 ? rest == end || *rest != separator : rest != end && *rest != separator) fail();
      at = rest == end ? end : rest + 1;
    }
    works.emplace_back(program::Gemm{.m = sizes[0], .n = sizes[1], .k = sizes[2], .type = type});
  }
  if (works.empty()) fail();
  return works;
}

/// The kernels of the first strategy of a scenario.
std::vector<Workload> kernels_like(std::string const& path) {
  auto const scenario = read_scenarios(question_of(io::parse_file(path))).front();
  auto const compiled = strategies::compile(scenario.model, scenario.plan);
  if (auto const* obstacle = std::get_if<strategies::Infeasible>(&compiled))
    throw InputError{fmt::format("--like {}: {}; {}", one_line(path), obstacle->reason, obstacle->way_out)};
  return measure::kernels_of(std::get<program::StepProgram>(compiled));
}

DataType compute_type(MeasureComputeOptions const& options) {
  if (!options.type.empty()) return read_type(options.type);
  return options.common.backend == "gloo" ? DataType::kFp32 : DataType::kBf16;
}

/// The launch, GEMMs, attention, and memory bandwidth; or the shapes that were named.
std::vector<Workload> kernels_of(MeasureComputeOptions const& options, DataType type) {
  if (options.like) return kernels_like(*options.like);
  if (options.shapes) return read_shapes(*options.shapes, type);
  auto works = measure::default_gemms(type);
  for (auto const& more :
       {measure::default_attentions(type), measure::memory_kernels(Bytes{1 << 16}, Bytes{1 << 30}, type)})
    works.insert(works.end(), more.begin(), more.end());
  return works;
}

std::optional<measure::Exchange> read_beside(MeasureComputeOptions const& options) {
  if (!options.beside) return std::nullopt;
  return measure::Exchange{.kind = read_op("--beside", *options.beside)};
}

}  // namespace

int measure_compute(MeasureComputeOptions const& options) {
  check_backend(options.common);
  auto const type = compute_type(options);
  auto const works = kernels_of(options, type);
  auto beside = read_beside(options);
  auto const size = read_sizes(options.beside_size, options.beside_size).first;
  auto answer = KernelAnswer{options.common, options.beside};
  return run_job(options.common, beside ? 2 : 1, [&](measure::Executor& executor) {
    auto const& job = executor.job();
    if (beside) beside->elements = std::max(measure::elements_for(size, *beside, job.ranks), job.ranks);
    if (job.is_first_process) answer.begin(job);
    auto sampling = sampling_of(options.common);
    measure::measure_kernels(executor, works, beside, sampling, answer.sink());
    sampling.iterations = kLaunches;
    auto const launch = measure::empty_kernel(type);
    if (!options.like && !options.shapes)
      measure::measure_kernels(executor, std::span{&launch, 1}, {}, sampling, answer.sink(true));
    if (job.is_first_process) answer.finish();
  });
}

int measure_copy(MeasureCopyOptions const& options) {
  check_backend(options.common);
  auto const [smallest, largest] = read_sizes(options.smallest, options.largest);
  auto answer = KernelAnswer{options.common, {}};
  return run_job(options.common, 1, [&](measure::Executor& executor) {
    auto const is_first = executor.job().is_first_process;
    if (is_first) answer.begin(executor.job());
    using enum program::CopyDirection;
    for (auto const direction : {kDeviceToDevice, kHostToDevice, kDeviceToHost}) {
      if (executor.job().backend == "gloo" && direction != kDeviceToDevice) {
        if (is_first) warn(fmt::format("left out: copy {}: CPUs have no memory of a device", name_of(direction)));
        continue;
      }
      measure::measure_kernels(executor, measure::copies(direction, smallest, largest), {}, sampling_of(options.common),
                               answer.sink());
    }
    if (is_first) {
      warn("left out: copies between ranks; `measure collective --op send_recv` measures those");
      answer.finish();
    }
  });
}

}  // namespace twinstep::app
