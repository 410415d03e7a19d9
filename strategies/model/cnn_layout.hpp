#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/model/model_spec.hpp"

/// What a residual network consists of. Source: torchvision's resnet.py; names and order are its own.
namespace twinstep::strategies {

/// A square convolution without bias, padded by half its kernel, and the batch norm behind it.
struct Convolution {
  std::string name;     ///< "conv1"
  std::string norm;     ///< "bn1"
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 1;  ///< pixels of a side; odd
  std::int64_t stride = 1;
  std::int64_t groups = 1;  ///< channels are convolved within their group
  std::int64_t side = 1;    ///< pixels of a side of the image that comes in

  [[nodiscard]] std::int64_t side_out() const { return (side - 1) / stride + 1; }
  /// Numbers that make one number of the output.
  [[nodiscard]] std::int64_t window() const { return in / groups * kernel * kernel; }
  [[nodiscard]] std::int64_t outputs() const { return out * side_out() * side_out(); }  ///< of one image
  bool operator==(Convolution const&) const = default;
};

/// `count` successive blocks that are alike: their convolutions, and the one that makes their input fit their output
/// where it does not. The stem is a block of one convolution.
struct ConvolutionBlocks {
  std::string name;               ///< of the stage: "layer1"
  std::int64_t first_index = -1;  ///< within the stage; -1 for the stem
  std::int64_t count = 1;
  std::vector<Convolution> path;
  std::optional<Convolution> projection;

  [[nodiscard]] bool is_stem() const { return first_index < 0; }
};

/// The stem and the blocks of all stages. Cost O(stages).
[[nodiscard]] std::vector<ConvolutionBlocks> blocks_of(Cnn const& model);

/// Pixels of a side after the stem's pooling, which takes every second one.
[[nodiscard]] std::int64_t pooled(std::int64_t side);

/// Channels that the head averages and classifies.
[[nodiscard]] std::int64_t features(Cnn const& model);

/// The published network that torchvision calls `name`, or nothing.
[[nodiscard]] std::optional<Cnn> find_cnn(std::string_view name);
[[nodiscard]] std::vector<std::string_view> cnn_names();

}  // namespace twinstep::strategies
