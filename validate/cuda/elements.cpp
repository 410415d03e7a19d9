#include "validate/cuda/elements.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "sim/base/check.hpp"

namespace twinstep::cuda {
namespace {

/// What is no number is 0.
std::int32_t to_int32(double value) {
  return std::isnan(value) ? 0 : static_cast<std::int32_t>(value);
}

/// The upper half of a float.
std::uint16_t to_bf16(double value) {
  auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  constexpr std::uint32_t kQuietNan = 0x7fc0;
  if (std::isnan(value)) return kQuietNan;
  auto const is_odd = (bits >> 16) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7fffU + is_odd) >> 16);
}
double from_bf16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
}

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction; subnormals are multiples of 2^-24.
constexpr int kFractionBits = 10;
constexpr int kLeastExponent = -14;
constexpr int kGreatestExponent = 15;
constexpr int kBias = 15;

std::uint16_t to_fp16(double value) {
  auto const sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  constexpr std::uint16_t kInfinity = 0x7c00;
  constexpr std::uint16_t kQuietNan = 0x7e00;
  if (std::isnan(value)) return sign | kQuietNan;
  auto const magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  auto const exponent = std::isinf(magnitude) ? kGreatestExponent + 1 : std::max(std::ilogb(magnitude), kLeastExponent);
  if (exponent > kGreatestExponent) return sign | kInfinity;
  // Counted in units of the last place; a carry out of the fraction moves on to the exponent by itself.
  auto const units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, kFractionBits - exponent)));
  auto const offset = static_cast<std::uint32_t>(exponent - kLeastExponent) << kFractionBits;
  return static_cast<std::uint16_t>(sign | (units + offset));
}

double from_fp16(std::uint16_t bits) {
  auto const fraction = bits & 0x3ffU;
  auto const exponent = static_cast<int>((bits >> kFractionBits) & 0x1fU);
  auto const sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1f) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  auto const hidden = exponent == 0 ? 0U : 0x400U;
  return sign * std::ldexp(static_cast<double>(fraction + hidden), std::max(exponent, 1) - kBias - kFractionBits);
}

template <class Element, class Convert>
void encode_as(std::span<double const> values, std::byte* to, Convert const& convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element const element = convert(values[i]);
    std::memcpy(to + i * sizeof(Element), &element, sizeof(Element));
  }
}

template <class Element, class Convert>
void decode_as(std::byte const* from, std::span<double> values, Convert const& convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto element = Element{};
    std::memcpy(&element, from + i * sizeof(Element), sizeof(Element));
    values[i] = convert(element);
  }
}

}  // namespace

void encode(std::span<double const> values, DataType type, std::byte* to) {
  switch (type) {
    case DataType::kFp64: return encode_as<double>(values, to, [](double v) { return v; });
    case DataType::kFp32:
    case DataType::kTf32: return encode_as<float>(values, to, [](double v) { return static_cast<float>(v); });
    case DataType::kInt32: return encode_as<std::int32_t>(values, to, to_int32);
    case DataType::kBf16: return encode_as<std::uint16_t>(values, to, to_bf16);
    case DataType::kFp16: return encode_as<std::uint16_t>(values, to, to_fp16);
    default: TWINSTEP_UNREACHABLE("only numbers that the host can convert are converted");
  }
}

void decode(std::byte const* from, DataType type, std::span<double> values) {
  switch (type) {
    case DataType::kFp64: return decode_as<double>(from, values, [](double v) { return v; });
    case DataType::kFp32:
    case DataType::kTf32: return decode_as<float>(from, values, [](float v) { return static_cast<double>(v); });
    case DataType::kInt32: return decode_as<std::int32_t>(from, values, [](std::int32_t v) { return v; });
    case DataType::kBf16: return decode_as<std::uint16_t>(from, values, from_bf16);
    case DataType::kFp16: return decode_as<std::uint16_t>(from, values, from_fp16);
    default: TWINSTEP_UNREACHABLE("only numbers that the host can convert are converted");
  }
}

}  // namespace twinstep::cuda
