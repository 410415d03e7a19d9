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
  if (out.integers_ != nullptr) out.integers_ += first;
  out.size_ = count;
  return out;
}

Storage::Storage(DataType type, std::int64_t elements) {
  TWINSTEP_CHECK(elements >= 0, "a buffer has no negative size");
  auto const size = static_cast<std::size_t>(elements);
  if (type == DataType::kFp64)
    values_ = std::vector<double>(size);
  else if (type == DataType::kInt32)
    values_ = std::vector<std::int32_t>(size);
  else
    values_ = std::vector<float>(size);
  TWINSTEP_CHECK(numbers().type() == type, "numbers are fp32, fp64 or int32");
  poison();
}

void Storage::poison() {
  std::visit(
      [](auto& values) {
        using Number = typename std::remove_reference_t<decltype(values)>::value_type;
        using Limits = std::numeric_limits<Number>;
        std::ranges::fill(values, Limits::has_quiet_NaN ? Limits::quiet_NaN() : Limits::lowest());
      },
      values_);
}

Numbers Storage::numbers() {
  return std::visit([](auto& values) { return Numbers{std::span{values}}; }, values_);
}

}  // namespace twinstep::cpu
