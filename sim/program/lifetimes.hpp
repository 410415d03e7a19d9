#pragma once

#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// How long a buffer is in use, as the operations of its role say.
struct Lifetime {
  OpId first_use;  ///< none if nothing touches it
  OpId last_use;
  bool crosses_streams = false;
  bool operator==(Lifetime const&) const = default;
};

/// By buffer. Requires operands that name buffers of the role. Cost: linear in the accesses.
[[nodiscard]] inline std::vector<Lifetime> lifetimes_of(Role const& role) {
  auto out = std::vector<Lifetime>(role.buffers.size());
  for (std::size_t i = 0; i < role.operations.size(); ++i)
    for (auto const& access : role.accesses_of(role.operations[i])) {
      auto& [first, last, crosses] = out[access.region.buffer.index()];
      if (!first.exists()) first = OpId{i};
      crosses = crosses || (last.exists() && role.operations[last.index()].stream != role.operations[i].stream);
      last = OpId{i};
    }
  return out;
}

}  // namespace twinstep::program
