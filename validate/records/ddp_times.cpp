#include "validate/records/ddp_times.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"
#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using io::Node;

constexpr double kMedian = 0.5;
constexpr double kLow = 0.1;
constexpr double kHigh = 0.9;

std::string id_of(std::string const& file, std::string_view model, std::int64_t ranks) {
  return fmt::format("{}-{}-{}", std::filesystem::path{file}.stem().string(), model, ranks);
}

/// One entry of "result": the measurements of all ranks behind each other, each rank's steps in their order.
StepTimes read_result(Node const& model, Node const& result, std::string const& file) {
  auto run = StepTimes{};
  run.model = model.at("model").string();
  run.micro_batch = model.at("batch_size").integer_from(1);
  run.ranks = static_cast<std::int64_t>(result.at("ranks").elements().size());
  run.id = id_of(file, run.model, run.ranks);
  auto const measurements = result.at("measurements").elements();
  auto const ranks = static_cast<std::size_t>(run.ranks);
  if (ranks == 0 || measurements.empty() || measurements.size() % ranks != 0)
    result.at("measurements")
        .fail(fmt::format("found {} measurements of {} ranks, expected as many of each", measurements.size(), ranks),
              "let the benchmark run to its end");
  run.steps.resize(measurements.size() / ranks);
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    auto const time = measurements[i].number();
    if (!(time > 0)) measurements[i].fail(fmt::format("found {} s, expected a time above zero", time), "correct it");
    auto& slowest = run.steps[i % run.steps.size()];
    slowest = std::max(slowest, Seconds{time});
  }
  return run;
}

std::vector<StepTimes> read_benchmark_json(Node const& document) {
  if (!document.has("benchmark_results"))
    document.fail("found JSON without \"benchmark_results\", expected what PyTorch's DDP benchmark writes with --json",
                  "give that, or a CSV file with the columns step and time_s");
  auto runs = std::vector<StepTimes>{};
  for (auto const& model : document.at("benchmark_results").elements())
    for (auto const& result : model.at("result").elements())
      runs.push_back(read_result(model, result, document.source().name));
  return runs;
}

/// "p50:" of "8 GPUs --    1M/8G:  p50:  0.123s     260/s  p75:  …".
std::optional<Seconds> printed(std::vector<std::string_view> const& words, std::string_view title) {
  auto const found = std::ranges::find(words, title);
  if (found == words.end() || found + 1 == words.end() || !(found + 1)->ends_with('s')) return std::nullopt;
  auto const value = whole_number<double>((found + 1)->substr(0, (found + 1)->size() - 1));
  return value && *value > 0 ? std::optional{Seconds{*value}} : std::nullopt;
}

std::vector<StepTimes> read_benchmark_text(io::Source const& file) {
  auto runs = std::vector<StepTimes>{};
  auto model = std::string{};
  auto batch = std::optional<std::int64_t>{};
  for (auto const line : lines_of(file.text)) {
    auto const words = words_of(line);
    constexpr std::size_t kModelWords = 6;  // "Benchmark: resnet50 with batch size 32"
    if (words.size() == kModelWords && words[0] == "Benchmark:") {
      model = words[1];
      batch = whole_number<std::int64_t>(words[5]);
    }
    if (words.size() < 3 || words[1] != "GPUs" || words[2] != "--") continue;
    auto const ranks = whole_number<std::int64_t>(words[0]);
    auto const median = printed(words, "p50:");
    if (!ranks || *ranks < 1 || !median) continue;
    auto run = StepTimes{.id = id_of(file.name, model, *ranks), .model = model, .ranks = *ranks, .micro_batch = batch};
    run.p50 = median;
    run.p90 = printed(words, "p90:");
    runs.push_back(std::move(run));
  }
  return runs;
}

/// With nine digits, which clocks do not exceed.
void write_seconds(io::JsonWriter& json, std::string_view key, std::optional<Seconds> const& time) {
  json.key(key);
  json.raw(time ? fmt::format("{:.9g}", time->count()) : "null");
}

void write_measured(io::JsonWriter& json, StepTimes const& run) {
  auto const quantile = [&](std::optional<Seconds> const& printed_one, double p) {
    if (printed_one || run.steps.empty()) return printed_one;
    return std::optional{percentile(run.steps, p)};
  };
  json.begin_object();
  write_seconds(json, "step_time_s", quantile(run.p50, kMedian));
  write_seconds(json, "step_time_p10_s", quantile(run.p10, kLow));
  write_seconds(json, "step_time_p90_s", quantile(run.p90, kHigh));
  json.member("steps", run.steps.empty() ? std::nullopt : std::optional{run.steps.size()});
  json.member("warm_up_steps", run.warm_up);
  json.end_object();
}

void write_record(io::JsonWriter& json, StepTimes const& run) {
  json.begin_object();
  json.member("measurement", "step");
  json.member("id", run.id);
  json.member("family", "torch.distributed");
  json.member("kind", "measured");
  json.member("ranks", run.ranks);
  json.key("model");
  json.begin_object();
  json.member("name", run.model);
  json.end_object();
  json.key("parallelism");
  json.begin_object();
  json.member("dp", run.ranks);
  json.end_object();
  json.member("micro_batch", run.micro_batch);
  json.key("measured");
  write_measured(json, run);
  json.end_object();
}

}  // namespace

Seconds percentile(std::vector<Seconds> values, double p) {
  std::ranges::sort(values);
  auto const place = p * static_cast<double>(values.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - std::floor(place));
}

std::vector<StepTimes> read_step_times(std::vector<io::Source> const& files) {
  auto const& first = files.front();
  if (begins_object(first.text)) return read_benchmark_json(io::parse({first.name, first.text}));
  if (files.size() == 1)
    if (auto runs = read_benchmark_text(first); !runs.empty()) return runs;
  return {read_step_csv(files)};
}

std::string step_records_json(std::vector<StepTimes> const& runs) {
  auto json = io::JsonWriter{};
  json.begin_array();
  for (auto const& run : runs) write_record(json, run);
  json.end_array();
  return std::move(json).finish();
}

}  // namespace twinstep::records
