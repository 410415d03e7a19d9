#pragma once

#include <cstdint>
#include <string_view>

namespace twinstep {

/// 64-bit FNV-1a of bytes as they come (RFC 9923, "The FNV Non-Cryptographic Hash Algorithm"): tells apart what differs
/// by accident, not what somebody forged.
class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (auto const byte : bytes) add_byte(static_cast<unsigned char>(byte));
  }
  /// Its eight bytes, the lowest first.
  void add(std::uint64_t number) {
    for (auto shift = 0U; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(number >> shift & 0xffU));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace twinstep
