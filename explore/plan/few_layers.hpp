#pragma once

#include <cstdint>
#include <variant>

#include "strategies/model/model_spec.hpp"

/// A deep model by a few of its layers, which are all alike.
namespace twinstep::explore::plan {

inline constexpr std::int64_t kShallow = 2;  ///< layers
inline constexpr std::int64_t kDeeper = 4;

/// The model if its layers are all alike and more than a few of them tell.
[[nodiscard]] inline strategies::Transformer const* many_layers(strategies::ModelSpec const& model) {
  auto const* const transformer = std::get_if<strategies::Transformer>(&model);
  return transformer != nullptr && transformer->layers > kDeeper ? transformer : nullptr;
}

[[nodiscard]] inline strategies::ModelSpec with_layers(strategies::Transformer model, std::int64_t layers) {
  model.layers = layers;
  return model;
}

}  // namespace twinstep::explore::plan
