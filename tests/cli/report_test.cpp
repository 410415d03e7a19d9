#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "reports/table.hpp"
#include "sim/io/document.hpp"
#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

constexpr auto kTwoStrategies = R"([{"name": "zero-3"}, {"name": "ddp"}])";

/// Runs `report` in the folder and reads the page that it wrote.
io::Node page_of(Scratch const& folder, std::vector<std::string> const& arguments) {
  auto words = std::vector<std::string>{"report"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--json", "page.json"});
  auto const outcome = run_twinstep(words, folder.path(""));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.empty());
  return io::parse_file(folder.path("page.json"));
}

/// The page of the small scenario.
io::Node small_page(Scratch const& folder, std::vector<std::string> more = {}) {
  folder.write("small.json", small_scenario());
  more.insert(more.begin(), "small.json");
  return page_of(folder, more);
}

io::Node json_of(Scratch const& folder, std::vector<std::string> const& arguments) {
  auto const outcome = run_twinstep(arguments, folder.path(""));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({arguments.front(), outcome.out});
}

std::vector<io::Node> charts_of(io::Node const& page) {
  auto charts = std::vector<io::Node>{};
  for (auto const& section : page.at("sections").elements())
    if (auto const found = section.find("charts"))
      for (auto const& chart : found->elements()) charts.push_back(chart);
  return charts;
}

io::Node chart(io::Node const& page, std::string_view id) {
  for (auto const& each : charts_of(page))
    if (each.at("id").string() == id) return each;
  FAIL("no chart called " << id);
  return page;
}

/// What one of an axis' unit is in seconds or bytes.
double unit_of(io::Node const& axis) {
  static auto const units = std::map<std::string_view, double>{
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
  return units.at(axis.at("unit").string());
}

std::vector<std::string> section_titles(io::Node const& page) {
  auto titles = std::vector<std::string>{};
  for (auto const& section : page.at("sections").elements()) titles.emplace_back(section.at("title").string());
  return titles;
}

void check_report_refusal(Scratch const& folder, std::vector<std::string> arguments, std::string const& says) {
  arguments.insert(arguments.begin(), "report");
  check_refusal(run_twinstep(arguments, folder.path("")), {says});
}

}  // namespace

TEST_CASE("a scenario's page has a section for each kind of question", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder);
  CHECK(section_titles(page) == std::vector<std::string>{"The answer", "Where the step goes", "Timeline by stream",
                                                         "Memory", "Scaling", "Bus bandwidth of the step's collectives",
                                                         "Sensitivity", "Bucket size"});
  CHECK(page.at("commands").elements().front().string() == "twinstep report small.json --out report.html");
  auto facts = std::set<std::string_view>{};
  for (auto const& fact : page.at("facts").elements()) facts.insert(fact.at("name").string());
  CHECK(facts == std::set<std::string_view>{"scenario", "calibration", "input", "version"});
}

TEST_CASE("a page shows the numbers of simulate --json", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder);
  auto const answer = json_of(folder, {"simulate", "small.json", "--json"});

  auto const times = chart(page, "answer-step-time");
  auto const bar = times.at("series").elements().front().at("points").elements().front();
  CHECK(bar.at("y").number() * unit_of(times.at("y")) == Approx(answer.at("step_time_s").number()).epsilon(1e-12));

  auto const waterfall = chart(page, "memory-peak-1");
  auto const series = waterfall.at("series").elements().front();
  auto const names = waterfall.at("y").at("categories").elements();
  auto const ends = series.at("x_ends").elements();
  auto shown = std::map<std::string, double>{};
  for (std::size_t i = 0; i < names.size(); ++i)
    shown[std::string{names[i].string()}] =
        (ends[i].number() - series.at("points").elements()[i].at("x").number()) * unit_of(waterfall.at("x"));
  CHECK(shown.at("allocated") == Approx(answer.at("peak_memory_bytes").number()));
  CHECK(shown.at("in use") == Approx(answer.at("reserved_memory_bytes").number()));
  for (auto const& [category, bytes] : answer.at("memory").members()) {
    if (bytes.integer() == 0) continue;
    auto name = std::string{category};
    std::ranges::replace(name, '_', ' ');
    INFO(name);
    CHECK(shown.at(name) == Approx(bytes.number()));
  }
}

