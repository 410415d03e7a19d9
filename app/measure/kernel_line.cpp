#include "app/measure/kernel_line.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "reports/quantity_text.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::app {
namespace {

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

}  // namespace

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

}  // namespace twinstep::app
