#include "sim/collectives/double_tree.hpp"

#include <array>

#include "sim/collectives/schedule.hpp"

namespace twinstep::collectives {
namespace {

/// A binary tree over nodes 0 … count - 1 whose shape follows from the binary digits. Node 0 is the root. Any other
/// has a lowest set bit b; it stands log2(b) levels above the odd nodes, which are the leaves.
struct BinaryTree {
  std::int64_t count = 1;

  static std::int64_t lowest_bit(std::int64_t node) { return node & -node; }
  static std::int64_t level(std::int64_t node) { return floor_log2(lowest_bit(node)); }
  /// The level of the root's only child, the highest power of two below `count`. Requires count > 1.
  [[nodiscard]] std::int64_t top_level() const { return floor_log2(count - 1); }

  [[nodiscard]] std::int64_t parent(std::int64_t node) const {
    auto const bit = lowest_bit(node);
    auto const above = (node ^ bit) | (bit << 1);
    return above < count ? above : node ^ bit;
  }

  /// Child 0 or 1, if there is one.
  [[nodiscard]] std::optional<std::int64_t> child(std::int64_t node, std::int64_t which) const {
    if (node == 0) {
      if (which == 1 || count == 1) return std::nullopt;
      return std::int64_t{1} << top_level();
    }
    auto offset = lowest_bit(node) / 2;
    if (which == 0) return offset > 0 ? std::optional{node - offset} : std::nullopt;
    while (offset > 0 && node + offset >= count) offset /= 2;
    return offset > 0 ? std::optional{node + offset} : std::nullopt;
  }
};

std::int64_t place_in_tree(std::int64_t node, std::int64_t tree, std::int64_t nodes) {
  if (tree == 0) return node;
  return nodes % 2 == 0 ? nodes - 1 - node : (node + nodes - 1) % nodes;
}

std::int64_t node_at(std::int64_t place, std::int64_t tree, std::int64_t nodes) {
  if (tree == 0) return place;
  return nodes % 2 == 0 ? nodes - 1 - place : (place + 1) % nodes;
}

}  // namespace

std::int64_t DoubleTree::levels() const {
  return ceil_log2(nodes);
}

/// A parent stands higher than its children, so it has heard them all before it speaks.
std::optional<std::int64_t> DoubleTree::up(std::int64_t node, std::int64_t tree, std::int64_t step) const {
  auto const place = place_in_tree(node, tree, nodes);
  if (place == 0 || BinaryTree::level(place) != step) return std::nullopt;
  return node_at(BinaryTree{nodes}.parent(place), tree, nodes);
}

std::optional<std::int64_t> DoubleTree::down(std::int64_t node, std::int64_t tree, std::int64_t step,
                                             std::int64_t child) const {
  auto const shape = BinaryTree{nodes};
  auto const below = shape.child(place_in_tree(node, tree, nodes), child);
  if (!below || BinaryTree::level(*below) != shape.top_level() - step) return std::nullopt;
  return node_at(*below, tree, nodes);
}

double busiest_node_share(std::int64_t nodes) {
  constexpr auto kShares = std::array{0.0, 0.0, 1.0, 1.5};
  return nodes < 4 ? kShares[static_cast<std::size_t>(nodes)] : 2.0;
}

Duration climb(FoldRequest const& request, std::int64_t steps) {
  auto total = Duration{};
  for (auto j = std::int64_t{0}; j < steps; ++j)
    total += between_step(request, request.placement.meeting(std::int64_t{1} << j));
  return total;
}

}  // namespace twinstep::collectives