TEST_CASE("breakdown bars of a strategy add up to its step time", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder, {"--set", std::string{"strategy="} + kTwoStrategies});
  auto const bars = chart(page, "breakdown");
  CHECK(bars.at("is_stacked").boolean());
  auto sums = std::map<double, double>{};
  for (auto const& series : bars.at("series").elements())
    for (auto const& point : series.at("points").elements()) sums[point.at("x").number()] += point.at("y").number();
  auto const runs =
      json_of(folder, {"simulate", "small.json", "--json", "--set", std::string{"strategy="} + kTwoStrategies})
          .at("runs")
          .elements();
  REQUIRE(sums.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(sums[static_cast<double>(i)] * unit_of(bars.at("y")) ==
          Approx(runs[i].at("step_time_s").number()).epsilon(1e-9));
}

TEST_CASE("spans of a timeline lie within the step, in rows that the axis names", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder);
  auto const step = json_of(folder, {"simulate", "small.json", "--json"}).at("step_time_s").number();
  auto const streams = chart(page, "streams-1");
  auto const rows = static_cast<double>(streams.at("y").at("categories").elements().size());
  auto last = 0.0;
  for (auto const& series : streams.at("series").elements()) {
    auto const points = series.at("points").elements();
    auto const ends = series.at("x_ends").elements();
    REQUIRE(points.size() == ends.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].at("x").number() < ends[i].number());
      CHECK(points[i].at("y").number() < rows);
      CHECK_FALSE(points[i].at("note").string().empty());
      last = std::max(last, ends[i].number());
    }
  }
  CHECK(last * unit_of(streams.at("x")) == Approx(step));
}

TEST_CASE("scaling begins at one node with an efficiency of one and passes the cluster asked about", "[cli][report]") {
  // 16 sequences in micro-batches of one: strong scaling ends at 16 GPUs, two nodes of eight.
  auto const folder = Scratch{};
  auto const page = small_page(folder);
  for (auto const* const id : {"scaling-weak-efficiency", "scaling-strong-efficiency"}) {
    INFO(id);
    auto const points = chart(page, id).at("series").elements().front().at("points").elements();
    CHECK(points.front().at("x").number() == 8);
    CHECK(points.front().at("y").number() == 100);
  }
  auto const strong = chart(page, "scaling-strong-speed").at("series").elements().front().at("points").elements();
  CHECK(strong.back().at("x").number() == 16);
  auto const speed = json_of(folder, {"simulate", "small.json", "--json"}).at("tokens_per_s").number();
  CHECK(strong.back().at("y").number() == Approx(speed));
  auto const weak = chart(page, "scaling-weak-speed").at("series").elements().front().at("points").elements();
  CHECK(weak.back().at("x").number() == 8192);
}

TEST_CASE("each bar of the sensitivity is what --set makes of the parameter", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder);
  auto const time = [&](std::vector<std::string> settings) {
    auto arguments = std::vector<std::string>{"simulate", "small.json", "--json"};
    for (auto& setting : settings) arguments.insert(arguments.end(), {"--set", std::move(setting)});
    return json_of(folder, arguments).at("step_time_s").number();
  };
  auto const tornado = chart(page, "sensitivity");
  auto const names = tornado.at("x").at("categories").elements();
  auto const more = tornado.at("series").elements().front().at("points").elements();
  auto const shown = [&](std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].string() == name) return more[i].at("y").number();
    FAIL("no parameter called " << name);
    return 0.0;
  };
  // DGX H100: 3350 GB/s of memory bandwidth; NICs and ports of 400 Gb/s.
  auto const base = time({});
  CHECK(shown("memory bandwidth") ==
        Approx((time({"cluster.gpu.memory_bandwidth=3685 GB/s"}) / base - 1) * 100).margin(1e-3));
  CHECK(shown("NIC rate, with its port") ==
        Approx((time({"cluster.node.nic=440 Gb/s", "cluster.fabric.port=440 Gb/s"}) / base - 1) * 100).margin(1e-3));
  // A launch of 6.6 us in place of 6 us is hidden behind the kernels before it: too little to be drawn, but counted.
  CHECK(time({"cluster.node.host.launch=6.6 us"}) / base - 1 < 5e-4);
  CHECK(std::ranges::none_of(names, [](io::Node const& name) { return name.string() == "launch of a kernel"; }));
  CHECK_THAT(std::string{tornado.at("text").string()}, Catch::Contains("more change it by less than 0.05 %"));
}

