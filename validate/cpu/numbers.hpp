#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "sim/base/data_type.hpp"

namespace twinstep::cpu {

/// What stands for an integer that was never written.
inline constexpr auto kNoInteger = std::numeric_limits<std::int32_t>::min();

/// A stretch of fp32, fp64 or int32 numbers that somebody else owns. Reading gives doubles; writing rounds to the
/// element type. Copies are cheap and see the same numbers.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(std::span<float> values) : floats_{values.data()}, size_{values.size()} {}
  explicit Numbers(std::span<double> values) : doubles_{values.data()}, size_{values.size()}, type_{DataType::kFp64} {}
  explicit Numbers(std::span<std::int32_t> values)
      : integers_{values.data()}, size_{values.size()}, type_{DataType::kInt32} {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * static_cast<std::size_t>(size_of(type_).count()); }
  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] double operator[](std::size_t i) const {
    if (type_ == DataType::kFp64) return doubles_[i];
    return type_ == DataType::kInt32 ? integers_[i] : static_cast<double>(floats_[i]);
  }
  /// NaN becomes kNoInteger where numbers are integers.
  void set(std::size_t i, double value) const {
    if (type_ == DataType::kFp64)
      doubles_[i] = value;
    else if (type_ == DataType::kInt32)
      integers_[i] = value == value ? static_cast<std::int32_t>(value) : kNoInteger;
    else
      floats_[i] = static_cast<float>(value);
  }

  /// `count` numbers from number `first` on. Requires that they lie inside.
  [[nodiscard]] Numbers part(std::size_t first, std::size_t count) const;

  /// The first number; null if the type is the other one.
  [[nodiscard]] float* floats() const { return floats_; }
  [[nodiscard]] double* doubles() const { return doubles_; }
  [[nodiscard]] void* memory() const {
    if (type_ == DataType::kInt32) return integers_;
    return type_ == DataType::kFp64 ? static_cast<void*>(doubles_) : floats_;
  }

 private:
  float* floats_ = nullptr;
  double* doubles_ = nullptr;
  std::int32_t* integers_ = nullptr;
  std::size_t size_ = 0;
  DataType type_ = DataType::kFp32;
};

/// Memory of one buffer. Fresh memory is poisoned with NaN, so a result that used what was never written shows it.
class Storage {
 public:
  /// Requires fp32, fp64 or int32, and elements >= 0.
  Storage(DataType type, std::int64_t elements);

  [[nodiscard]] Numbers numbers();
  /// Makes it fresh again.
  void poison();

 private:
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>> values_;
};

}  // namespace twinstep::cpu
