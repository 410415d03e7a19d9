#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/enum_names.hpp"

namespace twinstep::engine {

/// How closely the network is followed. Alone on it, a collective takes as long by all three
/// (docs/collectives.md, "Three fidelities", says where it does not).
enum class Fidelity : std::uint8_t {
  kExact,   ///< every message of every rank is an event on the network
  kFolded,  ///< ranks that are alike are one; a collective is a few phases that share links with what else runs
  kClosed   ///< a communication takes the time that it takes alone; nothing shares links
};

}  // namespace twinstep::engine

template <>
struct twinstep::EnumNames<twinstep::engine::Fidelity> {
  static constexpr std::array<std::string_view, 3> values{"exact", "folded", "closed"};
};
