#include "explore/sweep/scenario_path.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document_value.hpp"

namespace twinstep::explore::sweep {
namespace {

void add_scalars(io::Node const& node, std::string const& path, std::vector<std::string>& paths) {
  if (node.is(io::Node::Type::kObject)) {
    for (auto const& [key, value] : node.members())
      add_scalars(value, path.empty() ? std::string{key} : fmt::format("{}.{}", path, key), paths);
  } else if (!node.is(io::Node::Type::kArray)) {
    paths.push_back(path);
  }
}

}  // namespace

std::optional<io::Node> find_path(io::Node const& document, std::string_view path) {
  auto node = std::optional{document};
  while (node && !path.empty()) {
    auto const dot = path.find('.');
    auto const key = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    if (node->is(io::Node::Type::kObject)) {
      node = node->find(key);
    } else if (auto const index = io::read_index(key); index && node->is(io::Node::Type::kArray)) {
      auto const elements = node->elements();
      node = *index < elements.size() ? std::optional{elements[*index]} : std::nullopt;
    } else {
      node.reset();
    }
  }
  return node;
}

bool is_within(std::string_view path, std::string_view outer) {
  return path == outer || (path.starts_with(outer) && path[outer.size()] == '.');
}

void check_path(std::string_view path, io::Node const& place) {
  constexpr auto kParts = std::to_array<std::string_view>({"cluster", "model", "training", "strategy", "network"});
  if (path.starts_with('.') || path.ends_with('.') || path.find("..") != std::string_view::npos)
    place.fail(fmt::format("found an empty name in the path {}", twinstep::quoted(path)),
               "write it like cluster.nodes");
  auto const part = path.substr(0, path.find('.'));
  if (std::ranges::find(kParts, part) == kParts.end())
    place.fail(fmt::format("found the path {}, which no scenario has", twinstep::quoted(path)),
               suggest_name(part, {kParts.begin(), kParts.end()}));
}

std::vector<std::string> scalar_paths(io::Node const& document) {
  auto paths = std::vector<std::string>{};
  add_scalars(document, "", paths);
  return paths;
}

}  // namespace twinstep::explore::sweep
