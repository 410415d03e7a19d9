#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace twinstep::explore::sweep {

/// Values by key, each made once and then shared between threads. When there are many, all are forgotten: what is made
/// twice is only made twice.
template <class T>
class Memoised {
 public:
  /// The value of `key`; `make` makes it where it is not there, without keeping others waiting. What `make` throws is
  /// not remembered.
  template <class Make>
  [[nodiscard]] std::shared_ptr<T const> get(std::int64_t key, Make const& make) {
    {
      auto const lock = std::lock_guard{mutex_};
      if (auto const found = values_.find(key); found != values_.end()) return found->second;
    }
    auto made = std::make_shared<T const>(make());
    auto const lock = std::lock_guard{mutex_};
    if (values_.size() >= kMost) values_.clear();
    return values_.emplace(key, std::move(made)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<T const>> values_;
};

}  // namespace twinstep::explore::sweep
