#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strategies/mesh/step.hpp"

/// Training an MLP on a mesh of ranks with data, on threads of this process, to compare it with a single rank.
namespace twinstep::tests {

/// Where the matrix of a rank's layer begins in the whole layer's.
struct MatrixPlace {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// A job of ranks in a mesh.
struct MeshJob {
  std::vector<std::int64_t> widths;
  strategies::Plan plan;
  strategies::StepSpec step;
  /// Which of the data-parallel ranks `rank` is: which samples it computes.
  std::function<std::int64_t(RankId rank)> data_rank;
  std::function<MatrixPlace(RankId rank, std::int64_t layer, strategies::Tensor const& matrix)> place =
      [](RankId, std::int64_t, strategies::Tensor const&) { return MatrixPlace{}; };
};

/// The layers' matrices after some steps, one after another. Checks that the program is well-formed, free of races and
/// that its collectives meet; that every step's timeline obeys it; and that ranks that hold the same numbers agree bit
/// for bit.
[[nodiscard]] std::vector<double> train(MeshJob const& job);

/// … by one rank that computes the whole global batch at once.
[[nodiscard]] std::vector<double> train_alone(std::vector<std::int64_t> const& widths, std::int64_t global_batch);

}  // namespace twinstep::tests
