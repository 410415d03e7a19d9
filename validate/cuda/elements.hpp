#pragma once

#include <cstddef>
#include <span>

#include "sim/base/data_type.hpp"

namespace twinstep::cuda {

/// Whether elements of this type are numbers that the host can convert: fp64, fp32, tf32 (stored as fp32), bf16, fp16,
/// and int32.
[[nodiscard]] constexpr bool is_convertible(DataType type) {
  return type == DataType::kInt32 || type == DataType::kFp64 || type == DataType::kFp32 || type == DataType::kTf32 ||
         type == DataType::kBf16 || type == DataType::kFp16;
}

/// Rounds `values` to elements of `type`, to nearest, ties to even. Requires a convertible type and room for all.
void encode(std::span<double const> values, DataType type, std::byte* to);
/// The other way, exactly.
void decode(std::byte const* from, DataType type, std::span<double> values);

}  // namespace twinstep::cuda
