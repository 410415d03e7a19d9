#include "sim/engine/exact/group_places.hpp"

namespace twinstep::engine {

std::vector<std::vector<Place>> places_of_groups(collectives::Layout const& layout,
                                                 collectives::Placement const& placement) {
  auto const is_even = layout.runs.size() == 1;
  auto const sharing = is_even ? layout.groups_per_node : 1;
  auto const between = is_even && layout.nodes() > 1 ? layout.node_stride : 1;
  auto const held = placement.ranks_per_node;
  // Groups of p ranks, `stride` apart, fill a node in blocks of p × stride GPUs with `stride` groups each.
  auto const stride = held == 1 ? sharing : layout.gpu_stride;
  auto const first = is_even ? placement.gpu(0, held) : 0;
  auto const home = first / (held * stride) * stride + first % stride;
  auto groups = std::vector<std::vector<Place>>{};
  for (auto offset = std::int64_t{0}; offset < between; ++offset) {
    for (auto g = std::int64_t{0}; g < sharing; ++g) {
      auto const group = (home + g) % sharing;
      auto const shift = group / stride * held * stride + group % stride - first;
      auto& places = groups.emplace_back();
      places.reserve(static_cast<std::size_t>(layout.ranks));
      auto node = layout.first_node + offset;
      for (auto const& run : layout.runs) {
        for (auto n = std::int64_t{0}; n < run.nodes; ++n, node += layout.node_stride)
          for (auto i = std::int64_t{0}; i < run.ranks_per_node; ++i)
            places.push_back(
                {static_cast<std::uint32_t>(node),
                 static_cast<std::uint32_t>(placement.gpu(i, run.ranks_per_node) + (is_even ? shift : 0))});
      }
    }
  }
  return groups;
}

}  // namespace twinstep::engine
