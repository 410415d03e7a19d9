#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/torch/fsdp_states.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using enum twinstep::strategies::StrategyName;
using Sharding = Fsdp1Options::Sharding;
using Prefetch = Fsdp1Options::Prefetch;
using Accumulation = FsdpAccumulation;
using Place = OffloadPlace;

// odd_mlp has four units of one tensor each and no root (its loss holds no parameters): 11·7 = 77, 13·11 = 143,
// 5·13 = 65 and 3·5 = 15 elements, 300 in all. On 4 ranks FSDP1 pads the flat parameters to 80, 144, 68 and 16, 308 in
// all; FSDP2 pads rows to 12·7 = 84, 16·11 = 176, 8·13 = 104 and 4·5 = 20, 384 in all.

namespace {

/// Collectives by kind and by the name of their communicator.
using Route = std::pair<CollectiveKind, std::string>;

bool is_hybrid(Sharding sharding) {
  return sharding == Sharding::kHybridShard || sharding == Sharding::kHybridShardZero2;
}

/// Calls `see(operation, collective)` for each collective in the order of issue.
template <class See>
void for_each_collective(program::StepProgram const& step, See see) {
  auto const& role = step.roles.front();
  for (auto const& op : role.operations)
    if (auto const* const communication = std::get_if<program::Communication>(&op.work))
      for (auto const& part : role.parts_of(*communication)) see(op, std::get<program::Collective>(part));
}

Route route_of(program::StepProgram const& step, program::Collective const& collective) {
  return {collective.kind, std::string{step.text(step.communicators[collective.communicator.index()].name)}};
}

/// Elements that each route carries in a step, on its large side: a rank sends and receives (n - 1) / n of them.
std::map<Route, std::int64_t> elements_by_route(program::StepProgram const& step) {
  auto moved = std::map<Route, std::int64_t>{};
  for_each_collective(step, [&](auto const&, auto const& collective) {
    moved[route_of(step, collective)] += collective.elements.base;
  });
  return moved;
}

std::map<Route, std::int64_t> gathered_and_reduced(std::int64_t gathered, std::int64_t reduced) {
  return {{{CollectiveKind::kAllGather, "data"}, gathered}, {{CollectiveKind::kReduceScatter, "data"}, reduced}};
}

/// The sizes of a route's collectives in the order of issue.
std::vector<std::int64_t> sizes_of(program::StepProgram const& step, Route const& route) {
  auto sizes = std::vector<std::int64_t>{};
  for_each_collective(step, [&](auto const&, auto const& collective) {
    if (route_of(step, collective) == route) sizes.push_back(collective.elements.base);
  });
  return sizes;
}

/// What the host issues: "gather 2" and "reduce 2" for collectives of unit 2, told by its size, and "compute 2" where
/// its backward begins.
std::vector<std::string> issued(program::StepProgram const& step, std::map<std::int64_t, int> const& unit_of_size) {
  auto events = std::vector<std::string>{};
  auto const& role = step.roles.front();
  for (auto const& op : role.operations) {
    if (auto const* const communication = std::get_if<program::Communication>(&op.work)) {
      auto const& collective = std::get<program::Collective>(role.parts_of(*communication).front());
      events.push_back(fmt::format("{} {}", collective.kind == CollectiveKind::kAllGather ? "gather" : "reduce",
                                   unit_of_size.at(collective.elements.base)));
    }
    if (!std::holds_alternative<program::Gemm>(op.work)) continue;
    for (auto const& [size, unit] : unit_of_size)
      if (auto const event = fmt::format("compute {}", unit);
          step.text(op.scope) == fmt::format("layer.{}.backward", unit) && events.back() != event)
        events.push_back(event);
  }
  return events;
}

std::string options_text(Plan const& plan) {
  if (auto const* const fsdp1 = plan.strategy.get_if<Fsdp1Options>())
    return fmt::format("{} accumulation {}", name_of(fsdp1->sharding), name_of(fsdp1->accumulation));
  auto const& fsdp2 = plan.strategy.get<Fsdp2Options>();
  return fmt::format("reshard {} accumulation {}", fsdp2.reshard_after_forward, name_of(fsdp2.accumulation));
}

void check(ModelSpec const& model, Plan plan) {
  for (auto const place : {Place::kNone, Place::kCpu}) {
    for (auto const micro_batches : {1, 3}) {
      plan.batch.global_batch = plan.batch.micro_batch * plan.parallel.data * micro_batches;
      plan.batch.sequence_length = std::holds_alternative<Mlp>(model) ? 1 : 16;
      plan.kernels.recompute = micro_batches == 3 ? Recompute::kFull : Recompute::kNone;
      plan.states.clips_gradients = micro_batches == 3;
      plan.states.offload.optimizer = plan.states.offload.parameters = place;
      INFO(fmt::format("{} {} {} groups of {} offload {} micro-batches {}", name_of(plan.strategy), model_name(model),
                       options_text(plan), plan.parallel.shard_group, name_of(place), micro_batches));
      auto const step = compiled(model, plan);
      CHECK(find_defects(step) == std::vector<std::string>{});
      CHECK(find_races(step) == std::vector<std::string>{});
      CHECK(find_mismatches(step) == std::vector<std::string>{});
    }
  }
}

constexpr Accumulation kAccumulations[] = {Accumulation::kReduce, Accumulation::kReduceScatter, Accumulation::kNoSync};

}  // namespace

