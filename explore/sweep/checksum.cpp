#include "explore/sweep/checksum.hpp"

#include <bit>
#include <string_view>

#include "sim/base/fnv1a.hpp"

namespace twinstep::explore::sweep {

std::int64_t checksum_of(std::span<Cell const> cells) {
  auto hash = Fnv1a{};
  struct Add {
    Fnv1a* hash;
    void operator()(std::monostate) const {}
    void operator()(std::int64_t whole) const { hash->add(std::bit_cast<std::uint64_t>(whole)); }
    // SQLite keeps no sign of a zero.
    void operator()(double real) const { hash->add(std::bit_cast<std::uint64_t>(real == 0 ? 0.0 : real)); }
    void operator()(std::string const& text) const {
      hash->add(std::uint64_t{text.size()});
      hash->add(std::string_view{text});
    }
  };
  for (auto const& cell : cells) {
    hash.add(std::uint64_t{cell.index()});
    std::visit(Add{&hash}, cell);
  }
  return std::bit_cast<std::int64_t>(hash.value());
}

}  // namespace twinstep::explore::sweep
