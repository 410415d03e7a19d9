#include "explore/sweep/value.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "explore/sweep/short_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kSize = Unit{.bytes = 1};
constexpr auto kTime = Unit{.seconds = 1};
constexpr auto kBandwidth = Unit{.bytes = 1, .seconds = -1};
constexpr auto kFlopRate = Unit{.seconds = -1, .flops = 1};

/// A quantity in its base unit; nothing for other texts.
std::optional<Number> read_quantity(std::string_view text) {
  if (text.empty() || std::string_view{"0123456789."}.find(text.front()) == std::string_view::npos) return std::nullopt;
  auto const read = [text](Unit unit, auto reader) -> std::optional<Number> {
    try {
      return Number{reader(text), unit};
    } catch (InputError const&) {
      return std::nullopt;
    }
  };
  if (auto const size = read(kSize, [](auto t) { return static_cast<double>(io::read_bytes(t).count()); })) return size;
  if (auto const time = read(kTime, [](auto t) { return to_seconds(io::read_duration(t)).count(); })) return time;
  if (auto const rate = read(kBandwidth, [](auto t) { return io::read_bandwidth(t).count(); })) return rate;
  return read(kFlopRate, [](auto t) { return io::read_flop_rate(t).count(); });
}

std::string object_meaning(io::Node const& node) {
  auto members = std::vector<std::string>{};
  for (auto const& [key, value] : node.members())
    if (!value.is(io::Node::Type::kNull)) members.push_back(io::json_string(key) + ":" + meaning_of(value));
  std::ranges::sort(members);
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

std::string list_meaning(io::Node const& node) {
  auto elements = std::vector<std::string>{};
  for (auto const& element : node.elements()) elements.push_back(meaning_of(element));
  return fmt::format("[{}]", fmt::join(elements, ","));
}

}  // namespace

Value value_of_text(std::string_view text) {
  if (auto const quantity = read_quantity(text)) return *quantity;
  return std::string{text};
}

Value value_of(io::Node const& node) {
  switch (node.type()) {
    case io::Node::Type::kNull: return {};
    case io::Node::Type::kNumber: return Number{node.number()};
    case io::Node::Type::kBoolean: return node.boolean();
    case io::Node::Type::kString: return value_of_text(node.string());
    default: return Composite{};
  }
}

std::string described(Value const& value) {
  struct Describe {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool is_true) const { return is_true ? "true" : "false"; }
    std::string operator()(Number const& number) const {
      if (number.unit == Unit{}) return fmt::format("the number {}", number.number);
      if (number.unit == kSize) return "a size";
      if (number.unit == kTime) return "a time";
      if (number.unit == kBandwidth) return "a bandwidth";
      return number.unit == kFlopRate ? "a rate of FLOPs" : "a product of quantities";
    }
    std::string operator()(std::string const& text) const { return "the text " + twinstep::quoted(text); }
    std::string operator()(Composite) const { return "an object or a list"; }
  };
  return std::visit(Describe{}, value);
}

std::string meaning_of(io::Node const& node) {
  if (node.is(io::Node::Type::kObject)) return object_meaning(node);
  if (node.is(io::Node::Type::kArray)) return list_meaning(node);
  auto const value = value_of(node);
  if (auto const* text = std::get_if<std::string>(&value)) return io::json_string(*text);
  auto const* number = std::get_if<Number>(&value);
  if (number == nullptr) return described(value);
  return fmt::format("{} {} {} {}", number->number, number->unit.bytes, number->unit.seconds, number->unit.flops);
}

void refuse_doubles(std::vector<io::Node> const& values) {
  auto first = std::map<std::string, io::Node const*>{};
  for (auto const& value : values) {
    auto const [same, is_new] = first.emplace(meaning_of(value), &value);
    if (!is_new)
      value.fail(fmt::format("found {}, which means the same as {} at {}", short_text(value), short_text(*same->second),
                             same->second->path()),
                 "leave one of them out");
  }
}

}  // namespace twinstep::explore::sweep
