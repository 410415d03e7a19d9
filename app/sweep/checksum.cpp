#include "app/sweep/checksum.hpp"

#include <bit>
#include <string_view>

namespace twinstep::app::sweep {
namespace {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (auto const byte : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  void add(std::uint64_t number) {
    for (auto shift = 0U; shift < 64; shift += 8) hash_ = (hash_ ^ (number >> shift & 0xffU)) * 0x100000001b3U;
  }
  [[nodiscard]] std::int64_t value() const { return std::bit_cast<std::int64_t>(hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace

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
  return hash.value();
}

}  // namespace twinstep::app::sweep
