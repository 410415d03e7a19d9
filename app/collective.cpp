#include <algorithm>
#include <array>
#include <optional>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/machine.hpp"
#include "app/output.hpp"
#include "app/sizes.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/nccl_tests_table.hpp"
#include "reports/table.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/benchmark.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/engine/collective_run.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/program/bus_bandwidth.hpp"

namespace twinstep::app {
namespace {

/// A word of the command line. Throws InputError with the nearest that is known.
template <class Enum>
Enum word(std::string_view option, std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (auto const found = find_enum<Enum>(text)) return *found;
  throw InputError{
      fmt::format("{} {}: found no such word; {}", option, one_line(text), suggest_name(text, all_names<Enum>()))};
}

/// What the command line asks, checked.
struct AskedSweep {
  CollectiveKind kind{};
  std::int64_t ranks = 1;
  std::vector<Bytes> sizes;
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kFp32;
  collectives::Forced forced;
  engine::Fidelity fidelity = engine::Fidelity::kFolded;
  hardware::Launcher launcher = hardware::Launcher::kProcessPerGpu;
};

/// From the smallest size to the largest, each `factor` times the one before; whole elements, one for each rank where
/// ranks hold parts, as nccl-tests rounds them.
std::vector<Bytes> sizes_of(CollectiveOptions const& options, AskedSweep const& sweep) {
  auto const [smallest, largest] = read_sizes(options.smallest, options.largest);
  auto const has_parts = has_shares(sweep.kind);
  auto const unit = size_of(sweep.type) * (has_parts ? sweep.ranks : 1);
  auto sizes = std::vector<Bytes>{};
  for (auto size = smallest; size <= largest; size = size * options.factor) {
    auto const whole = unit * (size / unit);
    if (whole >= unit && (sizes.empty() || whole > sizes.back())) sizes.push_back(whole);
  }
  if (sizes.empty())
    throw InputError{fmt::format("-e {}: found less than one element{}, expected {} at least; raise it",
                                 options.largest, has_parts ? " for each rank" : "", reports::traffic_text(unit))};
  return sizes;
}

AskedSweep sweep_of(CollectiveOptions const& options, hardware::Cluster const& cluster) {
  auto sweep = AskedSweep{};
  sweep.kind = word<CollectiveKind>("--op", options.op);
  sweep.ranks = options.ranks.value_or(cluster.gpus());
  if (sweep.ranks < 2 || sweep.ranks > cluster.gpus())
    throw InputError{
        fmt::format("--ranks {}: found {} GPUs in {} nodes of {}, expected 2 to {} ranks; change it, or add "
                    "--set cluster.nodes=N",
                    sweep.ranks, cluster.gpus(), cluster.nodes(), cluster.name, cluster.gpus())};
  sweep.reduction = word<program::Reduction>("--redop", options.reduction);
  sweep.type = word<DataType>("--dtype", options.type);
  if (options.algorithm) sweep.forced.algorithm = word<collectives::Algorithm>("--algorithm", *options.algorithm);
  if (options.protocol) sweep.forced.protocol = word<collectives::Protocol>("--protocol", *options.protocol);
  if (sweep.forced.algorithm) collectives::require_available(sweep.kind, *sweep.forced.algorithm);
  sweep.fidelity = word<engine::Fidelity>("--fidelity", options.fidelity);
  sweep.launcher = word<hardware::Launcher>("--launcher", options.launcher);
  sweep.sizes = sizes_of(options, sweep);
  return sweep;
}

/// One size, answered.
struct SizeAnswer {
  Bytes size;
  collectives::Candidate choice;
  Duration time;
  program::CollectiveRates rates;
  engine::CollectiveResult run;
  std::optional<std::pair<Duration, Duration>> interval;
  bool is_extrapolated = false;  ///< beyond what a calibrated cluster was measured on
};

/// The machine, the communicator and the sweep on it.
class Bench {
 public:
  Bench(hardware::Cluster cluster, CollectiveOptions const& options)
      : cluster_{std::move(cluster)},
        sweep_{sweep_of(options, cluster_)},
        topology_{cluster_},
        layout_{collectives::layout_of(sweep_.ranks, cluster_.node().gpus)},
        chooser_{layout_, cluster_, topology_} {}

