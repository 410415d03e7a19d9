#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace twinstep::tests {

/// Numbers that processes forked later write and this one reads, some for each rank.
class SharedNumbers {
 public:
  SharedNumbers(std::size_t ranks, std::size_t for_each);
  ~SharedNumbers();
  SharedNumbers(SharedNumbers const&) = delete;
  SharedNumbers& operator=(SharedNumbers const&) = delete;

  [[nodiscard]] std::span<double> of(std::size_t rank) const { return {numbers_ + rank * for_each_, for_each_}; }

 private:
  double* numbers_ = nullptr;
  std::size_t ranks_ = 0;
  std::size_t for_each_ = 0;
};

}  // namespace twinstep::tests
