#pragma once

#include <optional>
#include <string_view>

#include "sim/hardware/cluster.hpp"

/// Numbers of a machine by their path in its profile, as sensitivity and calibration name what they change:
/// "node.nic", "fabric.levels.0.oversubscription", "library.launchers.python.fixed". A "*" is every element on the way,
/// a path that ends early all numbers below; "gpu" is short for "node.gpu", as in scenarios. Paths are those of a
/// cluster's profile, also where its node stands alone.
namespace twinstep::hw_profiles {

/// A number as fits and people see it.
struct NumberAt {
  double value = 0;       ///< in `unit`
  std::string_view unit;  ///< "us", "GB/s", "KiB", "FLOP/s"; "" for a plain number
  /// Whether more of it makes steps faster: a rate, a size or what fraction of a peak is reached. Otherwise it is a
  /// cost: a time or a factor.
  bool more_helps = false;
};

/// The first number at `path`; nothing where the machine has none.
[[nodiscard]] std::optional<NumberAt> number_at(hardware::Cluster const& cluster, std::string_view path);
[[nodiscard]] std::optional<NumberAt> number_at(hardware::Node const& node, std::string_view path);

/// Gives all numbers at `path` this value, in the unit that `number_at` says.
void set_numbers(hardware::Cluster& cluster, std::string_view path, double value);
void set_numbers(hardware::Node& node, std::string_view path, double value);

/// Times this factor; times round to whole picoseconds.
void scale_numbers(hardware::Cluster& cluster, std::string_view path, double factor);

}  // namespace twinstep::hw_profiles