TEST_CASE("messages of the step lie on the curve of their collective", "[cli][report]") {
  auto const folder = Scratch{};
  auto const page = small_page(folder, {"--set",
                                        "strategy="
                                        R"({"name": "naive"})"});
  auto const curve = chart(page, "bus-bandwidth-1");
  CHECK_THAT(std::string{curve.at("title").string()}, Catch::StartsWith("all_reduce of bf16, 16 ranks on 2 nodes"));
  CHECK_FALSE(curve.at("x_marks").elements().empty());
  auto const series = curve.at("series").elements();
  REQUIRE(series.size() == 2);
  // The largest gradient is of the vocabulary: 32,000 × 1,024 elements of two bytes.
  CHECK(series[1].at("points").elements().back().at("x").number() == 65'536'000);
}

TEST_CASE("the same question gives the same page, byte for byte", "[cli][report]") {
  auto const folder = Scratch{};
  auto const once = [&](std::string_view name) {
    folder.write("small.json", small_scenario());
    auto const outcome = run_twinstep({"report", "small.json", "--out", std::string{name}}, folder.path(""));
    REQUIRE(outcome.exit_code == 0);
    return read_file(folder.path(name));
  };
  CHECK(once("a.html") == once("b.html"));
  REQUIRE(run_twinstep({"simulate", "small.json", "--report", "c.html"}, folder.path("")).exit_code == 0);
  CHECK(read_file(folder.path("c.html")) == read_file(folder.path("a.html")));
}

TEST_CASE("the command on the page makes the page again", "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("it's small.json", small_scenario());
  auto const arguments = std::vector<std::string>{"report", "it's small.json",
                                                  "--set",  R"(strategy={"name": "zero-3", "recompute": "full"})",
                                                  "--set",  "cluster.node.nic=200 Gb/s"};
  auto const once = page_of(folder, {arguments.begin() + 1, arguments.end()});
  auto const command = std::string{once.at("commands").elements().front().string()};
  CHECK(command == R"(twinstep report 'it'\''s small.json' --set 'strategy={"name": "zero-3", "recompute": "full"}' )"
                   "--set 'cluster.node.nic=200 Gb/s' --out report.html");
  REQUIRE(run_shell(with(command, "twinstep", "TWINSTEP"), folder.path("")).exit_code == 0);
  auto more = arguments;
  more.insert(more.end(), {"--out", "again.html"});
  REQUIRE(run_twinstep(more, folder.path("")).exit_code == 0);
  CHECK(read_file(folder.path("report.html")) == read_file(folder.path("again.html")));
}

TEST_CASE("a page for a terminal keeps to its width, and counts what the model has", "[cli][report]") {
  auto const outcome = run_twinstep({"report", "examples/mlp-10gbe.json"});
  REQUIRE(outcome.exit_code == 0);
  auto lines = std::istringstream{outcome.out};
  for (auto line = std::string{}; std::getline(lines, line);) {
    INFO(line);
    // Commands are whole, to be copied.
    CHECK(
        (reports::display_width(line) <= 80 || line.starts_with("  twinstep report") || line.starts_with("  --set ")));
    CHECK_THAT(line, !Catch::Matches(".*[0-9]e[-+][0-9].*"));
  }
  CHECK_THAT(outcome.out, Catch::Contains("samples/s") && !Catch::Contains("token"));
}

TEST_CASE("--out takes the form that its ending names", "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("bus.json", run_twinstep({"collective", "dgx-h100-ndr", "--json", "-b", "1M", "-e", "1M"}).out);
  for (auto const& [name, beginning] :
       std::vector<std::pair<std::string, std::string>>{{"a.html", "<!doctype html>"},
                                                        {"a.md", "# "},
                                                        {"a.csv", "section,chart,"},
                                                        {"a.json", "{"},
                                                        {"a.txt", "all_reduce of 32 ranks"},
                                                        {"a.htm", "<!doctype html>"},
                                                        {"a", "<!doctype html>"}}) {
    INFO(name);
    REQUIRE(run_twinstep({"report", "bus.json", "--out", name}, folder.path("")).exit_code == 0);
    CHECK_THAT(read_file(folder.path(name)), Catch::StartsWith(beginning));
  }
  CHECK_THAT(run_shell("TWINSTEP report bus.json --out /dev/stdout | cat", folder.path("")).out,
             Catch::StartsWith("<!doctype html>"));
  for (auto const* const name : {"a.xyz", "a.html.gz", "a."})
    check_report_refusal(folder, {"bus.json", "--out", name},
                         "expected one of .html, .htm, .md, .csv, .json, .txt, or none");
}

