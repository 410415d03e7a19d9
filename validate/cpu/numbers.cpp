#include "validate/cpu/numbers.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "sim/base/check.hpp"

namespace twinstep::cpu {

Numbers Numbers::part(std::size_t first, std::size_t count) const {
  TWINSTEP_CHECK(first <= size_ && count <= size_ - first, "a region lies inside its buffer");
  auto out = *this;
  if (out.floats_ != nullptr) out.floats_ += first;
  if (out.doubles_ != nullptr) out.doubles_ += first;
  out.size_ = count;
  return out;
}

Storage::Storage(DataType type, std::int64_t elements) {
  TWINSTEP_CHECK(elements >= 0, "a buffer has no negative size");
  TWINSTEP_CHECK(type == DataType::kFp32 || type == DataType::kFp64, "numbers are fp32 or fp64");
  auto const size = static_cast<std::size_t>(elements);
  if (type == DataType::kFp64)
    values_ = std::vector<double>(size, std::numeric_limits<double>::quiet_NaN());
  else
    values_ = std::vector<float>(size, std::numeric_limits<float>::quiet_NaN());
}

void Storage::poison() {
  std::visit(
      [](auto& values) {
        using Number = typename std::remove_reference_t<decltype(values)>::value_type;
        std::ranges::fill(values, std::numeric_limits<Number>::quiet_NaN());
      },
      values_);
}

Numbers Storage::numbers() {
  return std::visit([](auto& values) { return Numbers{std::span{values}}; }, values_);
}

}  // namespace twinstep::cpu
