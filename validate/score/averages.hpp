#pragma once

#include <span>
#include <vector>

namespace twinstep::validate {

/// Both require a value. The median of an even number of values is the mean of the two in the middle.
[[nodiscard]] double mean(std::span<double const> values);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace twinstep::validate
