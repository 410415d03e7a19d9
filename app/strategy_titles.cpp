#include "app/strategy_titles.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace twinstep::app {
namespace {

using Type = io::Node::Type;

/// A value that is neither array nor object, and the names that lead to it: "offload optimizer", "cpu".
struct Leaf {
  std::string name;
  std::string value;
  bool operator==(Leaf const&) const = default;
};

std::string text_of(io::Node const& scalar) {
  switch (scalar.type()) {
    case Type::kBoolean: return scalar.boolean() ? "true" : "false";
    case Type::kNumber: return fmt::format("{}", scalar.number());
    case Type::kString: return std::string{scalar.string()};
    default: return "null";
  }
}

void add_leaves(io::Node const& node, std::string const& name, std::vector<Leaf>& leaves) {
  if (!node.is(Type::kObject)) {
    leaves.push_back({name, text_of(node)});
    return;
  }
  for (auto const& [key, value] : node.members()) {
    auto const is_top = name.empty();
    if (is_top && (key == "name" || key == "recompute" || key == "comment")) continue;
    add_leaves(value, is_top ? std::string{key} : fmt::format("{} {}", name, key), leaves);
  }
}

std::string base_title(io::Node const& strategy) {
  auto title = std::string{strategy.at("name").string()};
  auto const recompute = strategy.find("recompute");
  if (!recompute) return title;
  auto parts = std::vector<Leaf>{};
  add_leaves(*recompute, "recompute", parts);
  if (parts.size() == 1 && parts.front() == Leaf{"recompute", "none"}) return title;
  title += " + recompute";
  for (auto const& [name, value] : parts) {
    auto const part = name.substr(std::min(name.size(), std::string_view{"recompute "}.size()));
    if (value != "full") title += fmt::format("{}{} {}", part.empty() ? "" : " ", part, value);
  }
  return title;
}

}  // namespace

std::vector<std::string> strategy_titles(std::vector<Written> const& scenarios) {
  auto const count = scenarios.size();
  auto bases = std::vector<std::string>(count);
  auto leaves = std::vector<std::vector<Leaf>>(count);
  for (std::size_t i = 0; i < count; ++i) {
    bases[i] = base_title(scenarios[i].strategy);
    add_leaves(scenarios[i].strategy, {}, leaves[i]);
    add_leaves(scenarios[i].training, {}, leaves[i]);
  }
  auto titles = bases;
  for (std::size_t i = 0; i < count; ++i) {
    auto const is_shared = [&](Leaf const& leaf) {
      for (std::size_t other = 0; other < count; ++other)
        if (bases[other] == bases[i] && std::ranges::count(leaves[other], leaf) == 0) return false;
      return true;
    };
    for (auto const& leaf : leaves[i])
      if (!is_shared(leaf)) titles[i] += fmt::format(", {} {}", leaf.name, leaf.value);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (auto const same = std::count(titles.begin(), titles.begin() + static_cast<std::ptrdiff_t>(i), titles[i]);
        same > 0)
      bases[i] = fmt::format("{} ({})", titles[i], same + 1);
    else
      bases[i] = titles[i];
  return bases;
}

}  // namespace twinstep::app