TEST_CASE("several collectives stand in one chart", "[cli][report]") {
  auto const folder = Scratch{};
  for (auto const* const op : {"all_reduce", "all_gather"})
    folder.write(fmt::format("{}.json", op),
                 run_twinstep({"collective", "dgx-h100-ndr", "--op", op, "--json", "-b", "1M", "-e", "4M"}).out);
  auto const page = page_of(folder, {"all_reduce.json", "all_gather.json"});
  REQUIRE(charts_of(page).size() == 1);
  auto const series = charts_of(page).front().at("series").elements();
  REQUIRE(series.size() == 2);
  CHECK(series[1].at("name").string() == "[2] predicted");
  CHECK(series[1].at("points").elements().size() == 3);
}

TEST_CASE("several results become the sections of one page, in their order", "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("small.json", small_scenario());
  REQUIRE(run_twinstep({"simulate", "small.json", "--trace", "step.trace.json"}, folder.path("")).exit_code == 0);
  folder.write("bus.json", run_twinstep({"collective", "dgx-h100-ndr", "--json", "-b", "1M", "-e", "4M"}).out);
  auto const page = page_of(folder, {"bus.json", "step.trace.json"});
  auto const titles = section_titles(page);
  REQUIRE(titles.size() == 3);
  CHECK(titles[0] == "[1] Bus bandwidth");
  CHECK(titles[1] == "[2] Timeline by stream");
  CHECK_THAT(std::string{page.at("text").string()},
             Catch::StartsWith("[1] all_reduce of 32 ranks on dgx-h100-ndr. [2] "));
  auto ids = std::set<std::string_view>{};
  for (auto const& each : charts_of(page)) CHECK(ids.insert(each.at("id").string()).second);
}

TEST_CASE("the page of a collective has its rows", "[cli][report]") {
  auto const folder = Scratch{};
  auto const text = run_twinstep({"collective", "dgx-h100-ndr", "--json", "-b", "1M", "-e", "4M"}).out;
  folder.write("bus.json", text);
  auto const points =
      chart(page_of(folder, {"bus.json"}), "bus-bandwidth").at("series").elements().front().at("points");
  auto const rows = io::parse({"collective", text}).at("rows").elements();
  REQUIRE(points.elements().size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const point = points.elements()[i];
    CHECK(point.at("x").number() == rows[i].at("size_bytes").number());
    CHECK(point.at("y").number() == rows[i].at("busbw_GBps").number());
    // The interval of the time, as one of the bandwidth: a longer time is less of it.
    CHECK(point.at("y_low").number() * rows[i].at("high_us").number() ==
          Approx(point.at("y").number() * rows[i].at("time_us").number()));
  }
}

TEST_CASE("the page of a validation has every record that was predicted, and errors beside the baseline's",
          "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("validation.json", R"({"what": "2 records", "predictors": [], "findings": ["one is flagged"],
    "families": [{"family": "gpt", "count": 1, "skipped": 1, "mape": 0.25, "worst": 0.25, "rank_correlation": null,
                  "baseline_mape": 0.5}],
    "records": [
      {"id": "a", "family": "gpt", "predicted": 5, "measured": 4, "unit": "tokens/s", "fitted": false, "low": 4,
       "high": 6, "note": ""},
      {"id": "b", "family": "gpt", "predicted": null, "measured": 3, "unit": "tokens/s", "fitted": false,
       "low": null, "high": null, "note": "no such GPU"}]})");
  auto const page = page_of(folder, {"validation.json"});
  auto const series = chart(page, "measured-1").at("series").elements();
  REQUIRE(series.size() == 2);
  CHECK(series[0].at("name").string() == "predicted = measured");
  auto const points = series[1].at("points").elements();
  REQUIRE(points.size() == 1);
  CHECK(points[0].at("x").number() == 4);
  CHECK(points[0].at("y").number() == 5);
  CHECK(points[0].at("y_high").number() == 6);
  auto const errors = chart(page, "errors").at("series").elements();
  CHECK(errors[0].at("points").elements().front().at("y").number() == 25);
  CHECK(errors[1].at("points").elements().front().at("y").number() == 50);
}

