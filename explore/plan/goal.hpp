#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "reports/job.hpp"
#include "sim/hardware/cluster.hpp"

namespace twinstep::explore::plan {

/// What is said of a GPU, or of a whole node.
template <class T>
struct OfEach {
  T value{};
  bool is_of_node = false;
};

/// The job that is planned for, on whatever nodes.
struct Goal {
  std::optional<double> tokens;  ///< to train on
  std::optional<Seconds> deadline;
  std::optional<reports::Money> budget;
  std::optional<double> most_energy_kwh;
  std::optional<OfEach<double>> watts;
  double pue = 1;                                   ///< power of the facility over that of its nodes
  std::optional<OfEach<Seconds>> between_failures;  ///< the profile of the GPU says it without
  /// What a checkpoint stops training for, or the rate of the storage.
  std::optional<std::variant<Seconds, BytesPerSecond>> checkpoint;
  std::optional<Seconds> restart;
  std::optional<double> critical_batch;  ///< tokens
};

/// What an hour of it costs.
struct HourlyPrice {
  OfEach<reports::Money> price;
  std::string date;  ///< since when, "2026-11"
};

/// The goal on such nodes; how often they fail, their profile may say. Throws InputError where nobody says it.
[[nodiscard]] reports::Goal goal_on(Goal const& goal, hardware::Node const& node);
[[nodiscard]] reports::Price price_on(HourlyPrice const& price, hardware::Node const& node);

}  // namespace twinstep::explore::plan
