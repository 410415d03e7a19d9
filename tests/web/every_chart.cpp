#include "tests/web/every_chart.hpp"

#include <cmath>

#include <fmt/format.h>

namespace twinstep::reports {
namespace {

constexpr auto kNasty =
    "</script><img src=x onerror=alert(1)> \"quoted\" 'single' & {{body}} `code` | pipe, comma; =1+1";

Series series(std::string name, SeriesStyle style, std::vector<ChartPoint> points) {
  return {.name = std::move(name), .style = style, .points = std::move(points), .x_ends = {}};
}

/// Predicted with intervals, measured beside it, both axes logarithmic.
Chart scaling() {
  auto predicted = std::vector<ChartPoint>{};
  auto ideal = std::vector<ChartPoint>{};
  auto measured = std::vector<ChartPoint>{};
  for (auto gpus = 8.0; gpus <= 1024; gpus *= 2) {
    auto const rate = 10000.0 * gpus / (1 + gpus / 600.0);
    predicted.push_back({gpus, rate, rate * 0.85, rate * 1.12, ""});
    ideal.push_back({gpus, 10000.0 * gpus, {}, {}, ""});
    if (gpus <= 128) measured.push_back({gpus, rate * 1.03, rate * 0.99, rate * 1.07, "median of 5 runs"});
  }
  return {.id = "scaling",
          .title = "Strong scaling",
          .text = "The knee is at 256 GPUs: from there on the NICs are what the step waits for.",
          .x = {"GPUs", "", true, {}},
          .y = {"throughput", "tokens/s", true, {}},
          .series = {series("predicted", SeriesStyle::kLine, predicted), series("perfect", SeriesStyle::kLine, ideal),
                     series("measured", SeriesStyle::kPoints, measured)},
          .x_marks = {{256, {}, "knee"}}};
}

/// Bytes on a logarithmic axis, with regions of algorithms.
Chart bandwidth() {
  auto points = std::vector<ChartPoint>{};
  for (int power = 3; power <= 34; ++power) {
    auto const bytes = std::exp2(power);
    points.push_back({bytes, 370 * bytes / (bytes + 8e6), {}, {}, power < 20 ? "tree, LL" : "ring, Simple"});
  }
  return {.id = "bandwidth",
          .title = "all_reduce over 32 ranks: bus bandwidth by message size",
          .text = "Half of the peak is reached at 8 MiB.",
          .x = {"message", "B", true, {}},
          .y = {"bus bandwidth", "GB/s", false, {}},
          .series = {series("bus bandwidth", SeriesStyle::kLine, points)},
          .x_marks = {{8, 1048576, "tree, LL"}, {1048576, 17179869184, "ring, Simple"}},
          .y_marks = {{400, {}, "NICs: 400 GB/s"}}};
}

std::vector<ChartPoint> bars(std::vector<double> const& values) {
  auto points = std::vector<ChartPoint>{};
  for (std::size_t i = 0; i < values.size(); ++i) points.push_back({static_cast<double>(i), values[i], {}, {}, ""});
  return points;
}

Chart breakdown() {
  return {.id = "breakdown",
          .title = "Where the step's time goes",
          .text = "",
          .x = {"strategy", "", false, {"naive", "ddp", "zero-1", "zero-2", "zero-3", "zero-3 + recompute"}},
          .y = {"time", "ms", false, {}},
          .is_stacked = true,
          .series = {series("gemm", SeriesStyle::kBars, bars({263.4, 263.4, 263.4, 263.4, 263.4, 351.2})),
                     series("attention", SeriesStyle::kBars, bars({91.5, 91.5, 91.5, 91.5, 91.5, 122})),
                     series("elementwise", SeriesStyle::kBars, bars({43.56, 43.56, 43.56, 43.56, 43.56, 31.9})),
                     series("exposed all_gather", SeriesStyle::kBars, bars({0, 0, 33.34, 33.34, 3.817, 3.817})),
                     series("exposed reduce_scatter", SeriesStyle::kBars, bars({113.8, 158.8, 2.505, 2.505, 9.6, 0}))}};
}

/// Changes in both directions from nothing.
Chart sensitivity() {
  return {.id = "sensitivity",
          .title = "Ten per cent more or less of each",
          .text = "GEMM rates matter most.",
          .x = {"parameter", "", false, {"GEMM efficiency", "NIC rate", "HBM bandwidth", "launch cost"}},
          .y = {"change of the step time", "%", false, {}},
          .is_stacked = true,
          .series = {series("−10 %", SeriesStyle::kBars, bars({6.6, 1.2, 1.9, -0.4})),
                     series("+10 %", SeriesStyle::kBars, bars({-5.4, -0.7, -1.6, 0.5}))}};
}

/// Bars side by side over numbers, with intervals.
Chart buckets() {
  return {
      .id = "buckets",
      .title = "Step time by bucket size",
      .text = "25 MiB is within 1 % of the best.",
      .x = {"bucket", "B", true, {}},
      .y = {"step time", "ms", false, {}},
      .series = {
          series(
              "32 GPUs", SeriesStyle::kBars,
              {{1048576, 612, 590, 640, ""}, {26214400, 557.2, 540, 580, "PyTorch's default"}, {1e9, 581, {}, {}, ""}}),
          series("256 GPUs", SeriesStyle::kBars, {{1048576, 801, {}, {}, ""}, {26214400, 602, {}, {}, ""}})}};
}

/// Categories that change at different moments.
Chart memory() {
  return {
      .id = "memory",
      .title = "Memory over the step",
      .text = "The peak of 49.0 GiB is at the head's backward pass.",
      .x = {"time", "ms", false, {}},
      .y = {"held", "GiB", false, {}},
      .is_stacked = true,
      .series = {series("parameters", SeriesStyle::kSteps, {{0, 12.6, {}, {}, ""}, {434, 12.6, {}, {}, ""}}),
                 series("gradients", SeriesStyle::kSteps,
                        {{140, 3, {}, {}, ""}, {220, 7.5, {}, {}, ""}, {300, 12.6, {}, {}, ""}, {420, 0, {}, {}, ""}}),
                 series("activations", SeriesStyle::kSteps,
                        {{10, 4, {}, {}, ""},
                         {60, 11, {}, {}, ""},
                         {120, 20.3, {}, {}, "head.backward"},
                         {220, 9, {}, {}, ""},
                         {330, 0, {}, {}, ""}})},
      .y_marks = {{79.1, {}, "capacity: 79.1 GiB"}}};
}

/// Thousands of spans on three streams.
Chart timeline() {
  auto compute = series("compute", SeriesStyle::kSpans, {});
  auto gather = series("all_gather", SeriesStyle::kSpans, {});
  auto reduce = series("reduce_scatter", SeriesStyle::kSpans, {});
  for (int i = 0; i < 2400; ++i) {
    auto const start = i * 0.18;
    compute.points.push_back(
        {start, 0, {}, {}, fmt::format("layer.{}.{}", i / 75, i % 2 == 0 ? "forward" : "backward")});
    compute.x_ends.push_back(start + 0.17);
    if (i % 75 == 0) {
      gather.points.push_back({start, 1, {}, {}, fmt::format("gather layer.{}", i / 75)});
      gather.x_ends.push_back(start + 7.5);
    }
    if (i > 1200 && i % 75 == 10) {
      reduce.points.push_back({start, 2, {}, {}, fmt::format("reduce layer.{}", i / 75)});
      reduce.x_ends.push_back(start + 10.25);
    }
  }
  return {.id = "timeline",
          .title = "One step by stream",
          .text = "Communication that does not lie under computation is exposed.",
          .x = {"time", "ms", false, {}},
          .y = {"stream", "", false, {"compute", "all_gather", "reduce_scatter"}},
          .series = {compute, gather, reduce}};
}

/// As many series as there are colours.
Chart categories() {
  auto chart = Chart{.id = "categories",
                     .title = "Twelve categories",
                     .text = "",
                     .x = {"rank", "", false, {"rank 0"}},
                     .y = {"held", "GiB", false, {}},
                     .fold = "Categories",
                     .is_stacked = true};
  for (int i = 1; i <= 12; ++i)
    chart.series.push_back(series(fmt::format("category {}", i), SeriesStyle::kBars, bars({i + 0.5})));
  return chart;
}

Chart over_names() {
  return {.id = "points-over-names",
          .title = "Predicted beside measured",
          .text = "",
          .x = {"system", "", false, {"p5.48xlarge", "DGX H100", "DGX A100"}},
          .y = {"step time", "ms", false, {}},
          .series = {series("predicted", SeriesStyle::kLine,
                            {{0, 411.9, 390, 440, ""}, {1, 402.5, 385, 430, ""}, {2, 833, 800, 870, ""}}),
                     series("measured", SeriesStyle::kPoints, {{0, 420, {}, {}, ""}, {2, 815, {}, {}, ""}})}};
}

Chart nasty() {
  return {
      .id = "nasty \"id\" <b>",
      .title = kNasty,
      .text = kNasty,
      .x = {kNasty, "<u>", false, {}},
      .y = {kNasty, "<i>", false, {}},
      .fold = kNasty,
      .series = {
          series(kNasty, SeriesStyle::kLine, {{0, -3, {}, {}, kNasty}, {1, 0.125, {}, {}, ""}, {2, 1e-7, {}, {}, ""}}),
          series("", SeriesStyle::kPoints, {{1, 123456.789, {}, {}, ""}}), series("empty", SeriesStyle::kSteps, {})}};
}

}  // namespace

Page every_chart() {
  return {
      .title = "LLaMA-2-7B on 4 × DGX H100 " + std::string{kNasty},
      .text = "zero-3 is the fastest that fits: 411.9 ms a step, 47.1 % MFU.",
      .headlines = {{"step time", "411.9 ms"},
                    {"tokens/s per GPU", "9,944"},
                    {"MFU", "47.1 %"},
                    {"peak memory", "25.5 of 79.1 GiB"}},
      .facts = {{"scenario", "llama-2-7b-4xh100.json"},
                {"calibration", "uncalibrated: datasheet and default constants"},
                {"program", std::string(64, 'a')},
                {"nasty", kNasty}},
      .commands =
          {"twinstep report examples/llama-2-7b-4xh100.json --set strategy='{\"name\": \"zero-1\"}' --out report.html",
           kNasty},
      .warnings = {"uncalibrated: expect errors of 20 % and more", kNasty},
      .sections = {
          {.title = "Scaling",
           .text = "How throughput grows with the number of GPUs.",
           .tables = {},
           .charts = {scaling(), over_names()}},
          {.title = "The step",
           .text = "",
           .tables = {{.title = "Strategies",
                       .headers = {"strategy", "step time", "tokens/s/GPU", "MFU", "exposed", "peak GiB", "fits",
                                   "what it waits for"},
                       .rows = {{"naive", "572.0 ms", "7,160", "33.9 %", "113.8 ms", "121.9", "no",
                                 "memory: it needs 121.9 GiB at head.backward, and has 79.1 GiB"},
                                {"zero-3", "411.9 ms", "9,944", "47.1 %", "3.817 ms", "25.5", "yes", "arithmetic"},
                                {kNasty, "–", "–", "–", "–", "", "", ""}}}},
           .charts = {breakdown(), memory(), timeline(), categories()}},
          {.title = "What if", .text = "", .tables = {}, .charts = {sensitivity(), buckets(), bandwidth()}},
          {.title = kNasty, .text = kNasty, .tables = {}, .charts = {nasty()}}}};
}

}  // namespace twinstep::reports