TEST_CASE("measured points of a sweep lie over the line that was predicted, with its intervals", "[cli][report]") {
  auto const folder = Scratch{};
  auto const record = [](std::string_view size, std::string_view measured, std::string_view predicted) {
    return fmt::format(R"({{"id": "log", "family": "f", "size_bytes": {}, "predicted": {}, "measured": {}, "unit": "us",
                       "error": 0.25, "fitted": false, "low": 1, "high": 100, "note": ""}})",
                       size, predicted, measured);
  };
  folder.write(
      "validation.json",
      fmt::format(R"({{"what": "1 sweep", "predictors": [], "findings": [], "families": [], "records": [{}, {}]}})",
                  record("1024", "8", "10"), record("2048", "16", "20")));
  auto const sweep = chart(page_of(folder, {"validation.json"}), "sweep-1");
  CHECK(sweep.at("text").string() == "Mean error 25.0 %.");
  auto const series = sweep.at("series").elements();
  REQUIRE(series.size() == 2);
  auto const predicted = series[0].at("points").elements().back();
  auto const measured = series[1].at("points").elements().back();
  CHECK(series[1].at("style").string() == "points");
  CHECK(predicted.at("x").number() == 2048);
  CHECK(predicted.at("y").number() == 20);
  CHECK(predicted.at("y_high").number() == 100);
  CHECK(measured.at("y").number() == 16);
}

TEST_CASE("the page of a plan has time against cost, of the whole job where there is one", "[cli][report]") {
  auto const folder = Scratch{};
  auto const plan = [](std::string_view gpus, std::string_view days, std::string_view amount) {
    return fmt::format(R"({{"cluster": "dgx-h100-ndr", "nodes": 2, "gpus": {}, "strategy": "fsdp2", "options": "",
      "shard_group": 8, "micro_batch": 2, "accumulation": 4, "recompute": "full", "offload": "none",
      "step_time_s": 1.5, "closed_form_s": 1.4, "tokens_per_s": 1000, "mfu": 0.5, "peak_memory_bytes": 1073741824,
      "capacity_bytes": 8589934592, "set": [],
      "job": {{"time_s": {}, "gpu_hours": 100, "cost": {{"amount": {}, "currency": "USD"}}, "energy_kwh": null,
              "goodput": null}}}})",
                       gpus, days, amount);
  };
  auto const two = plan("32", "86400", "900") + ", " + plan("16", "172800", "800");
  folder.write("plan.json", fmt::format(R"({{"model": "llama-2-7b", "goal": {{}}, "ranked_by": "time", "plans": [{}],
    "pareto": [{}], "rejected": [{{"cluster": "dgx-h100-ndr", "gpus": 16, "strategy": "ddp", "count": 3,
    "reason": "too large"}}], "minimum_gpus": [], "verdict": ["Too late."], "warnings": ["mind the batch"],
    "configurations": 9, "simulations": 2}})",
                                        two, two));
  auto const page = page_of(folder, {"plan.json"});
  CHECK_THAT(std::string{page.at("text").string()}, Catch::StartsWith("Too late."));
  CHECK(page.at("warnings").elements().front().string() == "mind the batch");
  auto const pareto = chart(page, "pareto");
  CHECK(pareto.at("x").at("unit").string() == "days");
  CHECK(pareto.at("y").at("unit").string() == "USD");
  auto const points = pareto.at("series").elements().front().at("points").elements();
  REQUIRE(points.size() == 2);
  CHECK(points[1].at("x").number() == 2);
  CHECK(points[1].at("y").number() == 800);
}

