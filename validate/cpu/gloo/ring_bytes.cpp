#include "validate/cpu/gloo/ring_bytes.hpp"

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace twinstep::cpu {

std::vector<std::pair<std::size_t, std::int64_t>> leaving(CollectiveKind kind, std::size_t place,
                                                          std::span<std::int64_t const> elements, std::size_t root) {
  auto const places = elements.size();
  auto const count = static_cast<std::int64_t>(places);
  auto const all = elements[place];
  auto const next = (place + 1) % places;
  auto const chunk = [&](std::size_t of) {
    auto const index = static_cast<std::int64_t>(of);
    return chunk_begin(all, count, index + 1) - chunk_begin(all, count, index);
  };
  auto const to_others = [&] {
    auto out = std::vector<std::pair<std::size_t, std::int64_t>>{};
    for (std::size_t to = 0; to < places; ++to)
      if (to != place) out.emplace_back(to, chunk(to));
    return out;
  };
  using enum CollectiveKind;
  switch (kind) {
    case kAllReduce: return {{next, 2 * all - chunk(place) - chunk(next)}};
    case kAllGather: return {{next, all - chunk(next)}};
    case kReduceScatter: return {{next, all - chunk(place)}};
    case kBroadcast: return {{next, next == root ? 0 : all}};
    case kReduce: return {{next, place == root ? 0 : all}};
    case kGather: return {{root, place == root ? 0 : chunk(place)}};
    case kScatter: return place == root ? to_others() : std::vector<std::pair<std::size_t, std::int64_t>>{};
    case kAllToAll: return to_others();
  }
  TWINSTEP_UNREACHABLE("a collective is one of eight");
}

}  // namespace twinstep::cpu
