#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/parameters.hpp"
#include "app/report/question.hpp"

/// How a step's speed grows with the cluster: curves, the point where they bend, and what bends them.
namespace twinstep::app {

enum class Growth : std::uint8_t {
  kWeak,   ///< the batch of each GPU stays, the global batch grows
  kStrong  ///< the global batch stays
};

/// A step on so many whole nodes.
struct ScalePoint {
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1;
  reports::Summary summary;
  double efficiency = 1;  ///< tokens a second and GPU over those of the first point
};

struct ScaleCurve {
  Growth growth{};
  std::size_t place = 0;           ///< of the scenario in its question
  std::vector<ScalePoint> points;  ///< in the order of nodes
  std::string end;                 ///< why it goes no further; empty where it was only not asked to
};

/// The curves of every scenario: on powers of two of nodes up to `most_nodes`, and on the number that the scenario
/// names. A curve ends where the plan or the machine does: a batch that does not divide, a fabric that is full. Costs a
/// simulation a point, on all cores.
[[nodiscard]] std::vector<ScaleCurve> scale_curves(Question const& question, Growth growth, std::int64_t most_nodes);

/// Why GPUs of a point are worth less than those at the start of its curve.
struct Loss {
  std::string cause;                             ///< what grew most: "exposed all_reduce"
  double share = 0;                              ///< of what all that grew adds up to
  std::optional<reports::LinkUse> busiest_link;  ///< of the point
  std::vector<Saving> savings;                   ///< what would help most at the point
};

/// The first point below `kKneeEfficiency` of the start; nothing if none is.
inline constexpr double kKneeEfficiency = 0.9;
[[nodiscard]] std::optional<std::size_t> knee_of(ScaleCurve const& curve);

/// Compares where GPU time per token goes at the start of the curve and at a later point, and simulates the point with
/// each parameter of its machine a tenth better. Requires that something was lost.
[[nodiscard]] Loss loss_at(Question const& question, ScaleCurve const& curve, std::size_t point);

}  // namespace twinstep::app