  [[nodiscard]] SizeAnswer answer(Bytes size) const try {
    auto const question = question_of(size);
    auto const choice = chooser_.choose(question);
    auto run = engine::run_collective(chooser_.request(question, choice), layout_, sweep_.fidelity);
    auto const swept = collectives::Sweep{sweep_.kind, sweep_.ranks, layout_.nodes()};
    auto const how = collectives::BenchmarkRun{sweep_.launcher, sweep_.ranks, layout_.most_ranks_per_node()};
    auto const time = collectives::benchmark_time(collectives::host_time(sweep_.kind, how, cluster_.library), run.time);
    auto const& library = cluster_.library;
    return {size,
            choice,
            time,
            program::collective_rates(sweep_.kind, sweep_.ranks, size, time),
            std::move(run),
            collectives::interval_of(time, swept, size, library),
            !library.calibrations.empty() && collectives::calibration_at(library, swept, size) == nullptr};
  } catch (BeyondRange const& error) {
    throw InputError{fmt::format("{} of {}: {}", name_of(sweep_.kind), reports::traffic_text(size), error.what())};
  }

  [[nodiscard]] collectives::Question question_of(Bytes size) const {
    return {sweep_.kind, size, sweep_.reduction, sweep_.type, sweep_.forced};
  }
  [[nodiscard]] AskedSweep const& sweep() const { return sweep_; }
  [[nodiscard]] hardware::Cluster const& cluster() const { return cluster_; }
  [[nodiscard]] collectives::Chooser const& chooser() const { return chooser_; }
  [[nodiscard]] topology::Topology const& topology() const { return topology_; }