// 4 units of 77, 143, 65 and 15 elements, without a root. From 70 on two are units, and the rest is the root's, 65
// + 15.
TEST_CASE("FSDP wraps layers, nothing, or what is large enough", "[fsdp]") {
  auto const gathered = [](StrategyName name, std::int64_t wraps_from) {
    auto plan = fsdp_plan(name, 4);
    if (name == kFsdp1)
      plan.strategy = Fsdp1Options{.wraps_from = wraps_from};
    else
      plan.strategy = Fsdp2Options{.wraps_from = wraps_from};
    auto sizes = sizes_of(compiled(odd_mlp(), plan), {CollectiveKind::kAllGather, "data"});
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  };
  using Sizes = std::vector<std::int64_t>;
  constexpr auto kNothing = std::numeric_limits<std::int64_t>::max();
  CHECK(gathered(kFsdp1, 0) == Sizes{16, 68, 80, 144});
  CHECK(gathered(kFsdp1, 70) == Sizes{80, 144});
  CHECK(gathered(kFsdp1, kNothing) == Sizes{300});
  CHECK(gathered(kFsdp2, kNothing) == Sizes{384});  // 84 + 176 + 104 + 20
}

TEST_CASE("every program of FSDP1 is well-formed, free of races, and its collectives meet", "[fsdp][program]") {
  for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, ModelSpec{odd_mlp()}})
    for (auto const sharding : {Sharding::kFullShard, Sharding::kShardGradOp, Sharding::kNoShard,
                                Sharding::kHybridShard, Sharding::kHybridShardZero2})
      for (auto const prefetch : {Prefetch::kBackwardPre, Prefetch::kBackwardPost, Prefetch::kNone})
        for (auto const accumulation : kAccumulations) {
          auto plan = fsdp_plan(kFsdp1, 4);
          plan.parallel.shard_group = is_hybrid(sharding) ? 2 : 0;
          plan.strategy =
              Fsdp1Options{.sharding = sharding, .backward_prefetch = prefetch, .accumulation = accumulation};
          fsdp1_of(plan).forward_prefetch = prefetch == Prefetch::kBackwardPost;
          fsdp1_of(plan).shards_root = prefetch != Prefetch::kNone;
          check(model, plan);
        }
}

TEST_CASE("so is every program of FSDP2, whatever it reshards", "[fsdp][program]") {
  for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, ModelSpec{odd_mlp()}})
    for (std::int64_t const reshard : {0, 1, 2})
      for (std::int64_t const group : {0, 2})
        for (auto const accumulation : kAccumulations) {
          if (reshard > 1 && group > 0) continue;  // resharding to a part is its own way to cut the ranks
          auto plan = fsdp_plan(kFsdp2, 4);
          plan.parallel.shard_group = group;
          plan.strategy = Fsdp2Options{.reshard_after_forward = reshard, .accumulation = accumulation};
          check(model, plan);
          fsdp2_of(plan).shards_root = false;
          check(model, plan);
        }
}

