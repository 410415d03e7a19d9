#include "reports/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

namespace twinstep::reports {
namespace {

struct Scale {
  std::string_view unit;
  double size;
};

constexpr auto kTimes = std::array<Scale, 5>{{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
constexpr auto kBinary =
    std::array<Scale, 5>{{{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
constexpr auto kDecimal =
    std::array<Scale, 6>{{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}};
constexpr auto kRates = std::array<Scale, 5>{{{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};
constexpr auto kFlopRates = std::array<Scale, 6>{
    {{"FLOP/s", 1}, {"KFLOP/s", 1e3}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}}};

/// The largest scale in which `value` is at least one, after rounding to a `precision` part of the scale.
Scale scale_for(double value, std::span<Scale const> scales, double precision) {
  auto chosen = scales.front();
  for (auto const& scale : scales)
    if (std::abs(value) >= scale.size - precision * chosen.size) chosen = scale;
  return chosen;
}

std::string scaled_text(double value, std::span<Scale const> scales) {
  constexpr double kHalfOfLastDigit = 0.05;
  auto const scale = scale_for(value, scales, kHalfOfLastDigit);
  if (scale.size == 1) return fmt::format("{:.0f} {}", value, scale.unit);
  return fmt::format("{:.1f} {}", value / scale.size, scale.unit);
}

/// "12345678" as "12,345,678".
std::string grouped(std::string digits) {
  auto const first = digits.starts_with('-') ? std::size_t{1} : std::size_t{0};
  for (auto place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace

std::string time_text(Duration time) {
  if (time == Duration{}) return "0 s";
  auto const value = static_cast<double>(time.count());
  constexpr double kHalfOfLastDigit = 0.05;  // "999.9 us" is the last of its unit
  auto const scale = scale_for(value, kTimes, kHalfOfLastDigit);
  auto const shown = value / scale.size;
  if (scale.size == 1) return fmt::format("{:.0f} {}", shown, scale.unit);
  auto const size = std::abs(shown);
  auto const decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
  return fmt::format("{} {}",
                     decimals == 0 ? grouped(fmt::format("{:.0f}", shown)) : fmt::format("{:.{}f}", shown, decimals),
                     scale.unit);
}

std::string memory_text(Bytes bytes) {
  return scaled_text(static_cast<double>(bytes.count()), kBinary);
}

std::string traffic_text(TotalBytes bytes) {
  return scaled_text(static_cast<double>(bytes.count()), kDecimal);
}

std::string rate_text(BytesPerSecond rate) {
  return scaled_text(rate.count(), kRates);
}

std::string rate_text(FlopsPerSecond rate) {
  return scaled_text(rate.count(), kFlopRates);
}

double share(Duration part, Duration whole) {
  return whole > Duration{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string percent_text(std::optional<double> share) {
  return share ? percent_text(*share) : std::string{kNoValue};
}

std::string change_text(double share) {
  auto const text = fmt::format("{:+.1f} %", share * 100);
  return text == "+0.0 %" || text == "-0.0 %" ? "0.0 %" : text;
}

std::string count_text(double count) {
  constexpr double kWholeFrom = 99.95;
  return std::abs(count) < kWholeFrom ? fmt::format("{:.1f}", count) : grouped(fmt::format("{:.0f}", count));
}

std::string whole_text(std::int64_t count) {
  return grouped(fmt::format("{}", count));
}

MemoryUnit memory_unit_for(Bytes largest) {
  auto const scale = scale_for(static_cast<double>(largest.count()), kBinary, 0.05);
  return {scale.unit, Bytes{static_cast<std::int64_t>(scale.size)}};
}

std::string in_unit(Bytes bytes, MemoryUnit unit) {
  return fmt::format("{:.1f}", static_cast<double>(bytes.count()) / static_cast<double>(unit.size.count()));
}

std::string bar_text(double share, std::size_t width) {
  static constexpr auto kEighths = std::array<std::string_view, 8>{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto const eighths =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 8 * static_cast<double>(width)));
  auto const shown = share > 0 ? std::max<std::size_t>(eighths, 1) : 0;
  auto bar = std::string{};
  for (std::size_t i = 0; i < shown / 8; ++i) bar += "█";
  return bar += kEighths[shown % 8];
}

}  // namespace twinstep::reports
