#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/score/collective_case.hpp"

/// The constants of collective costs that are fitted: members of the profiles of links, transports and libraries.
namespace twinstep::validate {

/// A member that profiles of one kind have in common, such as the ring efficiency of links.
struct Constant {
  std::string_view path;  ///< in a cluster's profile: "node.link.ring_efficiency"
  /// What one would take without any measurement: times in us, rates in GB/s, LL's limit in the tuner's.
  double neutral = 1;
  double doubt = 0.1;   ///< how far the mean over its owners may lie from that, in logarithms
  double spread = 0.1;  ///< how far owners differ from their mean, in logarithms

  /// The profile that owns it in this case ("nvlink4"), and those that it is pooled with ("link"); "" where the case
  /// does not depend on it.
  std::string (*owner)(CollectiveCase const& one) = nullptr;
  std::string (*pool)(CollectiveCase const& one) = nullptr;
  double start = 0;           ///< where the fit of one system begins; 0 for what the profile has
  bool has_outliers = false;  ///< one owner may be ten times the others: it does not carry their mean along
  void (*set_otherwise)(hardware::Cluster& cluster, double value) = nullptr;  ///< in another unit than the profile's

  /// Nothing where the cluster has no such number.
  void set(hardware::Cluster& cluster, double value) const;
  /// In the unit of hw_profiles::number_at, also where another is fitted; 0 where the cluster has no such number.
  [[nodiscard]] double get(hardware::Cluster const& cluster) const;
};

/// Whether a constant is an efficiency, which cannot exceed 1.
[[nodiscard]] bool is_efficiency(Constant const& constant);

/// Those that systems have in common.
[[nodiscard]] std::span<Constant const> collective_constants();
/// All that one system can be calibrated by: a floor of its own too, the time before every collective.
[[nodiscard]] std::vector<Constant const*> system_constants();

/// Where the efficiency of NICs stands in a cluster's profile.
inline constexpr std::string_view kNicEfficiency = "fabric.transport.efficiency";

/// The value of one constant of one profile, or the mean of a pool.
struct FittedConstant {
  Constant const* constant = nullptr;
  std::string owner;  ///< the profile, or the pool
  bool is_mean = false;
  double value = 0;
};

/// Fits the constants to the measured points of `cases`, each system counting once, and each range of sizes in a record
/// alike. Starts from the neutral values; owners of one pool lend each other what they have in common. Leaves the
/// cases with the fitted values.
[[nodiscard]] std::vector<FittedConstant> fit_constants(std::span<CollectiveCase*> cases);

/// Gives a case the fitted values. What was fitted for no owner of the case's pool takes the neutral value; what was
/// fitted for others of the pool only takes their mean.
void apply_constants(std::span<FittedConstant const> fitted, CollectiveCase& one);

}  // namespace twinstep::validate