TEST_CASE("FULL_SHARD moves 3 N elements, padding included: every unit is gathered twice and reduced once", "[fsdp]") {
  auto plan = fsdp_plan(kFsdp1, 4);
  auto const step = compiled(odd_mlp(), plan);
  CHECK(elements_by_route(step) == gathered_and_reduced(2 * 308, 308));
  // In bytes: gathers in the type of compute, reductions in theirs, 2 · 2 · 308 + 4 · 308 = 2464.
  auto bytes = std::int64_t{0};
  for_each_collective(step, [&](auto const&, auto const& collective) {
    bytes += (size_of(collective.type) * collective.elements.base).count();
  });
  CHECK(bytes == 2464);

  plan.strategy = kFsdp2;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == gathered_and_reduced(2 * 384, 384));
}

TEST_CASE("SHARD_GRAD_OP and reshard_after_forward false move 2 N: parameters stay for backward", "[fsdp]") {
  auto plan = fsdp_plan(kFsdp1, 4);
  fsdp1_of(plan).sharding = Sharding::kShardGradOp;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == gathered_and_reduced(308, 308));
  plan = fsdp_plan(kFsdp2, 4);
  fsdp2_of(plan).reshard_after_forward = 0;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == gathered_and_reduced(384, 384));
}

TEST_CASE("NO_SHARD sums N elements, none of them padding, and gathers nothing", "[fsdp]") {
  auto plan = fsdp_plan(kFsdp1, 4);
  fsdp1_of(plan).sharding = Sharding::kNoShard;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) ==
        std::map<Route, std::int64_t>{{{CollectiveKind::kAllReduce, "data"}, 300}});
}

TEST_CASE("accumulation multiplies what is gathered, and what is reduced unless gradients are not synchronised",
          "[fsdp]") {
  // Three micro-batches.
  auto const moved = [](StrategyName name, bool keeps_parameters, Accumulation accumulation) {
    auto plan = fsdp_plan(name, 4, 3);
    auto const sharding = keeps_parameters ? Sharding::kShardGradOp : Sharding::kFullShard;
    if (name == kFsdp1)
      plan.strategy = Fsdp1Options{.sharding = sharding, .accumulation = accumulation};
    else
      plan.strategy = Fsdp2Options{.reshard_after_forward = keeps_parameters ? 0 : 1, .accumulation = accumulation};
    return elements_by_route(compiled(odd_mlp(), plan));
  };
  CHECK(moved(kFsdp1, false, Accumulation::kReduce) == gathered_and_reduced(6 * 308, 3 * 308));
  CHECK(moved(kFsdp1, false, Accumulation::kNoSync) == gathered_and_reduced(6 * 308, 308));
  CHECK(moved(kFsdp1, true, Accumulation::kReduce) == gathered_and_reduced(3 * 308, 3 * 308));
  // Inside no_sync SHARD_GRAD_OP does not free parameters after backward either.
  CHECK(moved(kFsdp1, true, Accumulation::kNoSync) == gathered_and_reduced(308, 308));

  CHECK(moved(kFsdp2, false, Accumulation::kReduce) == gathered_and_reduced(6 * 384, 3 * 384));
  CHECK(moved(kFsdp2, false, Accumulation::kNoSync) == gathered_and_reduced(6 * 384, 384));
  CHECK(moved(kFsdp2, true, Accumulation::kReduce) == gathered_and_reduced(3 * 384, 3 * 384));
  // fully_shard does free them (reshard_after_backward).
  CHECK(moved(kFsdp2, true, Accumulation::kNoSync) == gathered_and_reduced(3 * 384, 384));
}

