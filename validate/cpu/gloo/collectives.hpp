#pragma once

#include <chrono>
#include <cstdint>
#include <gloo/context.h>
#include <memory>
#include <span>
#include <vector>

#include "sim/program/operation.hpp"
#include "validate/cpu/exchange.hpp"
#include "validate/cpu/gloo/staging.hpp"

namespace twinstep::cpu {

/// The ranks of one communicator group, connected. Its collectives run one after another.
struct Group {
  std::shared_ptr<gloo::Context> context;
  std::vector<RankId> ranks;  ///< by place
  std::size_t place = 0;      ///< of this process
  std::uint32_t issued = 0;   ///< collectives so far
  Staging staging;
};

/// Carries out collective number `number` of `group`, as this place takes part in it, and means what `exchange` does.
///
/// all_reduce is Gloo's ring (segments of 1 MiB), all_gather its ring, broadcast its binomial tree, all_to_all its
/// direct exchange. What this Gloo lacks is built on send and receive: reduce_scatter is a ring in segments; reduce is
/// that ring, and the chunks sent to the root; gather and scatter send chunks directly. Sums are taken in the operands'
/// type along the ring; every chunk is summed by one place, so all replicas hold the same bits.
/// @param elements  of the collective by place; they differ only in all_to_all
/// Requires two places or more. Throws gloo's exceptions if a peer is lost or does not come within `patience`.
void carry_out(Group& group, std::uint32_t number, Member const& member, std::span<std::int64_t const> elements,
               std::chrono::milliseconds patience);

}  // namespace twinstep::cpu
