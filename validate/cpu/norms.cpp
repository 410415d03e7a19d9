#include <cmath>
#include <vector>

#include "sim/program/model_operands.hpp"
#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

using program::Function;

/// A list of tensors as one.
class Parts {
 public:
  explicit Parts(Operands parts) : parts_{parts} {}
  [[nodiscard]] double operator[](std::size_t i) const {
    auto const [part, place] = find(i);
    return part[place];
  }
  void set(std::size_t i, double value) const {
    auto const [part, place] = find(i);
    part.set(place, value);
  }

 private:
  [[nodiscard]] std::pair<Numbers, std::size_t> find(std::size_t i) const {
    auto part = parts_.begin();
    while (i >= part->size()) i -= (part++)->size();
    return {*part, i};
  }
  Operands parts_;
};

/// x̂ = (x - mean) · factor of one row; a layer norm keeps mean and factor, an RMS norm the factor.
struct RowStatistics {
  double mean = 0;
  double factor = 1;
};

program::NormOperands places_of(Function function, Operands operands) {
  auto sizes = std::vector<std::int64_t>{};
  for (auto const& operand : operands) sizes.push_back(static_cast<std::int64_t>(operand.size()));
  return program::norm_operands(function, sizes);
}

RowStatistics statistics_of(Numbers row, double epsilon, bool has_mean) {
  auto const width = static_cast<double>(row.size());
  auto out = RowStatistics{};
  for (std::size_t i = 0; has_mean && i < row.size(); ++i) out.mean += row[i] / width;
  auto variance = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) variance += (row[i] - out.mean) * (row[i] - out.mean) / width;
  out.factor = 1 / std::sqrt(variance + epsilon);
  return out;
}

RowStatistics kept(Numbers statistics, std::size_t row, bool has_mean) {
  if (!has_mean) return {0, statistics[row]};
  return {statistics[2 * row], statistics[2 * row + 1]};
}

}  // namespace

void norm(program::Elementwise const& kernel, Operands operands) {
  auto const [has_bias, first, end] = places_of(kernel.function, operands);
  auto const has_mean = kernel.function == Function::kLayerNorm;
  auto const weight = operands[1];
  auto const out = Parts{operands.subspan(first, end - first)};
  auto const statistics = operands.back();
  auto const width = weight.size();
  for (std::size_t row = 0; row < operands[0].size() / width; ++row) {
    auto const in = operands[0].part(row * width, width);
    auto const [mean, factor] = statistics_of(in, kernel.scalar, has_mean);
    if (has_mean) statistics.set(2 * row, mean);
    statistics.set(has_mean ? 2 * row + 1 : row, factor);
    for (std::size_t i = 0; i < width; ++i)
      out.set(row * width + i, (in[i] - mean) * factor * weight[i] + (has_bias ? operands[2][i] : 0.0));
  }
}

/// With h = gradient · weight: gradient of x = factor · (h - mean(h) - x̂ mean(h x̂)), where an RMS norm has no mean(h).
void norm_backward(program::Elementwise const& kernel, Operands operands) {
  auto const [has_bias, first, end] = places_of(kernel.function, operands);
  auto const has_mean = kernel.function == Function::kLayerNormBackward;
  auto const [input, statistics, weight] = std::array{operands[0], operands[1], operands[2]};
  auto const gradient = Parts{operands.subspan(first, end - first)};
  auto const width = weight.size();
  auto weight_gradient = std::vector<double>(width);
  auto bias_gradient = std::vector<double>(width);
  for (std::size_t row = 0; row < input.size() / width; ++row) {
    auto const [mean, factor] = kept(statistics, row, has_mean);
    auto const normalized = [&, mean = mean, factor = factor](std::size_t i) {
      return (input[row * width + i] - mean) * factor;
    };
    auto mean_h = 0.0;
    auto mean_hx = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      auto const g = gradient[row * width + i];
      auto const h = g * weight[i] / static_cast<double>(width);
      if (has_mean) mean_h += h;
      mean_hx += h * normalized(i);
      weight_gradient[i] += g * normalized(i);
      bias_gradient[i] += g;
    }
    for (std::size_t i = 0; i < width; ++i) {
      auto const h = gradient[row * width + i] * weight[i];
      operands[end].set(row * width + i, factor * (h - mean_h - normalized(i) * mean_hx));
    }
  }
  auto const give = [&](Numbers to, std::vector<double> const& sums) {
    for (std::size_t i = 0; i < width; ++i) to.set(i, kernel.accumulate ? to[i] + sums[i] : sums[i]);
  };
  give(operands[end + 1], weight_gradient);
  if (has_bias) give(operands[end + 2], bias_gradient);
}

}  // namespace twinstep::cpu
