#pragma once

#include <cstdint>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

namespace twinstep {

/// The element types of training. tf32 is a mode of the tensor cores: its operands are stored as fp32.
enum class DataType : std::uint8_t { kFp64, kFp32, kTf32, kBf16, kFp16, kFp8, kInt32, kInt8 };

template <>
struct EnumNames<DataType> {
  static constexpr std::array<std::string_view, 8> values{"fp64", "fp32", "tf32",  "bf16",
                                                          "fp16", "fp8",  "int32", "int8"};
};

/// Bytes of one element in memory.
[[nodiscard]] constexpr Bytes size_of(DataType type) {
  switch (type) {
    case DataType::kFp64: return Bytes{8};
    case DataType::kFp32:
    case DataType::kTf32:
    case DataType::kInt32: return Bytes{4};
    case DataType::kBf16:
    case DataType::kFp16: return Bytes{2};
    case DataType::kFp8:
    case DataType::kInt8: return Bytes{1};
  }
  return Bytes{};
}

}  // namespace twinstep
