#pragma once

#include <cstdint>
#include <string>

#include "sim/base/enum_names.hpp"

namespace twinstep::hardware {

/// How a number came to be known.
enum class Basis : std::uint8_t {
  kDatasheet,  ///< the vendor states it
  kMeasured,   ///< someone measured it on such a machine
  kFitted,     ///< it makes a model agree with measurements
  kDerived,    ///< arithmetic on other numbers
  kAssumed,    ///< a plausible value that nobody checked
  kScenario    ///< the user's scenario sets it
};

/// A number with the reason to believe it.
template <class T>
struct Sourced {
  T value{};
  Basis basis = Basis::kAssumed;
  std::string source;
  bool operator==(Sourced const&) const = default;
};

/// The reason to believe a count that is stored as a plain integer beside it.
struct Provenance {
  Basis basis = Basis::kAssumed;
  std::string source;
  bool operator==(Provenance const&) const = default;
};

}  // namespace twinstep::hardware

template <>
struct twinstep::EnumNames<twinstep::hardware::Basis> {
  static constexpr std::array<std::string_view, 6> values{"datasheet", "measured", "fitted",
                                                          "derived",   "assumed",  "scenario"};
};
