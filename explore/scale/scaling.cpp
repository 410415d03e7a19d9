#include "explore/scale/scaling.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <variant>

#include "explore/ask/parallel.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

using reports::Summary;

constexpr std::size_t kShownLevers = 3;
constexpr std::int64_t kMostNodes = 1024;
/// What gains less is not worth naming.
constexpr double kLeastGain = 0.001;

/// Powers of two up to `most`, and the number that the scenario has.
std::vector<std::int64_t> node_counts(std::int64_t given, std::int64_t most) {
  auto counts = std::set<std::int64_t>{given};
  for (auto nodes = std::int64_t{1}; nodes <= most; nodes *= 2) counts.insert(nodes);
  return {counts.begin(), counts.end()};
}

/// One place of a curve to be simulated.
struct Job {
  std::size_t place = 0;
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1;
};

/// The scenario of a job. Throws InputError where the machine ends before.
Scenario scenario_of(Answered const& question, Job const& job) {
  auto const change = [](std::string path, std::int64_t number) {
    return io::change_to(std::move(path), io::value_node(number));
  };
  return question.changed(job.place,
                          {change("cluster.nodes", job.nodes), change("training.global_batch", job.global_batch),
                           change(question.strategy_path(job.place) + ".ranks", job.gpus)});
}

Job job_of(Answered const& question, std::size_t place, Growth growth, std::int64_t nodes) {
  auto const& scenario = question.scenarios[place];
  auto const gpus = nodes * scenario.cluster->node().gpus;
  auto const& plan = scenario.plan;
  // Whole batches: what does not divide as given has no curve.
  auto const batch =
      growth == Growth::kStrong ? plan.batch.global_batch : plan.batch.global_batch * gpus / plan.parallel.world();
  return {place, nodes, gpus, batch};
}

/// The point, or why there is none.
using Simulated = std::variant<ScalePoint, std::string>;

Simulated simulate(Answered const& question, Job const& job) try {
  auto outcome = run_variation(scenario_of(question, job));
  if (auto const* obstacle = std::get_if<reports::Infeasible>(&outcome)) return obstacle->reason;
  return ScalePoint{job.nodes, job.gpus, job.global_batch, std::move(std::get<Run>(outcome).summary)};
} catch (InputError const& error) {
  return std::string{error.what()};
}

/// Begins at the first point that fits, if any does, and measures all by it.
void begin_where_it_fits(ScaleCurve& curve) {
  auto const first = std::ranges::find_if(curve.points, [](ScalePoint const& point) { return point.summary.fits; });
  if (first != curve.points.end()) curve.points.erase(curve.points.begin(), first);
  for (auto& point : curve.points)
    point.efficiency =
        point.summary.token_rate_per_gpu.count() / curve.points.front().summary.token_rate_per_gpu.count();
}

/// Leaves out what cannot be before the first point, and ends at the first obstacle after it.
ScaleCurve curve_of(Growth growth, std::size_t place, std::span<Simulated> simulated) {
  auto curve = ScaleCurve{.growth = growth, .place = place};
  for (auto& each : simulated) {
    if (auto* reason = std::get_if<std::string>(&each)) {
      curve.end = std::move(*reason);
      if (!curve.points.empty()) break;
    } else {
      curve.end.clear();
      curve.points.push_back(std::move(std::get<ScalePoint>(each)));
    }
  }
  begin_where_it_fits(curve);
  return curve;
}

/// GPU seconds per token, by what they are spent on.
std::map<std::string, double> costs_of(ScalePoint const& point) {
  auto costs = std::map<std::string, double>{};
  for (auto const& entry : point.summary.breakdown)
    costs[reports::in_words(entry)] +=
        to_seconds(entry.time).count() * static_cast<double>(point.gpus) / static_cast<double>(point.summary.tokens);
  return costs;
}

/// What grew most from `from` to `to`, and its share of all that grew.
std::pair<std::string, double> largest_growth(ScalePoint const& from, ScalePoint const& to) {
  auto const before = costs_of(from);
  auto cause = std::pair{std::string{}, 0.0};
  auto all = 0.0;
  for (auto const& [name, cost] : costs_of(to)) {
    auto const found = before.find(name);
    auto const growth = cost - (found == before.end() ? 0.0 : found->second);
    if (growth <= 0) continue;
    all += growth;
    if (growth > cause.second) cause = {name, growth};
  }
  if (all > 0) cause.second /= all;
  return cause;
}

