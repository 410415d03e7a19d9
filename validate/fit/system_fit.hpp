#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "validate/fit/collective_constants.hpp"

namespace twinstep::validate {

/// A constant of one cluster as its own measurements have it.
struct SystemConstant {
  Constant const* constant = nullptr;
  double value = 0;         ///< as Constant::set takes it
  double before = 0;        ///< what the profile has, likewise
  double spread = 0;        ///< a standard deviation, in logarithms
  std::int64_t points = 0;  ///< measured points that change with it
  std::string left_out;     ///< why it stays as the profile has it; "" where it was fitted
};

/// Fits the constants of one cluster to the records of `cases`, which all ran on it. Each starts from what the profile
/// has and is held near it as closely as clusters of its kind resemble each other, so that five points fit two
/// constants. A constant to which the measurements leave more than six tenths of that doubt stays as it was. Gives
/// every constant that the profile has and on which a case depends; leaves the cases with what was fitted.
///
/// Pairs with one GPU a node say nothing about the efficiency of NICs that all GPUs of a node share: it is not fitted
/// where no other record leaves a node.
[[nodiscard]] std::vector<SystemConstant> fit_system(std::span<CollectiveCase*> cases);

/// Sets what was fitted.
void apply_calibration(std::span<SystemConstant const> fitted, hardware::Cluster& cluster);

}  // namespace twinstep::validate
