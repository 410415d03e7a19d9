#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include <fmt/core.h>

#include "app/arguments.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/nccl_tests_table.hpp"
#include "reports/render/page_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/benchmark.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/engine/collective_run.hpp"
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

/// What the library could choose from at one size: what its tuner believes, what we say, and why something is off.
reports::CollectiveSweep::Choice choice_at(Bench const& bench, Bytes size) {
  auto const question = bench.question_of(size);
  auto const chosen = bench.chooser().choose(question);
  auto const ours = [&](collectives::Candidate const& each) {
    return collectives::time_alone(collectives::fold_as(bench.chooser().request(question, each)), bench.topology());
  };
  auto choice = reports::CollectiveSweep::Choice{.size = size, .reason = bench.chooser().explain(question)};
  for (auto const& row : bench.chooser().table(question)) {
    auto const each = collectives::Candidate{row.algorithm, row.protocol, row.channels};
    auto const is_chosen = row.algorithm == chosen.algorithm && row.protocol == chosen.protocol;
    auto& out = choice.candidates.emplace_back();
    out.way = name_of_choice(each);
    out.remark = is_chosen ? std::string{"chosen"} : std::string{row.off_because};
    if (!row.is_on()) continue;
    out.channels = row.channels;
    out.believed = row.time;
    out.simulated = ours(each);
  }
  if (choice.candidates.empty())
    for (auto const& each : bench.chooser().candidates(question))
      choice.candidates.push_back({name_of_choice(each), each.channels, std::nullopt, ours(each),
                                   each.algorithm == chosen.algorithm ? "chosen" : ""});
  return choice;
}

reports::CollectiveSweep::Row result_row(SizeAnswer const& answer) {
  auto row = reports::CollectiveSweep::Row{.size = answer.size,
                                           .time = to_seconds(answer.time),
                                           .algorithm_bandwidth = answer.rates.algorithm,
                                           .bus_bandwidth = answer.rates.bus,
                                           .algorithm = std::string{name_of(answer.choice.algorithm)},
                                           .protocol = std::string{name_of(answer.choice.protocol)},
                                           .channels = answer.choice.channels,
                                           .is_extrapolated = answer.is_extrapolated,
                                           .messages = answer.run.messages,
                                           .events = answer.run.events};
  if (answer.interval) {
    row.low = to_seconds(answer.interval->first);
    row.high = to_seconds(answer.interval->second);
  }
  for (auto const& link : answer.run.links) row.links.push_back({link.kind, link.bytes, link.utilisation});
  return row;
}

reports::CollectiveSweep result_of(Bench const& bench, std::vector<SizeAnswer> const& answers, bool explains) {
  auto const& cluster = bench.cluster();
  auto result = reports::CollectiveSweep{.collective = std::string{name_of(bench.sweep().kind)},
                                         .cluster = cluster.name,
                                         .ranks = bench.sweep().ranks,
                                         .fidelity = std::string{name_of(bench.sweep().fidelity)},
                                         .library = cluster.library.name,
                                         .library_version = cluster.library.version,
                                         .calibration = cluster.calibration};
  auto before = std::string{};
  for (auto const& answer : answers) {
    result.rows.push_back(result_row(answer));
    if (auto name = name_of_choice(answer.choice); explains && name != before) {
      before = std::move(name);
      result.choices.push_back(choice_at(bench, answer.size));
    }
  }
  return result;
}

std::vector<std::string> lines_of(std::string const& text) {
  auto lines = std::vector<std::string>{};
  auto stream = std::istringstream{text};
  for (auto line = std::string{}; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The page, with its sizes in nccl-tests' columns, so that two tables can be laid side by side.
std::string text_of(Bench const& bench, std::vector<SizeAnswer> const& answers,
                    reports::CollectiveSweep const& result) {
  auto rows = std::vector<reports::CollectiveRow>{};
  for (auto const& answer : answers) rows.push_back(answer_row(answer, bench.sweep()));
  auto const& cluster = bench.cluster();
  constexpr auto kDecides = std::array{"its tuner decides", "the cheapest is taken", "it has one way"};  // by Choice
  auto page = pages::collective_page(result);
  page.title = fmt::format("{}, {} ranks on {} × {} ({})", result.collective, result.ranks,
                           divide_up(result.ranks, cluster.node().gpus), cluster.node().name, result.cluster);
  page.facts.emplace_back("choice", kDecides[static_cast<std::size_t>(cluster.library.choice)]);
  auto& sizes = page.sections.front();
  sizes.title.clear();
  sizes.tables.erase(sizes.tables.begin());
  page.sections.insert(page.sections.begin(),
                       {.code = lines_of(reports::nccl_tests_table(rows) + reports::nccl_tests_average(rows))});
  return page_text(page, standard_output_style(), reports::Charts::kLeftOut);
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
  auto const result = result_of(bench, answers, options.explains);
  print(options.as_json ? collective_json(result) : text_of(bench, answers, result));
  return kDone;
}

}  // namespace twinstep::app