/// The job that gave a point.
Job job_of(ScaleCurve const& curve, std::size_t point) {
  auto const& at = curve.points[point];
  return {curve.place, at.nodes, at.gpus, at.global_batch};
}

/// The efficiency of a point is the time of the start over its own, so that a parameter which takes the shares s of the
/// start and p of the point away multiplies it with (1 - s) / (1 - p).
std::vector<Lever> levers_at(Answered const& question, ScaleCurve const& curve, std::size_t point) {
  auto at_start = std::map<std::string, double>{};
  for (auto const& saving : savings_of(scenario_of(question, job_of(curve, 0))))
    at_start[saving.parameter] = saving.share;
  auto levers = std::vector<Lever>{};
  for (auto const& saving : savings_of(scenario_of(question, job_of(curve, point)))) {
    auto const gain = (1 - at_start[saving.parameter]) / (1 - saving.share) - 1;
    if (gain > kLeastGain) levers.push_back({saving.parameter, gain});
  }
  std::ranges::stable_sort(levers, std::greater{}, &Lever::gain);
  if (levers.size() > kShownLevers) levers.resize(kShownLevers);
  return levers;
}

/// Where curves of weak scaling begin. A step that does not fit on fewer nodes fits there no better when it has more
/// micro-batches, which for a large global batch are many and take long.
std::vector<std::int64_t> first_nodes(std::vector<ScaleCurve> const& weak) {
  auto nodes = std::vector<std::int64_t>{};
  for (auto const& curve : weak) nodes.push_back(curve.points.empty() ? 1 : curve.points.front().nodes);
  return nodes;
}

void find_bends(Answered const& question, std::vector<ScaleCurve>& curves) {
  for_each_index(curves.size(), [&](std::size_t i) {
    if (auto const knee = knee_of(curves[i])) curves[i].bend = Bend{*knee, loss_at(question, curves[i], *knee)};
  });
}

}  // namespace

std::vector<ScaleCurve> scale_curves(Answered const& question, Growth growth, std::int64_t most_nodes,
                                     std::vector<std::int64_t> const& least_nodes) {
  auto jobs = std::vector<Job>{};
  auto begins = std::vector<std::size_t>{};  // of the jobs of each scenario
  for (std::size_t place = 0; place < question.scenarios.size(); ++place) {
    begins.push_back(jobs.size());
    for (auto const nodes : node_counts(question.scenarios[place].cluster->nodes(), most_nodes))
      if (least_nodes.empty() || nodes >= least_nodes[place]) jobs.push_back(job_of(question, place, growth, nodes));
  }
  begins.push_back(jobs.size());
  auto simulated = map_indices(jobs.size(), [&](std::size_t i) { return simulate(question, jobs[i]); });
  auto curves = std::vector<ScaleCurve>{};
  for (std::size_t place = 0; place < question.scenarios.size(); ++place)
    curves.push_back(
        curve_of(growth, place, std::span{simulated}.subspan(begins[place], begins[place + 1] - begins[place])));
  return curves;
}

std::optional<std::size_t> knee_of(ScaleCurve const& curve) {
  auto const knee =
      std::ranges::find_if(curve.points, [](auto const& point) { return point.efficiency < kKneeEfficiency; });
  if (knee == curve.points.end()) return std::nullopt;
  return static_cast<std::size_t>(knee - curve.points.begin());
}

Loss loss_at(Answered const& question, ScaleCurve const& curve, std::size_t point) {
  auto loss = Loss{};
  std::tie(loss.cause, loss.share) = largest_growth(curve.points.front(), curve.points[point]);
  loss.levers = levers_at(question, curve, point);
  return loss;
}

Scaling scaling_of(Answered const& question) {
  auto scaling = Scaling{};
  scaling.weak = scale_curves(question, Growth::kWeak, kMostNodes);
  find_bends(question, scaling.weak);
  scaling.strong = scale_curves(question, Growth::kStrong, kMostNodes, first_nodes(scaling.weak));
  find_bends(question, scaling.strong);
  return scaling;
}

}  // namespace twinstep::explore
