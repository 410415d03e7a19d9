#include <optional>
#include <string>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "explore/scale/closer_look.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

using namespace literals;

constexpr auto kSmallestBucket = 1_MiB;
constexpr auto kLargestBucket = 4_GiB;

/// What the strategy calls buckets of `size`, and the value; nothing where it has none. Frameworks count elements of
/// gradients.
std::optional<std::pair<std::string, io::Node>> bucket_of(strategies::Plan const& plan, Bytes size) {
  auto const option = plan.strategy.traits().bucket;
  if (option.key.empty()) return std::nullopt;
  auto const elements = size / size_of(plan.kernels.precision);
  return std::pair{std::string{option.key}, option.counts_elements ? io::value_node(elements)
                                                                   : io::value_node(fmt::format("{} B", size.count()))};
}

/// Nothing where the plan refuses the size.
std::optional<Duration> step_time(Answered const& question, std::size_t place, Bytes size) try {
  auto const [name, value] = *bucket_of(question.scenarios[place].plan, size);
  auto const change = io::change_to(fmt::format("{}.{}", question.strategy_path(place), name), value);
  auto const outcome = run_variation(question.changed(place, {change}), {.replays_allocator = false});
  auto const* run = std::get_if<Run>(&outcome);
  return run == nullptr ? std::nullopt : std::optional{run->summary.step_time};
} catch (InputError const&) {
  return std::nullopt;
}

BucketCurve bucket_curve(Answered const& question, std::size_t place) {
  auto sizes = std::vector<Bytes>{};
  for (auto size = kSmallestBucket; size <= kLargestBucket; size = size * 2)
    if (bucket_of(question.scenarios[place].plan, size)) sizes.push_back(size);
  auto const times = map_indices(sizes.size(), [&](std::size_t i) { return step_time(question, place, sizes[i]); });
  auto curve = BucketCurve{.place = place, .points = {}};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (times[i]) curve.points.push_back({sizes[i], *times[i]});
  return curve;
}

}  // namespace

std::vector<BucketCurve> bucket_curves(Answered const& question) {
  auto curves = std::vector<BucketCurve>{};
  for (std::size_t place = 0; place < question.outcomes.size(); ++place) {
    if (question.run(place) == nullptr) continue;
    auto curve = bucket_curve(question, place);
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace twinstep::explore
