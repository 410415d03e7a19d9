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
  std::string_view name;  ///< as in the profile: "ring_efficiency"
  /// What one would take without any measurement: times in us, rates in GB/s, LL's limit in the tuner's.
  double neutral = 1;
  double doubt = 0.1;   ///< how far the mean over its owners may lie from that, in logarithms
  double spread = 0.1;  ///< how far owners differ from their mean, in logarithms

  void (*set)(hardware::Cluster& cluster, double value) = nullptr;
  /// The profile that owns it in this case ("nvlink4"), and those that it is pooled with ("link"); "" where the case
  /// does not depend on it.
  std::string (*owner)(CollectiveCase const& one) = nullptr;
  std::string (*pool)(CollectiveCase const& one) = nullptr;
  bool has_outliers = false;  ///< one owner may be ten times the others: it does not carry their mean along
};

[[nodiscard]] std::span<Constant const> collective_constants();

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
