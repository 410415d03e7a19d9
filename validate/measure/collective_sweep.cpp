#include "validate/measure/collective_sweep.hpp"

#include <cmath>
#include <string>

#include "sim/base/check.hpp"

namespace twinstep::measure {
namespace {

using namespace program;

constexpr auto kVerificationScope = "verification";

/// The buffers of one type; those of another have other names.
std::string received_name(DataType type) {
  return "received." + std::string{name_of(type)};
}

StepProgram verification_program(Exchange const& exchange, std::int64_t ranks, std::int64_t capacity) {
  auto builder = ProgramBuilder{Grid{{{"data", ranks}}}};
  auto const communicator = builder.communicator("world", {"data"});
  auto& role = builder.role("rank");
  auto const stream = role.stream("verification");
  role.enter({.unit = builder.name(kVerificationScope)});
  auto const buffer = [&](std::string const& name, MemoryCategory category) {
    return role.buffer({.name = builder.name(name),
                        .elements = capacity,
                        .type = exchange.type,
                        .category = category,
                        .is_persistent = true});
  };
  auto const sent = buffer("sent." + std::string{name_of(exchange.type)}, MemoryCategory::kInputs);
  auto const received = buffer(received_name(exchange.type), MemoryCategory::kWorkspace);
  auto const plan = plan_of(exchange, sent, received, builder);
  if (exchange.is_in_place) {  // what is sent has to lie there first
    auto const elements = plan.sent.elements;
    auto const size = static_cast<std::int32_t>(size_of(exchange.type).count());
    auto const copy = Elementwise{
        .function = Function::kScale, .elements = elements, .bytes_per_element = 2 * size, .type = exchange.type};
    role.add(stream, builder.name("place"), copy, {reads({sent, 0, elements}), writes(plan.sent)});
  }
  add_exchange(builder, role, stream, communicator, exchange, plan);
  return std::move(builder).finish();
}

/// Where the rank's part begins in what it received into.
std::int64_t first_element(Exchange const& exchange, std::int64_t ranks, RankId rank) {
  auto const lies_inside = exchange.is_in_place && received_part(exchange) == Part::kShare;
  return lies_inside ? static_cast<std::int64_t>(rank.index()) * (exchange.elements / ranks) : 0;
}

std::int64_t count_wrong_on(Executor const& executor, Exchange const& exchange, RankId rank) {
  auto const ranks = executor.job().ranks;
  auto const count = received_elements(exchange, ranks, rank);
  if (count == 0) return 0;
  auto const values =
      executor.read(rank, received_name(exchange.type), kVerificationScope,
                    static_cast<std::size_t>(first_element(exchange, ranks, rank)), static_cast<std::size_t>(count));
  // Values are multiples of 1/256, and of 1/256/ranks as averages.
  auto const tolerance = 1.0 / 1024 / static_cast<double>(ranks);
  auto wrong = std::int64_t{0};
  for (std::int64_t i = 0; i < count; ++i) {
    auto const difference = values[static_cast<std::size_t>(i)] - expected_value(exchange, ranks, rank, i);
    wrong += std::abs(difference) <= tolerance ? 0 : 1;  // NaN is wrong too
  }
  return wrong;
}

SweepHalf measure_half(Executor& executor, Exchange const& exchange, std::int64_t capacity, Sampling const& sampling) {
  auto const wrong = count_wrong(executor, exchange, capacity);
  auto const work = Workload{exchange};
  return {sample(executor, std::span{&work, 1}, sampling).front().each, wrong};
}

void for_each_size(CollectiveSweep const& sweep, std::function<void(Bytes)> const& visit) {
  TWINSTEP_CHECK(sweep.factor >= 2, "a sweep goes on");
  for (auto size = sweep.smallest; size <= sweep.largest; size *= sweep.factor) {
    visit(size);
    if (size.count() > sweep.largest.count() / sweep.factor) break;  // the next one may not be countable
  }
}

}  // namespace

std::int64_t elements_for(Bytes size, Exchange const& exchange, std::int64_t ranks) {
  constexpr std::int64_t kShareBytes = 16;
  auto const element = size_of(exchange.type).count();
  auto const elements = size.count() / element;
  if (!exchange.has_shares()) return elements;
  auto const step = kShareBytes / element;
  return elements / ranks / step * step * ranks;
}

void sweep_collective(Executor& executor, CollectiveSweep const& sweep,
                      std::function<void(SweepRow const&)> const& take) {
  auto const ranks = executor.job().ranks;
  auto const capacity = elements_for(sweep.largest, sweep.exchange, ranks);
  for_each_size(sweep, [&](Bytes size) {
    auto exchange = sweep.exchange;
    exchange.elements = elements_for(size, exchange, ranks);
    if (exchange.elements == 0) return;
    exchange.is_in_place = false;
    auto row = SweepRow{.size = size_of(exchange.type) * exchange.elements,
                        .count = exchange.has_shares() ? exchange.elements / ranks : exchange.elements,
                        .out_of_place = measure_half(executor, exchange, capacity, sweep.sampling),
                        .in_place = {}};
    exchange.is_in_place = exchange.can_be_in_place();
    if (exchange.is_in_place) row.in_place = measure_half(executor, exchange, capacity, sweep.sampling);
    if (executor.job().is_first_process) take(row);
  });
}

std::array<Beside, 2> measure_beside(Executor& executor, Workload const& a, Workload const& b,
                                     Sampling const& sampling) {
  auto const alone = [&](Workload const& work) { return sample(executor, std::span{&work, 1}, sampling).front().each; };
  auto const both = std::array{a, b};
  auto const of_a = alone(a);
  auto const of_b = alone(b);
  auto const together = sample(executor, both, sampling);
  return {Beside{of_a, together[0].each}, Beside{of_b, together[1].each}};
}

void sweep_beside(Executor& executor, CollectiveSweep const& sweep, Exchange const& other,
                  std::function<void(Bytes size, std::array<Beside, 2> const&)> const& take) {
  auto const ranks = executor.job().ranks;
  for_each_size(sweep, [&](Bytes size) {
    auto both = std::array{sweep.exchange, other};
    for (auto& exchange : both) exchange.elements = elements_for(size, exchange, ranks);
    if (both[0].elements == 0 || both[1].elements == 0) return;
    auto const times = measure_beside(executor, both[0], both[1], sweep.sampling);
    if (executor.job().is_first_process) take(size, times);
  });
}

std::int64_t count_wrong(Executor& executor, Exchange const& exchange, std::int64_t capacity) {
  TWINSTEP_CHECK(exchange.elements <= capacity, "an exchange fits in the buffers of its sweep");
  static_cast<void>(executor.run(verification_program(exchange, executor.job().ranks, capacity)));
  auto wrong = std::int64_t{0};
  for (auto const rank : executor.local_ranks()) wrong += count_wrong_on(executor, exchange, rank);
  return executor.sum(wrong);
}

}  // namespace twinstep::measure
