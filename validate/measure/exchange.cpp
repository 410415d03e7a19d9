#include "validate/measure/exchange.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "validate/measure/executor.hpp"

namespace twinstep::measure {

using program::Reduction;

namespace {

double combined(Reduction reduction, std::int64_t ranks, std::int64_t i) {
  auto const value = [i](std::int64_t rank) {
    return initial_value(RankId{static_cast<std::size_t>(rank)}, static_cast<std::size_t>(i));
  };
  auto result = value(0);
  for (std::int64_t rank = 1; rank < ranks; ++rank) {
    if (reduction == Reduction::kMax)
      result = std::max(result, value(rank));
    else if (reduction == Reduction::kMin)
      result = std::min(result, value(rank));
    else
      result += value(rank);
  }
  return reduction == Reduction::kAverage ? result / static_cast<double>(ranks) : result;
}

/// The place of the rank `distance` further on in the ring of all ranks, for every rank.
program::RankValue neighbour(program::ProgramBuilder& builder, std::int64_t distance) {
  auto const ranks = builder.grids().world_size();
  auto places = std::vector<std::int64_t>{};
  for (std::int64_t rank = 0; rank < ranks; ++rank) places.push_back((rank + distance + ranks) % ranks);
  return {0, builder.variation({builder.along({"data"}), 0, std::move(places)})};
}

}  // namespace

Part sent_part(Exchange const& exchange) {
  auto const is_gathered = exchange.kind == CollectiveKind::kAllGather || exchange.kind == CollectiveKind::kGather;
  return is_gathered ? Part::kShare : Part::kWhole;
}

Part received_part(Exchange const& exchange) {
  auto const is_scattered =
      exchange.kind == CollectiveKind::kReduceScatter || exchange.kind == CollectiveKind::kScatter;
  return is_scattered ? Part::kShare : Part::kWhole;
}

double expected_value(Exchange const& exchange, std::int64_t ranks, RankId rank, std::int64_t i) {
  auto const own = static_cast<std::int64_t>(rank.index());
  auto const share = exchange.elements / ranks;
  auto const value = [](std::int64_t sender, std::int64_t element) {
    return initial_value(RankId{static_cast<std::size_t>(sender)}, static_cast<std::size_t>(element));
  };
  if (!exchange.kind) return value((own + ranks - 1) % ranks, i);
  switch (*exchange.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce: return combined(exchange.reduction, ranks, i);
    case CollectiveKind::kReduceScatter: return combined(exchange.reduction, ranks, own * share + i);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return value(i / share, i % share);
    case CollectiveKind::kBroadcast: return value(0, i);
    case CollectiveKind::kScatter: return value(0, own * share + i);
    case CollectiveKind::kAllToAll: return value(i / share, own * share + i % share);
  }
  return 0;
}

std::int64_t received_elements(Exchange const& exchange, std::int64_t ranks, RankId rank) {
  auto const is_at_root_only = exchange.kind == CollectiveKind::kReduce || exchange.kind == CollectiveKind::kGather;
  if (is_at_root_only && rank.index() != 0) return 0;
  return received_part(exchange) == Part::kShare ? exchange.elements / ranks : exchange.elements;
}

ExchangePlan plan_of(Exchange const& exchange, BufferId sent, BufferId received, program::ProgramBuilder& builder) {
  auto const share = exchange.elements / builder.grids().world_size();
  auto const region = [&](BufferId buffer, Part part) -> program::Region {
    if (part == Part::kWhole) return {buffer, 0, exchange.elements};
    if (!exchange.is_in_place) return {buffer, 0, share};
    return {buffer, {0, builder.variation({builder.along({"data"}), share, {}})}, share};
  };
  auto plan = ExchangePlan{.sent = region(exchange.is_in_place ? received : sent, sent_part(exchange)),
                           .received = region(received, received_part(exchange)),
                           .next = {},
                           .previous = {}};
  if (!exchange.kind) {
    plan.next = neighbour(builder, 1);
    plan.previous = neighbour(builder, -1);
  }
  return plan;
}

OpId add_exchange(program::ProgramBuilder& builder, program::RoleBuilder& role, StreamId stream,
                  CommunicatorId communicator, Exchange const& exchange, ExchangePlan const& plan) {
  auto const name = builder.name(exchange.kind ? name_of(*exchange.kind) : "send_recv");
  if (exchange.kind)
    return role.add(stream, name,
                    program::Collective{.kind = *exchange.kind,
                                        .reduction = exchange.reduction,
                                        .type = exchange.type,
                                        .communicator = communicator,
                                        .elements = exchange.elements,
                                        .root = 0},
                    plan.sent, plan.received);
  auto const half = [&](bool sends) {
    return program::PointToPoint{.sends = sends,
                                 .type = exchange.type,
                                 .communicator = communicator,
                                 .peer = sends ? plan.next : plan.previous,
                                 .elements = exchange.elements};
  };
  auto const parts = std::array<program::CommunicationPart, 2>{half(true), half(false)};
  auto const accesses = std::array{program::reads(plan.sent), program::writes(plan.received)};
  return role.group(stream, name, parts, accesses);
}

}  // namespace twinstep::measure
