#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "app/plan_question.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/trimmed.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

using explore::plan::OfEach;

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view expected) {
  throw InputError{fmt::format("{}: found {}, expected {}", option, quoted(text), expected)};
}

/// A number and what follows it.
struct Reading {
  double number = 0;
  std::string_view rest;
};
/// Bounded, so that products of a few stay numbers that people can read.
std::optional<Reading> leading_number(std::string_view text, double least = 1e-9) {
  constexpr auto kMost = 1e18;
  text = trimmed(text);
  auto number = 0.0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= least && number <= kMost)) return std::nullopt;
  return Reading{number, trimmed(text.substr(static_cast<std::size_t>(end - text.data())))};
}

/// A suffix and what it multiplies by.
using Suffixes = std::array<std::pair<std::string_view, double>, 5>;
constexpr auto kCounts = Suffixes{{{"K", 1e3}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};

/// Takes a suffix of a count off `text`, if it stands alone or before a space.
double take_count(std::string_view& text) {
  for (auto const& [suffix, factor] : kCounts) {
    if (!text.starts_with(suffix) || (text.size() > 1 && text[1] != ' ')) continue;
    text = trimmed(text.substr(1));
    return factor;
  }
  return 1;
}

/// Takes what follows the slash off "10.2 kW/node": whose it is. Nothing where it is neither a GPU's nor a node's.
std::optional<OfEach<std::string_view>> owned(std::string_view text, std::string_view unit = "") {
  auto const slash = text.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto const owner = trimmed(text.substr(slash + 1));
  auto const is_of_node = owner == fmt::format("node{}", unit);
  if (!is_of_node && owner != fmt::format("GPU{}", unit)) return std::nullopt;
  return OfEach<std::string_view>{trimmed(text.substr(0, slash)), is_of_node};
}

/// "2026-11" or "2026-11-05", whatever the numbers.
bool has_form_of_date(std::string_view text) {
  constexpr auto kForm = std::string_view{"dddd-dd-dd"};
  if (text.size() != 7 && text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == 'd' ? std::isdigit(static_cast<unsigned char>(text[i])) == 0 : text[i] != '-') return false;
  return true;
}

/// Requires the form. Whether the calendar has that day, or that month.
bool is_on_calendar(std::string_view date) {
  auto const number = [&](std::size_t from, std::size_t count) {
    auto value = 0;
    std::from_chars(date.data() + from, date.data() + from + count, value);
    return value;
  };
  auto const day = date.size() == 7 ? 1U : static_cast<unsigned>(number(8, 2));
  return std::chrono::year_month_day{std::chrono::year{number(0, 4)},
                                     std::chrono::month{static_cast<unsigned>(number(5, 2))}, std::chrono::day{day}}
      .ok();
}

void require(bool is_given, std::string_view option, std::string_view needs) {
  if (!is_given) throw InputError{fmt::format("{} needs {}", option, needs)};
}

std::variant<Seconds, BytesPerSecond> read_checkpoint(std::string const& text) {
  if (text.find('/') == std::string::npos) return read_long_time("--checkpoint", text);
  try {
    return io::read_bandwidth(text);
  } catch (InputError const& error) {
    throw InputError{fmt::format("--checkpoint: {}", error.what())};
  }
}

void read_failures(PlanOptions const& options, plan::Goal& goal) {
  if (!options.mtbf && !options.checkpoint && !options.restart) return;
  require(options.checkpoint.has_value(), options.mtbf ? "--mtbf" : "--restart",
          "--checkpoint, the time that training stops for one (\"60 s\") or the storage's rate (\"2 TB/s\")");
  require(options.restart.has_value(), options.mtbf ? "--mtbf" : "--checkpoint",
          "--restart, from a failure until the job computes again (\"10 min\")");
  if (options.mtbf) goal.between_failures = read_between_failures(*options.mtbf);
  goal.checkpoint = read_checkpoint(*options.checkpoint);
  goal.restart = read_long_time("--restart", *options.restart);
}

}  // namespace

double read_amount(std::string const& option, std::string const& text) {
  constexpr auto kExpected = "a number above zero such as \"15T\", \"300 B\" or \"4 M tokens\"";
  auto const number = leading_number(text);
  if (!number) refuse(option, text, kExpected);
  auto rest = number->rest;
  auto const factor = take_count(rest);
  if (!rest.empty() && rest != "tokens" && rest != "samples") refuse(option, text, kExpected);
  return number->number * factor;
}

