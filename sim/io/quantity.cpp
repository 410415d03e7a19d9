#include "sim/io/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/base/trimmed.hpp"

namespace twinstep::io {
namespace {

/// `scale` is in bytes, picoseconds, bytes per second or FLOP per second.
struct Unit {
  std::string_view name;
  Dimension dimension;
  double scale;
  bool is_preferred = true;  ///< for writing
};

constexpr double kBit = 0.125;
constexpr double kKiB = 1024;

constexpr auto kUnits = std::to_array<Unit>({
    {"B", Dimension::kSize, 1},
    {"KB", Dimension::kSize, 1e3},
    {"MB", Dimension::kSize, 1e6},
    {"GB", Dimension::kSize, 1e9},
    {"TB", Dimension::kSize, 1e12},
    {"PB", Dimension::kSize, 1e15},
    {"KiB", Dimension::kSize, kKiB},
    {"MiB", Dimension::kSize, kKiB* kKiB},
    {"GiB", Dimension::kSize, kKiB* kKiB* kKiB},
    {"TiB", Dimension::kSize, kKiB* kKiB* kKiB* kKiB},
    {"ps", Dimension::kTime, 1},
    {"ns", Dimension::kTime, 1e3},
    {"us", Dimension::kTime, 1e6},
    {"\u00b5s", Dimension::kTime, 1e6, false},  // micro sign
    {"\u03bcs", Dimension::kTime, 1e6, false},  // Greek mu
    {"ms", Dimension::kTime, 1e9},
    {"s", Dimension::kTime, 1e12},
    {"min", Dimension::kTime, 60e12, false},
    {"h", Dimension::kTime, 3600e12, false},
    {"B/s", Dimension::kBandwidth, 1},
    {"KB/s", Dimension::kBandwidth, 1e3},
    {"MB/s", Dimension::kBandwidth, 1e6},
    {"GB/s", Dimension::kBandwidth, 1e9},
    {"TB/s", Dimension::kBandwidth, 1e12, false},
    {"KiB/s", Dimension::kBandwidth, kKiB, false},
    {"MiB/s", Dimension::kBandwidth, kKiB* kKiB, false},
    {"GiB/s", Dimension::kBandwidth, kKiB* kKiB* kKiB, false},
    {"TiB/s", Dimension::kBandwidth, kKiB* kKiB* kKiB* kKiB, false},
    {"b/s", Dimension::kBandwidth, kBit, false},
    {"Kb/s", Dimension::kBandwidth, kBit * 1e3, false},
    {"Mb/s", Dimension::kBandwidth, kBit * 1e6, false},
    {"Gb/s", Dimension::kBandwidth, kBit * 1e9, false},
    {"Tb/s", Dimension::kBandwidth, kBit * 1e12, false},
    {"bit/s", Dimension::kBandwidth, kBit, false},
    {"Kbit/s", Dimension::kBandwidth, kBit * 1e3, false},
    {"Mbit/s", Dimension::kBandwidth, kBit * 1e6, false},
    {"Gbit/s", Dimension::kBandwidth, kBit * 1e9, false},
    {"Tbit/s", Dimension::kBandwidth, kBit * 1e12, false},
    {"bps", Dimension::kBandwidth, kBit, false},
    {"Kbps", Dimension::kBandwidth, kBit * 1e3, false},
    {"Mbps", Dimension::kBandwidth, kBit * 1e6, false},
    {"Gbps", Dimension::kBandwidth, kBit * 1e9, false},
    {"Tbps", Dimension::kBandwidth, kBit * 1e12, false},
    {"FLOP/s", Dimension::kFlopRate, 1},
    {"GFLOP/s", Dimension::kFlopRate, 1e9},
    {"TFLOP/s", Dimension::kFlopRate, 1e12},
    {"PFLOP/s", Dimension::kFlopRate, 1e15, false},
    {"FLOPS", Dimension::kFlopRate, 1, false},
    {"GFLOPS", Dimension::kFlopRate, 1e9, false},
    {"TFLOPS", Dimension::kFlopRate, 1e12, false},
    {"PFLOPS", Dimension::kFlopRate, 1e15, false},
});

/// What a quantity of another dimension is called, beside one that was expected.
constexpr std::string_view noun(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize: return "a size";
    case Dimension::kTime: return "a time";
    case Dimension::kBandwidth: return "a rate";
    case Dimension::kFlopRate: return "an arithmetic rate";
  }
  return "a quantity";
}

[[noreturn]] void refuse(std::string_view text, std::string_view found, Dimension expected) {
  throw InputError{fmt::format("{} {}, expected {}", quoted(text), found, expectation(expected))};
}

/// A number in front of its unit. `integer` is there where the number has neither fraction nor exponent.
struct Reading {
  double number = 0;
  std::optional<std::int64_t> integer;
  Unit unit{};
};

Unit find_unit(std::string_view text, std::string_view name, Dimension expected) {
  if (name.empty()) refuse(text, "has no unit", expected);
  auto known = std::vector<std::string_view>{};
  for (auto const& unit : kUnits) {
    if (unit.name == name) return unit;
    if (unit.dimension == expected) known.push_back(unit.name);
  }
  throw InputError{fmt::format("{} has the unknown unit {}, expected {}; {}", quoted(text), quoted(name),
                               expectation(expected), suggest_name(name, known))};
}

/// "400 Gb/s" beside its plain value, so that a confusion of bits and bytes shows.
std::string other_dimension(Reading const& reading) {
  auto const value = reading.number * reading.unit.scale;
  if (reading.unit.dimension == Dimension::kBandwidth && value > 0 && !reading.unit.is_preferred)
    return fmt::format("is a rate ({:.6g} GB/s)", value / 1e9);
  return fmt::format("is {}", noun(reading.unit.dimension));
}

Reading read(std::string_view text, Dimension expected) {
  auto const body = trimmed(text);
  auto const* const end = body.data() + body.size();
  auto reading = Reading{};
  auto const [after, error] = std::from_chars(body.data(), end, reading.number);
  // from_chars also takes "inf" and "nan", which no quantity is.
  if (after == body.data() || body.find_first_of("0123456789") > 1 || !std::isfinite(reading.number)) {
    if (error == std::errc::result_out_of_range) refuse(text, "is too large or too small a number", expected);
    refuse(text, "is not a number with a unit", expected);
  }
  if (error == std::errc::result_out_of_range) refuse(text, "is too large or too small a number", expected);
  auto integer = std::int64_t{0};
  if (auto const whole = std::from_chars(body.data(), after, integer); whole.ec == std::errc{} && whole.ptr == after)
    reading.integer = integer;
  auto const unit_begin = static_cast<std::size_t>(after - body.data());
  reading.unit = find_unit(text, trimmed(body.substr(unit_begin)), expected);
  if (reading.unit.dimension != expected) refuse(text, other_dimension(reading), expected);
  if (reading.number < 0) refuse(text, "is negative", expected);
  return reading;
}

/// The value in whole bytes or picoseconds. A fraction that is only the rounding of a decimal such as 1.9 is none.
std::int64_t read_whole(std::string_view text, Dimension dimension, bool rounds_up) {
  auto const reading = read(text, dimension);
  auto const* const limit = dimension == Dimension::kSize ? "does not fit in 63 bits of bytes"
                                                          : "is longer than the simulated clock runs, 106 days";
  if (reading.integer) {
    auto product = std::int64_t{0};
    if (__builtin_mul_overflow(*reading.integer, static_cast<std::int64_t>(reading.unit.scale), &product))
      refuse(text, limit, dimension);
    return product;
  }
  auto const value = reading.number * reading.unit.scale;
  if (value >= 0x1p63) refuse(text, limit, dimension);
  constexpr double kRounding = 1e-12;
  auto const nearest = std::nearbyint(value);
  if (std::abs(value - nearest) <= kRounding * std::max(1.0, std::abs(value)))
    return static_cast<std::int64_t>(nearest);
  if (!rounds_up) refuse(text, "is not a whole number of bytes", dimension);
  return static_cast<std::int64_t>(std::ceil(value));
}

double read_rate(std::string_view text, Dimension dimension) {
  auto const reading = read(text, dimension);
  auto const value = reading.number * reading.unit.scale;
  if (!(value > 0)) refuse(text, "is zero", dimension);
  if (!std::isfinite(value)) refuse(text, "is too large or too small a number", dimension);
  return value;
}

/// The shortest text whose reading is `value`. `reads_back` says whether a text does.
template <class ReadsBack>
std::string write(double value, Dimension dimension, std::string exact, ReadsBack reads_back) {
  auto best = std::move(exact);
  for (auto const& unit : kUnits) {
    if (unit.dimension != dimension || !unit.is_preferred || value < unit.scale) continue;
    auto const text = fmt::format("{} {}", value / unit.scale, unit.name);
    if (text.find('e') != std::string::npos || text.size() >= best.size()) continue;
    try {
      if (reads_back(text)) best = text;
    } catch (InputError const&) {
      // Rounded in this unit, the value lies beyond what can be read; a smaller unit is exact.
    }
  }
  return best;
}

}  // namespace