 private:
  hardware::Cluster cluster_;
  AskedSweep sweep_;
  topology::Topology topology_;
  collectives::Layout layout_;
  collectives::Chooser chooser_;
};

std::string name_of_choice(collectives::Candidate const& choice) {
  return fmt::format("{}/{}", name_of(choice.algorithm), name_of(choice.protocol));
}

reports::CollectiveRow answer_row(SizeAnswer const& answer, AskedSweep const& sweep) {
  auto row = reports::CollectiveRow{};
  row.size = answer.size;
  row.count = answer.size / size_of(sweep.type);
  row.type = sweep.type == DataType::kFp32 ? "float" : std::string{name_of(sweep.type)};
  if (reduces(sweep.kind)) row.reduction = name_of(sweep.reduction);
  if (has_root(sweep.kind)) row.root = 0;
  row.out_of_place = {answer.time, answer.rates.algorithm, answer.rates.bus, std::nullopt};
  row.remark = fmt::format("{} {}ch", name_of_choice(answer.choice), answer.choice.channels);
  return row;
}

/// The busiest link of each kind at the largest size.
std::string links_text(SizeAnswer const& answer) {
  auto table = reports::Table{{{"busiest link", reports::Align::kLeft}, {"bytes"}, {"busy"}}};
  for (auto const& link : answer.run.links)
    table.add_row({link.kind, reports::traffic_text(link.bytes), reports::percent_text(link.utilisation)});
  return table.render(standard_output_style());
}

/// The candidates at one size: what the library's tuner believes, what we say, and why something is off.
std::string candidates_text(Bench const& bench, Bytes size) {
  auto const question = bench.question_of(size);
  auto table = reports::Table{{{"algorithm", reports::Align::kLeft},
                               {"channels"},
                               {"tuner says"},
                               {"simulated"},
                               {"", reports::Align::kLeft, true}}};
  auto const chosen = bench.chooser().choose(question);
  auto const ours = [&](collectives::Candidate const& each) {
    return reports::time_text(
        collectives::time_alone(collectives::fold_as(bench.chooser().request(question, each)), bench.topology()));
  };
  auto const rows = bench.chooser().table(question);
  for (auto const& row : rows) {
    auto const each = collectives::Candidate{row.algorithm, row.protocol, row.channels};
    auto const is_chosen = row.algorithm == chosen.algorithm && row.protocol == chosen.protocol;
    auto const none = std::string{reports::kNoValue};
    table.add_row({name_of_choice(each), row.is_on() ? std::to_string(row.channels) : none,
                   row.is_on() ? reports::time_text(row.time) : none, row.is_on() ? ours(each) : none,
                   is_chosen ? std::string{"chosen"} : std::string{row.off_because}});
  }
  if (rows.empty())
    for (auto const& each : bench.chooser().candidates(question))
      table.add_row({name_of_choice(each), std::to_string(each.channels), std::string{reports::kNoValue}, ours(each),
                     each.algorithm == chosen.algorithm ? std::string{"chosen"} : std::string{}});
  return table.render(standard_output_style());
}

/// Whenever the choice changes along the sweep: its table, and a sentence why.
std::string explanation(Bench const& bench, std::vector<SizeAnswer> const& answers) {
  auto text = std::string{};
  auto before = std::string{};
  for (auto const& answer : answers) {
    auto const name = name_of_choice(answer.choice);
    if (name == before) continue;
    before = name;
    text += fmt::format(
        "\nAt {}:\n{}{}", reports::memory_text(answer.size), candidates_text(bench, answer.size),
        reports::wrapped(bench.chooser().explain(bench.question_of(answer.size)) + ".", "", standard_output_style()));
  }
  return text;
}

std::string heading(Bench const& bench) {
  auto const& cluster = bench.cluster();
  auto const& library = cluster.library;
  constexpr auto kDecides = std::array{"its tuner decides", "the cheapest is taken", "it has one way"};  // by Choice
  return fmt::format(
      "# {}, {} ranks on {} × {} ({}), {} fidelity\n# library {}{}: {}\n# {}\n", name_of(bench.sweep().kind),
      bench.sweep().ranks, divide_up(bench.sweep().ranks, cluster.node().gpus), cluster.node().name, cluster.name,
      name_of(bench.sweep().fidelity), library.name, library.version.empty() ? "" : " " + library.version,
      kDecides[static_cast<std::size_t>(library.choice)], cluster.calibration);
}

/// Of a calibrated cluster: how many of the answers no measurement vouches for.
std::string extrapolation_text(std::vector<SizeAnswer> const& answers) {
  auto const beyond = std::ranges::count_if(answers, &SizeAnswer::is_extrapolated);
  if (beyond == 0) return {};
  return "\n" + reports::wrapped(fmt::format("{} of {} sizes are extrapolated: beyond the sweeps, ranks or sizes that "
                                             "the cluster was calibrated on.",
                                             beyond, answers.size()),
                                 "", standard_output_style());
}

std::string text_of(Bench const& bench, std::vector<SizeAnswer> const& answers, bool explains) {
  auto rows = std::vector<reports::CollectiveRow>{};
  for (auto const& answer : answers) rows.push_back(answer_row(answer, bench.sweep()));
  auto text = heading(bench) + reports::nccl_tests_table(rows) + reports::nccl_tests_average(rows);
  auto const& last = answers.back();
  text += fmt::format("\nAt {}:\n{}", reports::memory_text(last.size), links_text(last));
  if (last.run.messages > 0)
    text += fmt::format("{} messages, {} events\n", reports::count_text(static_cast<double>(last.run.messages)),
                        reports::count_text(static_cast<double>(last.run.events)));
  text += extrapolation_text(answers);
  return explains ? text + explanation(bench, answers) : text;
}

void write_row(io::JsonWriter& json, SizeAnswer const& answer) {
  auto const microseconds = [](Duration time) { return to_seconds(time).count() * 1e6; };
  json.begin_object();
  json.member("size_bytes", answer.size);
  json.member("time_us", microseconds(answer.time));
  json.member("algbw_GBps", answer.rates.algorithm.count() / 1e9);
  json.member("busbw_GBps", answer.rates.bus.count() / 1e9);
  json.member("algorithm", name_of(answer.choice.algorithm));
  json.member("protocol", name_of(answer.choice.protocol));
  json.member("channels", answer.choice.channels);
  json.member("low_us", answer.interval ? std::optional{microseconds(answer.interval->first)} : std::nullopt);
  json.member("high_us", answer.interval ? std::optional{microseconds(answer.interval->second)} : std::nullopt);
  json.member("extrapolated", answer.is_extrapolated);
  json.member("messages", answer.run.messages);
  json.member("events", answer.run.events);
  json.key("links");
  json.begin_array();
  for (auto const& link : answer.run.links) {
    json.begin_object();
    json.member("kind", link.kind);
    json.member("bytes", link.bytes);
    json.member("utilisation", link.utilisation);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

std::string json_of(Bench const& bench, std::vector<SizeAnswer> const& answers, bool explains) {
  auto json = io::JsonWriter{};
  json.begin_object();
  json.member("collective", name_of(bench.sweep().kind));
  json.member("cluster", bench.cluster().name);
  json.member("ranks", bench.sweep().ranks);
  json.member("fidelity", name_of(bench.sweep().fidelity));
  json.member("library", bench.cluster().library.name);
  json.member("library_version", bench.cluster().library.version);
  json.member("calibration", bench.cluster().calibration);
  json.key("rows");
  json.begin_array();
  for (auto const& answer : answers) write_row(json, answer);
  json.end_array();
  if (explains) json.member("explanation", bench.chooser().explain(bench.question_of(answers.back().size)));
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

int collective(CollectiveOptions const& options) {
  auto const bench = Bench{read_machine(options.cluster, options.settings), options};
  for (auto const& name : bench.chooser().environment().ignored)
    warn(fmt::format("library.environment.{} changes nothing here", name));
  if (bench.sweep().fidelity == engine::Fidelity::kExact && !bench.cluster().library.calibrations.empty())
    warn("--fidelity exact sends messages at what the constants say, without the profile's corrections by size");
  auto answers = std::vector<SizeAnswer>{};
  for (auto const size : bench.sweep().sizes) answers.push_back(bench.answer(size));
  print(options.as_json ? json_of(bench, answers, options.explains) : text_of(bench, answers, options.explains));
  return kDone;
}

}  // namespace twinstep::app
