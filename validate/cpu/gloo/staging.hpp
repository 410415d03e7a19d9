#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace twinstep::cpu {

/// Memory for what is under way in a collective, kept for the next one, which so finds it mapped.
class Staging {
 public:
  /// Room for `count` numbers, with anything in it. Ends what was had before.
  template <class T>
  [[nodiscard]] std::span<T> take(std::size_t count) {
    auto const bytes = count * sizeof(T);
    if (bytes > size_) {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return {reinterpret_cast<T*>(memory_.get()), count};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace twinstep::cpu