TEST_CASE("backward prefetch decides where FSDP1 issues the next gather; all share one communicator", "[fsdp]") {
  auto const issued_with = [](Prefetch prefetch) {
    auto plan = fsdp_plan(kFsdp1, 4);
    fsdp1_of(plan).backward_prefetch = prefetch;
    auto const step = compiled(odd_mlp(), plan);
    CHECK(step.communicators.size() == 1);
    auto events = issued(step, {{80, 0}, {144, 1}, {68, 2}, {16, 3}});
    REQUIRE(events.size() > 4);
    CHECK(std::vector(events.begin(), events.begin() + 4) ==
          std::vector<std::string>{"gather 0", "gather 1", "gather 2", "gather 3"});
    return std::vector(events.begin() + 4, events.end());
  };
  // Before the computation of a unit the gather of the one before it; the loss prefetches unit 3. On the communicator:
  // gather i-1, reduce i, gather i-2, reduce i-1.
  CHECK(issued_with(Prefetch::kBackwardPre) ==
        std::vector<std::string>{"gather 3", "gather 2", "compute 3", "reduce 3", "gather 1", "compute 2", "reduce 2",
                                 "gather 0", "compute 1", "reduce 1", "compute 0", "reduce 0"});
  // After the computation, yet before the reduction, so the communicator has the same order.
  CHECK(issued_with(Prefetch::kBackwardPost) ==
        std::vector<std::string>{"gather 3", "compute 3", "gather 2", "reduce 3", "compute 2", "gather 1", "reduce 2",
                                 "compute 1", "gather 0", "reduce 1", "compute 0", "reduce 0"});
  // When it is needed, after the reduction.
  CHECK(issued_with(Prefetch::kNone) == std::vector<std::string>{"gather 3", "compute 3", "reduce 3", "gather 2",
                                                                 "compute 2", "reduce 2", "gather 1", "compute 1",
                                                                 "reduce 1", "gather 0", "compute 0", "reduce 0"});
}

TEST_CASE("FSDP1's host waits before a gather while two freed units are pending", "[fsdp]") {
  // Each wait takes one free off the list. Forward: the gathers of units 2 and 3 find two frees pending. Backward: that
  // of unit 3 finds those of 2 and 3, that of unit 2 the latter alone, those of units 1 and 0 two again. 2 + 3 waits.
  auto const waits = [](bool limits) {
    auto plan = fsdp_plan(kFsdp1, 4);
    fsdp1_of(plan).limit_all_gathers = limits;
    auto const step = compiled(odd_mlp(), plan);
    auto count = 0;
    for (auto const& op : step.roles.front().operations)
      if (step.text(op.name) == "unit.all_gather.limit") {
        CHECK(op.is_on_host());
        CHECK(op.waits.count == 1);
        ++count;
      }
    return count;
  };
  CHECK(waits(true) == 5);
  CHECK(waits(false) == 0);
}

