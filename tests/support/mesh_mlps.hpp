#pragma once

#include <cstdint>
#include <vector>

#include "strategies/model/work.hpp"

/// MLPs whose work is split over ranks, written by hand: what a model that communicates looks like to strategies.
namespace twinstep::tests {

/// Layers in pairs: the first of each is split over `ways` ranks of the group "tensor" by columns of its result, the
/// second by rows of its input, whose partial results are summed. Needs an even number of layers.
[[nodiscard]] strategies::ModelWork split_mlp(std::vector<std::int64_t> const& widths, strategies::Shape const& shape,
                                              std::int64_t ways);

/// Four layers, of which the second and third are experts: set 1, split over two ranks of the group "expert", which
/// gather their inputs and scatter what they compute.
[[nodiscard]] strategies::ModelWork expert_mlp(std::vector<std::int64_t> const& widths, strategies::Shape const& shape);

}  // namespace twinstep::tests
