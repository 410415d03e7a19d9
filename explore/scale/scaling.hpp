#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/answered.hpp"
#include "explore/scale/parameters.hpp"

/// How a step's speed grows with the cluster: curves, the point where they bend, and what bends them.
namespace twinstep::explore {

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

/// A parameter of the machine, and how much the efficiency of a point rises where it is a tenth better.
struct Lever {
  std::string parameter;
  double gain = 0;  ///< over the efficiency as it is
};

/// Why a GPU of a point is worth less than one at the start of its curve.
struct Loss {
  std::string cause;          ///< what grew most: "exposed all_reduce"
  double share = 0;           ///< of what all that grew adds up to
  std::vector<Lever> levers;  ///< what the efficiency depends on, the most important first
};

/// The point where a curve bends, and why.
struct Bend {
  std::size_t point = 0;
  Loss loss;
};

struct ScaleCurve {
  Growth growth{};
  std::size_t place = 0;           ///< of the scenario in its question
  std::vector<ScalePoint> points;  ///< in the order of nodes
  std::string end;                 ///< why it goes no further; empty where it was only not asked to
  std::optional<Bend> bend;        ///< where it was looked for, and is
};

/// The curves of every scenario: on powers of two of nodes up to `most_nodes`, and on the number that the scenario
/// names. A curve begins at the fewest nodes on which the step fits (at the fewest at all where it fits on none), and
/// ends where the plan or the machine does: a batch that does not divide, a fabric that is full. Costs a simulation a
/// point, on all cores.
/// @param least_nodes  of each scenario: fewer are not tried; none given: all are
[[nodiscard]] std::vector<ScaleCurve> scale_curves(Answered const& question, Growth growth, std::int64_t most_nodes,
                                                   std::vector<std::int64_t> const& least_nodes = {});

/// A curve bends where a GPU is first worth less than this of one at its start. Less is lost by every plan.
inline constexpr double kKneeEfficiency = 0.9;
/// The first point below it: the knee. Nothing if none is.
[[nodiscard]] std::optional<std::size_t> knee_of(ScaleCurve const& curve);

/// Compares where GPU time per token goes at the start of the curve and at a later point, and simulates both with each
/// parameter of the machine a tenth better: what helps both alike is no lever. Costs two simulations a parameter.
[[nodiscard]] Loss loss_at(Answered const& question, ScaleCurve const& curve, std::size_t point);

/// Weak and strong scaling, a curve for each scenario of a question.
struct Scaling {
  std::vector<ScaleCurve> weak;
  std::vector<ScaleCurve> strong;
};

/// The curves on up to 1,024 nodes, with their bends. Strong scaling begins where weak scaling does. Costs a simulation
/// a point, and two a parameter for each bend, on all cores.
[[nodiscard]] Scaling scaling_of(Answered const& question);

}  // namespace twinstep::explore