TEST_CASE("the root unit is gathered once a step, every other one twice", "[fsdp]") {
  auto const gathers = [](ModelSpec const& model, StrategyName name, bool shards_root = true) {
    auto plan = fsdp_plan(name, 4);
    plan.batch.sequence_length = 16;
    if (name == kFsdp1)
      fsdp1_of(plan).shards_root = shards_root;
    else
      fsdp2_of(plan).shards_root = shards_root;
    auto counts = std::map<std::int64_t, int>{};
    for (auto const size : sizes_of(compiled(model, plan), {CollectiveKind::kAllGather, "data"})) ++counts[size];
    return counts;
  };
  using Counts = std::map<std::int64_t, int>;
  // tiny_llama: embedding and head 2 · 101 · 64 and a norm of 64 are the root, 12,992. A layer: attention
  // 2 · 64 · 64 + 2 · 32 · 64, MLP 3 · 96 · 64, two norms of 64, 30,848. FSDP2 pads 101 rows to 104.
  CHECK(gathers(tiny_llama(), kFsdp1) == Counts{{12'992, 1}, {30'848, 2 * 2}});
  CHECK(gathers(tiny_llama(), kFsdp2) == Counts{{2 * 104 * 64 + 64, 1}, {30'848, 2 * 2}});
  // As units of their own, embedding (6464) and norm with head (6528) are freed like all others.
  CHECK(gathers(tiny_llama(), kFsdp1, false) == Counts{{6464, 2}, {6528, 2}, {30'848, 2 * 2}});
  // tiny_gpt2: tokens 97 · 48 (tied with the head), positions 32 · 48 and a norm of 2 · 48, 6288. A layer:
  // norms 2 · 96, attention 144 · 49 + 48 · 49, MLP 192 · 49 + 48 · 193, 28,272. FSDP2 pads 97 rows to 100.
  CHECK(gathers(tiny_gpt2(), kFsdp1) == Counts{{6288, 1}, {28'272, 3 * 2}});
  CHECK(gathers(tiny_gpt2(), kFsdp2) == Counts{{6288 + 3 * 48, 1}, {28'272, 3 * 2}});
  // Tied tensors lie in one unit whatever the plan says.
  CHECK(gathers(tiny_gpt2(), kFsdp1, false) == Counts{{6288, 1}, {28'272, 3 * 2}});
}

TEST_CASE("HYBRID_SHARD shards inside groups and all-reduces each shard over the replicas", "[fsdp]") {
  // 8 ranks in groups of 4: units are padded as on 4 ranks. Shards, from the last unit: 16/4, 68/4, 144/4 and 80/4
  // elements, 77 in all; with rows 20/4, 104/4, 176/4 and 84/4, 96 in all.
  auto const all_reduce = Route{CollectiveKind::kAllReduce, "replicate"};
  auto const moved = [&](std::int64_t gathered, std::int64_t reduced, std::int64_t all_reduced) {
    return std::map<Route, std::int64_t>{{{CollectiveKind::kAllGather, "shard"}, gathered},
                                         {{CollectiveKind::kReduceScatter, "shard"}, reduced},
                                         {all_reduce, all_reduced}};
  };
  auto const stream_of_all_reduce = [](program::StepProgram const& step) {
    auto name = std::string{};
    for_each_collective(step, [&](auto const& op, auto const& collective) {
      if (collective.kind == CollectiveKind::kAllReduce)
        name = step.text(step.roles.front().streams[op.stream.index()].name);
    });
    return name;
  };

  auto plan = fsdp_plan(kFsdp1, 8);
  plan.parallel.shard_group = 4;
  fsdp1_of(plan).sharding = Sharding::kHybridShard;
  auto step = compiled(odd_mlp(), plan);
  CHECK(elements_by_route(step) == moved(2 * 308, 308, 77));
  CHECK(sizes_of(step, all_reduce) == std::vector<std::int64_t>{4, 17, 36, 20});
  CHECK(stream_of_all_reduce(step) == "post_backward");  // one after the other with the reduce-scatters
  fsdp1_of(plan).sharding = Sharding::kHybridShardZero2;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == moved(308, 308, 77));

  plan = fsdp_plan(kFsdp2, 8);
  plan.parallel.shard_group = 4;
  step = compiled(odd_mlp(), plan);
  CHECK(elements_by_route(step) == moved(2 * 384, 384, 96));
  CHECK(sizes_of(step, all_reduce) == std::vector<std::int64_t>{5, 26, 44, 21});
  CHECK(stream_of_all_reduce(step) == "all_reduce");

  // Three micro-batches: all-reduced in each, or in the last one alone (set_requires_all_reduce).
  plan = fsdp_plan(kFsdp2, 8, 3);
  plan.parallel.shard_group = 4;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == moved(6 * 384, 3 * 384, 3 * 96));
  fsdp2_of(plan).accumulation = Accumulation::kReduceScatter;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == moved(6 * 384, 3 * 384, 96));
  fsdp2_of(plan).accumulation = Accumulation::kNoSync;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) == moved(6 * 384, 384, 96));
}

TEST_CASE("resharding to groups of m gathers over all ranks in forward, inside the groups in backward", "[fsdp]") {
  auto plan = fsdp_plan(kFsdp2, 4);
  fsdp2_of(plan).reshard_after_forward = 2;
  CHECK(elements_by_route(compiled(odd_mlp(), plan)) ==
        std::map<Route, std::int64_t>{{{CollectiveKind::kAllGather, "data"}, 384},
                                      {{CollectiveKind::kAllGather, "shard"}, 384},
                                      {{CollectiveKind::kReduceScatter, "data"}, 384}});
  // The parts that are kept: a half of each unit in bf16, 384/2 · 2 bytes.
  auto kept = 0.0;
  auto const step = compiled(odd_mlp(), plan);
  for (auto const& buffer : step.roles.front().buffers)
    if (step.text(buffer.name) == "unit_parameters.resharded") kept += bytes_of(buffer);
  CHECK(kept == 384);
}

TEST_CASE("FSDP2 cuts tensors along their first dimension, so 5 rows on 4 ranks take 8", "[fsdp]") {
  // Unit 2 of odd_mlp is 5 rows of 13: 8 · 13 = 104 elements, where FSDP1 pads 65 to 68.
  auto const forward = [](StrategyName name) {
    auto sizes = sizes_of(compiled(odd_mlp(), fsdp_plan(name, 4)), {CollectiveKind::kAllGather, "data"});
    sizes.resize(4);
    return sizes;
  };
  CHECK(forward(kFsdp2) == std::vector<std::int64_t>{84, 176, 104, 20});
  CHECK(forward(kFsdp1) == std::vector<std::int64_t>{80, 144, 68, 16});
}

TEST_CASE("FSDP2 has two gather buffers and one reduction buffer alive: the next ones wait", "[fsdp]") {
  auto const step = compiled(odd_mlp(), fsdp_plan(kFsdp2, 4));
  auto const& role = step.roles.front();
  auto const ops = [&](std::string_view name) {
    auto found = std::vector<OpId>{};
    for (std::size_t i = 0; i < role.operations.size(); ++i)
      if (step.text(role.operations[i].name) == name) found.emplace_back(i);
    return found;
  };
  auto const waits = [&](OpId op, OpId before) {
    auto const all = role.waits_of(role.operations[op.index()]);
    return std::ranges::find(all, before) != all.end();
  };
  auto const copies_in = ops("unit.all_gather.copy_in");
  auto const gathers = ops("unit.all_gather");
  auto const copies_out = ops("unit.all_gather.copy_out");
  REQUIRE(copies_in.size() == 8);
  REQUIRE(gathers.size() == 8);
  REQUIRE(copies_out.size() == 8);
  // Each is copied out when it is there.
  for (std::size_t i = 0; i < 8; ++i) CHECK(waits(copies_out[i], gathers[i]));
  // Forward: the gather of unit i + 2 waits until unit i is copied out; backward: each, until the one before is.
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(waits(gathers[i + 2], copies_out[i]));
    CHECK_FALSE(waits(gathers[i + 2], copies_out[i + 1]));
  }
  for (std::size_t i = 4; i < 7; ++i) CHECK(waits(gathers[i + 1], copies_out[i]));

  auto const reductions = ops("unit.reduce_scatter");
  auto const inputs = ops("unit.reduce_scatter.copy_in");
  REQUIRE(reductions.size() == 4);
  REQUIRE(inputs.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) CHECK(waits(inputs[i + 1], reductions[i]));
}

TEST_CASE("16-bit sums are divided by about the root of the ranks before and by the rest after", "[fsdp]") {
  // The first power of two that does not divide the ranks or whose square reaches them, and what is left
  // (torch/distributed/algorithms/_comm_hooks/default_hooks.py). 8: 1 and 2 divide it with 8 and 4 left, which is more
  // than they are; 4 leaves 2. 6: 4 does not divide it. 12: 4 leaves 3.
  auto const factors = [](std::int64_t ranks) {
    auto const [before, after] = divide_factors(ranks);
    return std::pair{before, after};
  };
  CHECK(factors(1) == std::pair{1.0, 1.0});
  CHECK(factors(2) == std::pair{2.0, 1.0});
  CHECK(factors(3) == std::pair{2.0, 1.5});
  CHECK(factors(4) == std::pair{2.0, 2.0});
  CHECK(factors(6) == std::pair{4.0, 1.5});
  CHECK(factors(8) == std::pair{4.0, 2.0});
  CHECK(factors(12) == std::pair{4.0, 3.0});
  CHECK(factors(16) == std::pair{4.0, 4.0});
  CHECK(factors(32) == std::pair{8.0, 4.0});
  for (std::int64_t ranks = 1; ranks <= 100; ++ranks) {
    auto const [before, after] = divide_factors(ranks);
    CHECK(before * after == Approx(ranks));
  }
}
