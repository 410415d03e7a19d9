#include "explore/sweep/manifest.hpp"

#include <optional>

#include <fmt/format.h>

#include "explore/sweep/short_text.hpp"
#include "sim/io/document.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::explore::sweep {
namespace {

using MaybeNode = std::optional<io::Node>;

std::string shown(MaybeNode const& node) {
  return node ? short_text(*node) : "absent";
}

/// Members are compared one by one, lists as wholes.
std::optional<std::string> difference_of(std::string const& path, MaybeNode const& found, MaybeNode const& wanted) {
  auto const is_object = [](MaybeNode const& node) { return node && node->is(io::Node::Type::kObject); };
  if (!is_object(found) || !is_object(wanted)) {
    if (found && wanted && io::document_line(*found) == io::document_line(*wanted)) return std::nullopt;
    return fmt::format("{} is {}, expected {}", path, shown(found), shown(wanted));
  }
  auto const below = [&path](std::string_view key) {
    return path.empty() ? std::string{key} : fmt::format("{}.{}", path, key);
  };
  for (auto const* const object : {&wanted, &found})
    for (auto const& [key, value] : (*object)->members())
      if (found->find(key) || wanted->find(key))
        if (auto const difference = difference_of(below(key), found->find(key), wanted->find(key))) return difference;
  return std::nullopt;
}

}  // namespace

std::string difference_of(Manifest const& found, Manifest const& wanted) {
  if (found.version != wanted.version)
    return fmt::format("the version of twinstep is {}, expected {}", found.version, wanted.version);
  if (auto const difference = difference_of("", io::parse({"found", found.sweep}), io::parse({"wanted", wanted.sweep})))
    return *difference;
  return "the order of its members is another";
}

}  // namespace twinstep::explore::sweep
