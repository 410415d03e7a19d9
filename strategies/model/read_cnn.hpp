#pragma once

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"

namespace twinstep::strategies {

/// A residual network: {"family": "cnn", "name": "resnet50"}, or its stages. Throws InputError.
[[nodiscard]] Cnn read_cnn(io::Node const& spec);

}  // namespace twinstep::strategies
