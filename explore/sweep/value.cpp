#include "explore/sweep/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"
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
      value.fail(fmt::format("found {}, which means the same as {} at {}", io::short_line(value),
                             io::short_line(*same->second), same->second->path()),
                 "leave one of them out");
  }
}

namespace {

constexpr auto kMostValues = 1e15;  ///< doubles tell the numbers of all values apart

/// A number and its unit, "400 Gb/s" or 400.
struct Amount {
  double number = 0;
  bool is_whole = false;
  std::string unit;
};

Amount read_amount(io::Node const& node) {
  if (node.is(io::Node::Type::kNumber)) {
    auto const number = node.number();
    return {number, std::trunc(number) == number && std::abs(number) < kMostValues, ""};
  }
  auto const text = node.string();
  auto amount = Amount{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (error != std::errc{} || !std::isfinite(amount.number))
    node.fail(fmt::format("found {}, expected a number, or one with its unit", twinstep::quoted(text)),
              "write it like \"400 Gb/s\"");
  amount.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  amount.unit.erase(0, amount.unit.find_first_not_of(' '));
  return amount;
}

/// An amount of a range in the unit of its "from".
Amount read_amount(io::Node const& range, char const* key, std::string const& unit) {
  auto amount = read_amount(range.at(key));
  if (amount.unit == unit) return amount;
  auto const value = value_of(range.at(key));
  auto const one = value_of_text("1 " + unit);
  auto const* number = std::get_if<Number>(&value);
  auto const* its_unit = std::get_if<Number>(&one);
  if (unit.empty() || number == nullptr || its_unit == nullptr || number->unit != its_unit->unit)
    range.at(key).fail(
        fmt::format("found the unit {}, and \"from\" has {}", twinstep::quoted(amount.unit), twinstep::quoted(unit)),
        "write both in units of one kind");
  return {number->number / its_unit->number, false, unit};
}

Range read_range(io::Node const& node) {
  node.allow_only({"from", "to", "factor", "step"});
  if (node.has("factor") == node.has("step"))
    node.fail("found a range without one way from value to value, expected \"factor\" or \"step\"",
              R"(write {"from": 1, "to": 64, "factor": 2})");
  auto const from = read_amount(node.at("from"));
  auto const to = read_amount(node, "to", from.unit);
  auto range = Range{.from = from.number, .unit = from.unit, .written = node};
  range.is_factor = node.has("factor");
  auto const by = range.is_factor ? read_amount(node, "factor", "") : read_amount(node, "step", from.unit);
  range.by = by.number;
  range.is_whole = from.is_whole && by.is_whole;
  if (range.is_factor ? by.number <= 1 || from.number <= 0 : by.number <= 0)
    node.fail(range.is_factor ? "found a range that does not grow, expected \"from\" above 0 and \"factor\" above 1"
                              : "found a range that does not grow, expected \"step\" above 0",
              R"(write {"from": 1, "to": 64, "factor": 2})");
  if (to.number < from.number)
    node.at("to").fail("found an end below the beginning, expected at least \"from\"", "exchange the two");
  // A rounding error must not lose the last value.
  constexpr auto kTolerance = 1e-9;
  auto const steps =
      range.is_factor ? std::log(to.number / from.number) / std::log(by.number) : (to.number - from.number) / by.number;
  if (!(steps < kMostValues)) node.fail("found a range of more than 1e15 values, expected fewer", "raise its step");
  range.size = static_cast<std::int64_t>(steps + kTolerance) + 1;
  // Values are written to twelve digits.
  auto const growth =
      range.is_factor ? by.number - 1 : by.number / std::max(std::abs(from.number), std::abs(to.number));
  if (!range.is_whole && growth < 1e-11)
    node.fail("found neighbours that twelve digits do not tell apart, expected values further apart", "raise its step");
  return range;
}

std::vector<io::Node> read_list(io::Node const& node) {
  auto values = node.elements();
  if (values.empty()) node.fail("found no value, expected at least one", "name one, or leave the path out");
  refuse_doubles(values);
  return values;
}

/// A value with the place of `like`.
io::Node made(io::Node const& like, auto content) {
  auto value = std::make_shared<io::Node::Value>();
  value->content = std::move(content);
  value->source = like.value().source;
  value->offset = like.value().offset;
  return io::Node{std::move(value), like.step()};
}

}  // namespace

io::Node Range::value(std::int64_t index) const {
  auto const steps = static_cast<double>(index);
  auto const exact = is_factor ? from * std::pow(by, steps) : from + by * steps;
  auto const text = is_whole ? fmt::format("{:.0f}", exact) : fmt::format("{:.12g}", exact);
  if (!unit.empty()) return made(written, fmt::format("{} {}", text, unit));
  auto number = io::Node::Value::Number{.number = exact, .integer = 0, .is_integer = is_whole};
  std::from_chars(text.data(), text.data() + text.size(), number.number);
  if (is_whole) number.integer = static_cast<std::int64_t>(number.number);
  return made(written, number);
}

Values::Values(io::Node const& values) {
  if (values.is(io::Node::Type::kObject))
    values_ = read_range(values);
  else
    values_ = read_list(values);
}

std::int64_t Values::size() const {
  if (auto const* range = std::get_if<Range>(&values_)) return range->size;
  return static_cast<std::int64_t>(std::get<std::vector<io::Node>>(values_).size());
}

io::Node Values::value(std::int64_t index) const {
  if (auto const* range = std::get_if<Range>(&values_)) return range->value(index);
  return std::get<std::vector<io::Node>>(values_)[static_cast<std::size_t>(index)];
}

}  // namespace twinstep::explore::sweep
