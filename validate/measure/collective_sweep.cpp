#include "validate/measure/collective_sweep.hpp"

#include "sim/base/check.hpp"
#include "validate/measure/verification.hpp"

namespace twinstep::measure {
namespace {

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

}  // namespace twinstep::measure