Seconds read_long_time(std::string const& option, std::string const& text) {
  constexpr auto kExpected = "a time above zero such as \"30d\", \"720 h\" or \"10 min\"";
  constexpr auto kUnits =
      std::to_array<std::tuple<std::string_view, std::string_view, double>>({{"d", "day", 86'400.0},
                                                                             {"w", "week", 604'800.0},
                                                                             {"h", "hour", 3600.0},
                                                                             {"min", "minute", 60.0},
                                                                             {"s", "second", 1.0}});
  auto const number = leading_number(text);
  if (!number) refuse(option, text, kExpected);
  for (auto const& [unit, word, seconds] : kUnits)
    if (number->rest == unit || number->rest == word || number->rest == fmt::format("{}s", word))
      return Seconds{number->number * seconds};
  refuse(option, text, kExpected);
}

double read_energy(std::string const& option, std::string const& text) {
  constexpr auto kExpected = "an energy above zero such as \"350 MWh\" or \"2 GWh\"";
  auto const number = leading_number(text);
  if (!number) refuse(option, text, kExpected);
  for (auto const& [unit, kwh] : {std::pair{"kWh", 1.0}, {"MWh", 1e3}, {"GWh", 1e6}})
    if (number->rest == unit) return number->number * kwh;
  refuse(option, text, kExpected);
}

double read_share(std::string const& option, std::string const& text) {
  constexpr auto kExpected = "a share such as \"5%\", from 0% to below 100%";
  auto const number = leading_number(text, 0);
  if (!number || number->rest != "%" || number->number >= 100) refuse(option, text, kExpected);
  return number->number / 100;
}

reports::Money read_money(std::string const& option, std::string const& text) {
  constexpr auto kExpected = "an amount above zero and its currency such as \"2 M USD\"";
  auto const number = leading_number(text);
  if (!number) refuse(option, text, kExpected);
  auto rest = number->rest;
  auto const factor = take_count(rest);
  auto const is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  if (rest.size() != 3 || !std::ranges::all_of(rest, is_upper)) refuse(option, text, kExpected);
  return {number->number * factor, std::string{rest}};
}

plan::HourlyPrice read_price(std::string const& text) {
  constexpr auto kExpected = "a price with its date such as \"2.5 USD/GPU-hour@2026-11\"";
  auto const at = text.find('@');
  auto const date = at == std::string::npos ? "" : trimmed(std::string_view{text}.substr(at + 1));
  if (!has_form_of_date(date)) refuse("--price", text, kExpected);
  if (!is_on_calendar(date)) refuse("--price", text, "a date that the calendar has, such as 2026-11 or 2026-11-05");
  auto const amount = owned(trimmed(std::string_view{text}.substr(0, at)), "-hour");
  if (!amount) refuse("--price", text, kExpected);
  return {{read_money("--price", std::string{amount->value}), amount->is_of_node}, std::string{date}};
}

OfEach<double> read_watts(std::string const& text) {
  constexpr auto kExpected = "the power of a node or of its share for a GPU, such as \"10.2 kW/node\"";
  auto const power = owned(text);
  auto const number = power ? leading_number(power->value) : std::nullopt;
  if (!number) refuse("--power", text, kExpected);
  for (auto const& [unit, watts] : {std::pair{"W", 1.0}, {"kW", 1e3}, {"MW", 1e6}})
    if (number->rest == unit) return {number->number * watts, power->is_of_node};
  refuse("--power", text, kExpected);
}

OfEach<Seconds> read_between_failures(std::string const& text) {
  auto const time = owned(text);
  if (!time) refuse("--mtbf", text, "the mean time between failures of one GPU or node, such as \"50000 h/GPU\"");
  return {read_long_time("--mtbf", std::string{time->value}), time->is_of_node};
}

std::vector<plan::GpuRange> read_gpus(std::string const& text) {
  constexpr auto kExpected = "numbers of GPUs such as \"512\", \"64..4096\" or \"64,128\"";
  auto const whole = [&](std::string_view part) {
    part = trimmed(part);
    auto number = std::int64_t{0};
    auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || end != part.data() + part.size() || number < 1) refuse("--gpus", text, kExpected);
    return number;
  };
  auto ranges = std::vector<plan::GpuRange>{};
  for (auto rest = std::string_view{text};;) {
    auto const comma = rest.find(',');
    auto const part = rest.substr(0, comma);
    auto const dots = part.find("..");
    auto const least = whole(part.substr(0, dots));
    auto const most = dots == std::string_view::npos ? least : whole(part.substr(dots + 2));
    if (most < least) refuse("--gpus", text, "the smaller number first");
    ranges.push_back({least, most});
    if (comma == std::string_view::npos) return ranges;
    rest = rest.substr(comma + 1);
  }
}

plan::Goal read_goal(PlanOptions const& options) {
  auto goal = plan::Goal{};
  auto const has_tokens = options.tokens.has_value();
  require(has_tokens || !options.deadline, "--deadline", "--tokens, how many to train on until then (\"15T\")");
  require(has_tokens || !options.budget, "--budget", "--tokens, how many to train on (\"15T\")");
  require(has_tokens || options.prices.empty(), "--price", "--tokens, how many to train on (\"15T\")");
  require(has_tokens || !options.power, "--power", "--tokens, how many to train on (\"15T\")");
  require(has_tokens || !options.mtbf, "--mtbf", "--tokens, how many to train on (\"15T\")");
  require(!options.prices.empty() || !options.budget, "--budget",
          "--price, what a GPU costs and since when (\"2.5 USD/GPU-hour@2026-11\")");
  require(options.power.has_value() || !options.energy, "--energy", "--power, of a node (\"10.2 kW/node\")");
  require(options.power.has_value() || !options.pue, "--pue", "--power, of a node (\"10.2 kW/node\")");
  require(has_tokens || !options.checkpoint, "--checkpoint", "--tokens, how many to train on (\"15T\")");
  require(has_tokens || !options.restart, "--restart", "--tokens, how many to train on (\"15T\")");
  if (options.tokens) goal.tokens = read_amount("--tokens", *options.tokens);
  if (options.deadline) goal.deadline = read_long_time("--deadline", *options.deadline);
  if (options.budget) goal.budget = read_money("--budget", *options.budget);
  if (options.energy) goal.most_energy_kwh = read_energy("--energy", *options.energy);
  if (options.power) goal.watts = read_watts(*options.power);
  if (options.pue) goal.pue = *options.pue;
  if (!(goal.pue >= 1) || goal.pue > 10)
    throw InputError{
        fmt::format("--pue: found {}, expected the power of the facility over that of its nodes, from 1 "
                    "to 10",
                    goal.pue)};
  read_failures(options, goal);
  if (options.critical_batch) goal.critical_batch = read_amount("--critical-batch", *options.critical_batch);
  return goal;
}

}  // namespace twinstep::app
