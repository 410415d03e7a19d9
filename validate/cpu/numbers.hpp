#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "sim/base/data_type.hpp"

namespace twinstep::cpu {

/// A stretch of fp32 or fp64 numbers that somebody else owns. Reading gives doubles; writing rounds to the element
/// type. Copies are cheap and see the same numbers.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(std::span<float> values) : floats_{values.data()}, size_{values.size()} {}
  explicit Numbers(std::span<double> values) : doubles_{values.data()}, size_{values.size()}, type_{DataType::kFp64} {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const {
    return size_ * (type_ == DataType::kFp64 ? sizeof(double) : sizeof(float));
  }
  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] double operator[](std::size_t i) const {
    return type_ == DataType::kFp64 ? doubles_[i] : static_cast<double>(floats_[i]);
  }
  void set(std::size_t i, double value) const {
    if (type_ == DataType::kFp64)
      doubles_[i] = value;
    else
      floats_[i] = static_cast<float>(value);
  }

  /// `count` numbers from number `first` on. Requires that they lie inside.
  [[nodiscard]] Numbers part(std::size_t first, std::size_t count) const;

  /// The first number; null if the type is the other one.
  [[nodiscard]] float* floats() const { return floats_; }
  [[nodiscard]] double* doubles() const { return doubles_; }
  [[nodiscard]] void* memory() const { return type_ == DataType::kFp64 ? static_cast<void*>(doubles_) : floats_; }

 private:
  float* floats_ = nullptr;
  double* doubles_ = nullptr;
  std::size_t size_ = 0;
  DataType type_ = DataType::kFp32;
};

/// Memory of one buffer. Fresh memory is poisoned with NaN, so a result that used what was never written shows it.
class Storage {
 public:
  /// Requires fp32 or fp64, and elements >= 0.
  Storage(DataType type, std::int64_t elements);

  [[nodiscard]] Numbers numbers();
  /// Makes it fresh again.
  void poison();

 private:
  std::variant<std::vector<float>, std::vector<double>> values_;
};

}  // namespace twinstep::cpu
