#include <algorithm>
#include <array>
#include <cmath>

#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

/// Where the target of row `row` lies among the numbers of all rows, or nowhere.
std::size_t place_of_target(Numbers targets, std::size_t row, std::size_t width) {
  auto const target = targets[row];
  if (target < 0 || target >= static_cast<double>(width)) return static_cast<std::size_t>(-1);
  return row * width + static_cast<std::size_t>(target);
}

double maximum(Numbers row) {
  auto largest = row[0];
  for (std::size_t i = 0; i < row.size(); ++i) largest = std::max(largest, row[i]);
  return largest;
}

/// log Σ exp of a row.
double log_sum_exp(Numbers row) {
  auto const largest = maximum(row);
  auto sum = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += std::exp(row[i] - largest);
  return largest + std::log(sum);
}

}  // namespace

void cross_entropy(Operands operands) {
  auto const logits = operands[0];
  auto const width = logits.size() / operands[1].size();
  for (std::size_t begin = 0; begin < logits.size(); begin += width) {
    auto const sum = log_sum_exp(logits.part(begin, width));
    for (auto i = begin; i < begin + width; ++i) {
      if (operands.size() == 4) operands[2].set(i, logits[i]);
      operands.back().set(i, logits[i] - sum);
    }
  }
}

/// The gradient of the log-probabilities is -scale at the target; that of the logits is it less its sum · softmax.
void cross_entropy_backward(double scale, Operands operands) {
  auto const [targets, log_probabilities, picked, gradient] =
      std::array{operands[0], operands[1], operands[2], operands[3]};
  auto const width = picked.size() / targets.size();
  for (std::size_t row = 0; row < targets.size(); ++row) {
    auto const target = place_of_target(targets, row, width);
    for (auto i = row * width; i < (row + 1) * width; ++i) {
      auto const own = i == target ? -scale : 0.0;
      auto const softmax = std::exp(log_probabilities[i]);
      picked.set(i, own);
      gradient.set(i, own + scale * softmax);
    }
  }
}

void fused_cross_entropy(Operands operands) {
  auto const logits = operands[0];
  auto const width = logits.size() / operands[1].size();
  for (std::size_t row = 0; row < operands[1].size(); ++row) {
    auto const target = place_of_target(operands[1], row, width);
    auto const sum = log_sum_exp(logits.part(row * width, width));
    for (auto i = row * width; i < (row + 1) * width; ++i)
      operands[2].set(i, std::exp(logits[i] - sum) - (i == target ? 1.0 : 0.0));
  }
}

void fused_cross_entropy_backward(double scale, Operands operands) {
  for (std::size_t i = 0; i < operands[3].size(); ++i) operands[3].set(i, scale * operands[2][i]);
}

void row_maximum(Operands operands) {
  auto const width = operands[0].size() / operands[1].size();
  for (std::size_t row = 0; row < operands[1].size(); ++row)
    operands[1].set(row, maximum(operands[0].part(row * width, width)));
}

void cross_entropy_part(bool is_fused, Operands operands) {
  auto const [logits, targets] = std::pair{operands[0], operands[1]};
  auto const result = operands[operands.size() - 4];
  auto const [largest, picked, sums] =
      std::array{operands[operands.size() - 3], operands[operands.size() - 2], operands.back()};
  auto const width = logits.size() / targets.size();
  for (std::size_t row = 0; row < targets.size(); ++row) {
    auto const target = place_of_target(targets, row, width);
    auto sum = 0.0;
    picked.set(row, 0);
    for (auto i = row * width; i < (row + 1) * width; ++i) {
      auto const shifted = logits[i] - largest[row];
      sum += std::exp(shifted);
      if (i == target) picked.set(row, shifted);
      if (operands.size() == 7) operands[2].set(i, logits[i]);
      result.set(i, is_fused ? std::exp(shifted) : shifted);
    }
    sums.set(row, sum);
  }
}

void cross_entropy_join(bool is_fused, Operands operands) {
  auto const [targets, sums, result] = std::array{operands[0], operands[2], operands[3]};
  auto const width = result.size() / targets.size();
  for (std::size_t row = 0; row < targets.size(); ++row) {
    auto const target = place_of_target(targets, row, width);
    for (auto i = row * width; i < (row + 1) * width; ++i)
      result.set(i, is_fused ? result[i] / sums[row] - (i == target ? 1.0 : 0.0) : result[i] - std::log(sums[row]));
  }
}

}  // namespace twinstep::cpu