TEST_CASE("what has no page is refused in one line that says what has", "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("small.json", small_scenario());
  folder.write("list.json", "[1, 2]");
  folder.write("other.json", R"({"a": 1})");
  folder.write("empty.json", "");
  folder.write("answer.json", run_twinstep({"simulate", "small.json", "--json"}, folder.path("")).out);
  folder.write("cut.sqlite", std::string{"SQLite format 3\0 and then nothing", 33});
  check_report_refusal(folder, {"none.json"}, "none.json: found no such file");
  check_report_refusal(folder, {"list.json"}, "found no object in braces; give a scenario");
  check_report_refusal(folder, {"other.json"}, "found none of the results that have a page; give a scenario");
  check_report_refusal(folder, {"empty.json"}, "empty.json");
  check_report_refusal(folder, {"answer.json"}, "found an answer of simulate; give the scenario itself");
  check_report_refusal(folder, {"cut.sqlite"}, "cut.sqlite");
  folder.write("hole.jsonl", R"({"point": 3, "settings": {}, "status": "ok", "tokens_per_s": null})");
  folder.write("null.json",
               R"({"plans": [{"cluster": null, "gpus": null}], "pareto": [], "warnings": [], "verdict": []})");
  check_report_refusal(folder, {"."}, "directory");
  check_report_refusal(folder, {"hole.jsonl"}, "hole.jsonl:1");
  check_report_refusal(folder, {"null.json"}, "null.json");
  check_report_refusal(folder, {"small.json", "other.json"}, "other.json");
}

TEST_CASE("a scenario may come through a pipe, since no result is read twice", "[cli][report]") {
  auto const folder = Scratch{};
  auto const file = folder.write("small.json", small_scenario());
  auto const piped = run_shell("cat " + file + " | TWINSTEP report /dev/stdin --set network.free=true");
  CHECK(piped.exit_code == 0);
  CHECK_THAT(piped.out, Catch::Contains("/dev/stdin, SHA-256"));
  CHECK_THAT(piped.out, Catch::Contains("Sensitivity"));
}

TEST_CASE("every result is read before the first scenario is simulated", "[cli][report]") {
  auto const folder = Scratch{};
  // At one bit a second a step takes years: that is known only once it is simulated.
  folder.write("slow.json", with(small_scenario(), R"("nodes": 2)", R"("nodes": 2, "node": {"nic": "1 b/s"})"));
  folder.write("wrong.json", with(small_scenario(), R"("micro_batch": 1)", R"("micro_batch": "one")"));
  folder.write("other.json", R"({"a": 1})");
  check_report_refusal(folder, {"slow.json"}, "slow.json: zero-3: ");
  check_report_refusal(folder, {"slow.json", "other.json"}, "other.json");
  check_report_refusal(folder, {"slow.json", "wrong.json"}, "wrong.json");
}

TEST_CASE("settings of what is no scenario are refused", "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("bus.json", run_twinstep({"collective", "dgx-h100-ndr", "--json", "-b", "1M", "-e", "1M"}).out);
  check_report_refusal(folder, {"bus.json", "--set", "cluster.nodes=2"},
                       "--set cluster.nodes=2: bus.json is no scenario");
}

TEST_CASE("a report never replaces a result that it is made of, and is refused before it is computed",
          "[cli][report]") {
  auto const folder = Scratch{};
  folder.write("small.json", small_scenario());
  for (auto const* const option : {"--out", "--markdown", "--csv", "--json"}) {
    check_report_refusal(folder, {"small.json", option, "./small.json"},
                         std::string{option} + " ./small.json: small.json is an input");
    check_report_refusal(folder, {"small.json", option, "no/such/file"}, "found no directory \"no/such\"");
    check_report_refusal(folder, {"small.json", option, ""}, "found an empty name");
  }
  CHECK(read_file(folder.path("small.json")) == small_scenario());
  CHECK(folder.files() == std::vector<std::string>{"small.json"});
}

TEST_CASE("a question whose answer is no still has its page", "[cli][report]") {
  // 16 sequences do not divide into micro-batches of 3 on 16 ranks.
  auto const folder = Scratch{};
  auto const page = small_page(folder, {"--set", "training.micro_batch=3"});
  CHECK_THAT(std::string{page.at("text").string()}, Catch::Contains("No strategy can be laid out"));
  CHECK(section_titles(page) == std::vector<std::string>{"The answer"});
}