std::string_view expectation(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize: return "a memory size such as \"80 GB\" or \"80 GiB\"";
    case Dimension::kTime: return "a time such as \"1.9 us\" or \"20 ms\"";
    case Dimension::kBandwidth: return "a bandwidth such as \"450 GB/s\" or \"400 Gb/s\"";
    case Dimension::kFlopRate: return "an arithmetic rate such as \"989 TFLOP/s\"";
  }
  return "a quantity";
}

Bytes read_bytes(std::string_view text) {
  return Bytes{read_whole(text, Dimension::kSize, false)};
}
Duration read_duration(std::string_view text) {
  return Duration{read_whole(text, Dimension::kTime, true)};
}
BytesPerSecond read_bandwidth(std::string_view text) {
  return BytesPerSecond{read_rate(text, Dimension::kBandwidth)};
}
FlopsPerSecond read_flop_rate(std::string_view text) {
  return FlopsPerSecond{read_rate(text, Dimension::kFlopRate)};
}

std::string quantity_text(Bytes size) {
  return write(static_cast<double>(size.count()), Dimension::kSize, fmt::format("{} B", size.count()),
               [size](std::string const& text) { return read_bytes(text) == size; });
}

std::string quantity_text(Duration time) {
  return write(static_cast<double>(time.count()), Dimension::kTime, fmt::format("{} ps", time.count()),
               [time](std::string const& text) { return read_duration(text) == time; });
}

std::string quantity_text(BytesPerSecond rate) {
  return write(rate.count(), Dimension::kBandwidth, fmt::format("{} B/s", rate.count()),
               [rate](std::string const& text) { return read_bandwidth(text) == rate; });
}

std::string quantity_text(FlopsPerSecond rate) {
  return write(rate.count(), Dimension::kFlopRate, fmt::format("{} FLOP/s", rate.count()),
               [rate](std::string const& text) { return read_flop_rate(text) == rate; });
}

}  // namespace twinstep::io
