#include "explore/ask/strategy_titles.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/io/document_text.hpp"

namespace twinstep::explore {
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
    case Type::kArray: return io::document_line(scalar);
    default: return "null";
  }
}

void add_leaves(io::Node const& node, std::string const& name, std::vector<Leaf>& leaves) {
  if (node.is(Type::kNull)) return;  // as if it were not there
  if (!node.is(Type::kObject)) {
    leaves.push_back({name, text_of(node)});
    return;
  }
  for (auto const& [key, value] : node.members()) {
    auto const is_top = name.empty();
    if (is_top && (key == "name" || key == "recompute" || key == "comment")) continue;
    if (is_top && key == "parallel") {  // "tensor 8", not "parallel tensor 8"
      add_leaves(value, {}, leaves);
      continue;
    }
    add_leaves(value, is_top ? std::string{key} : fmt::format("{} {}", name, key), leaves);
  }
}

/// " + recompute", " + recompute selective", " + recompute every 2"; nothing where nothing is recomputed.
std::string recompute_title(io::Node const& strategy) {
  auto const recompute = strategy.find("recompute");
  if (!recompute) return {};
  auto parts = std::vector<Leaf>{};
  add_leaves(*recompute, "recompute", parts);
  if (parts.size() == 1 && parts.front() == Leaf{"recompute", "none"}) return {};
  auto title = std::string{" + recompute"};
  for (auto const& [name, value] : parts) {
    auto const part = name.substr(std::min(name.size(), std::string_view{"recompute "}.size()));
    if (value != "full") title += part.empty() || part == "what" ? " " + value : fmt::format(" {} {}", part, value);
  }
  return title;
}

}  // namespace

std::vector<std::string> strategy_titles(std::vector<Written> const& scenarios) {
  auto const count = scenarios.size();
  auto names = std::vector<std::string>(count);
  auto recomputes = std::vector<std::string>(count);
  auto leaves = std::vector<std::vector<Leaf>>(count);
  for (std::size_t i = 0; i < count; ++i) {
    names[i] = scenarios[i].strategy.at("name").string();
    recomputes[i] = recompute_title(scenarios[i].strategy);
    add_leaves(scenarios[i].strategy, {}, leaves[i]);
    add_leaves(scenarios[i].training, {}, leaves[i]);
  }
  auto const is_shared = [&](std::size_t scenario, Leaf const& leaf) {
    for (std::size_t other = 0; other < count; ++other)
      if (names[other] == names[scenario] && recomputes[other] == recomputes[scenario] &&
          std::ranges::count(leaves[other], leaf) == 0)
        return false;
    return true;
  };
  auto titles = std::vector<std::string>{};
  for (std::size_t i = 0; i < count; ++i) {
    auto title = names[i];
    for (auto const& leaf : leaves[i])
      if (!is_shared(i, leaf)) title += fmt::format(", {} {}", leaf.name, leaf.value);
    title += recomputes[i];
    auto const is_same = [&](std::string const& other) { return other == title || other.starts_with(title + " ("); };
    if (auto const same = std::ranges::count_if(titles, is_same); same > 0) title += fmt::format(" ({})", same + 1);
    titles.push_back(std::move(title));
  }
  return titles;
}

}  // namespace twinstep::explore
