#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace twinstep::explore {

/// Calls `work` once for every index below `count`, on all cores. Where calls throw, the exception of the lowest index
/// is thrown when all are done: the same one whatever the number of cores.
void for_each_index(std::size_t count, std::function<void(std::size_t)> const& work);

/// `make(i)` for every index below `count`, in the order of the indices.
template <class Make>
[[nodiscard]] auto map_indices(std::size_t count, Make const& make) {
  using Made = decltype(make(std::size_t{}));
  auto made = std::vector<std::optional<Made>>(count);
  for_each_index(count, [&](std::size_t i) { made[i].emplace(make(i)); });
  auto out = std::vector<Made>{};
  out.reserve(count);
  for (auto& each : made) out.push_back(std::move(*each));
  return out;
}

}  // namespace twinstep::explore
