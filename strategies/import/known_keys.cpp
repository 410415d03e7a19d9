#include "strategies/import/known_keys.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "sim/io/document_value.hpp"

namespace twinstep::strategies {
namespace {

using Type = io::Node::Type;

std::vector<std::string_view> words_of(std::string_view list) {
  auto words = std::vector<std::string_view>{};
  constexpr std::string_view kBlanks = " \n";
  while (true) {
    auto const start = list.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return words;
    list.remove_prefix(start);
    words.push_back(list.substr(0, list.find_first_of(kBlanks)));
    list.remove_prefix(words.back().size());
  }
}

/// A value that asks for nothing. An object does if it is switched off.
bool is_off(io::Node const& value, std::string_view harmless) {
  constexpr auto kNothing = std::to_array<std::string_view>({"", "none", "no", "auto", "default", "disabled"});
  switch (value.type()) {
    case Type::kNull: return true;
    case Type::kBoolean: return value.boolean() ? harmless == "true" : harmless != "true";
    case Type::kNumber: return value.number() == 0 || fmt::format("{}", value.number()) == harmless;
    case Type::kString:
      return value.string() == harmless || std::ranges::find(kNothing, value.string()) != kNothing.end();
    case Type::kArray: return value.elements().empty();
    case Type::kObject: break;
  }
  for (auto const* const key : {"enabled", "enable"})
    if (auto const is_on = value.find(key)) return is_off(*is_on, {});
  return value.members().empty();
}

class Reporter {
 public:
  Reporter(KnownKeys const& known, std::vector<std::string>& warnings)
      : known_{known}, read_{words_of(known.read)}, no_matter_{words_of(known.no_matter)}, warnings_{warnings} {}

  /// Reports what is below `object`, whose keys are known with `prefix` before them. Gives how many are known.
  std::size_t report(io::Node const& object, std::string const& prefix) {
    auto count = std::size_t{0};
    for (auto const& [key, value] : object.members()) {
      if (key == "$schema" || key == "comment") continue;
      if (report_member(prefix + std::string{key}, key, value)) ++count;
    }
    return count;
  }

 private:
  /// Whether the key is known.
  bool report_member(std::string const& path, std::string_view key, io::Node const& value) {
    if (contains(read_, path) || contains(no_matter_, path)) return true;
    auto const rule = std::ranges::find(known_.not_modelled, std::string_view{path}, &NotModelled::key);
    if (rule != known_.not_modelled.end()) {
      if (!is_off(value, rule->harmless))
        warnings_.push_back(at_place_of(value, fmt::format("is not modelled: {}", rule->why)));
      return true;
    }
    auto const parent = path.substr(0, path.size() - key.size());
    if (!siblings(path + ".").empty()) {
      if (value.is(Type::kObject)) static_cast<void>(report(value, path + "."));
      return true;
    }
    warnings_.push_back(at_place_of(
        value, fmt::format("is an unknown key, which changes nothing; {}", suggest_name(key, siblings(parent)))));
    return false;
  }

  static bool contains(std::vector<std::string_view> const& list, std::string_view path) {
    return std::ranges::find(list, path) != list.end();
  }

  /// The first parts of all keys below `parent`, which ends with a dot or is empty.
  [[nodiscard]] std::vector<std::string_view> siblings(std::string_view parent) const {
    auto names = std::vector<std::string_view>{};
    auto const add = [&](std::string_view path) {
      if (!path.starts_with(parent)) return;
      auto const rest = path.substr(parent.size());
      auto const name = rest.substr(0, rest.find('.'));
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    std::ranges::for_each(read_, add);
    std::ranges::for_each(no_matter_, add);
    for (auto const& each : known_.not_modelled) add(each.key);
    return names;
  }

  KnownKeys const& known_;
  std::vector<std::string_view> read_;
  std::vector<std::string_view> no_matter_;
  std::vector<std::string>& warnings_;
};

}  // namespace

void report_keys(io::Node const& document, KnownKeys const& known, std::vector<std::string>& warnings) {
  if (Reporter{known, warnings}.report(document, {}) > 0) return;
  document.fail(fmt::format("found no key of {}", known.format), "check the path and the kind of file");
}

void refuse_parallelism(std::optional<io::Node> const& degree, std::string_view kind) {
  if (degree && degree->integer() > 1)
    degree->fail(fmt::format("found {} parallelism of degree {}, which is not modelled yet", kind, degree->integer()),
                 "set it to 1");
}

std::string at_place_of(io::Node const& node, std::string_view sentence) {
  auto const path = node.path();
  return fmt::format("{}{}{}{}", io::place_of(node.source(), node.value().offset), path, path.empty() ? "" : " ",
                     sentence);
}

}  // namespace twinstep::strategies
