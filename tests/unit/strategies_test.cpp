#include <map>

#include <fmt/core.h>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/parts/flat_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

/// Elements that each kind of collective moves in one step, on its large side.
std::map<CollectiveKind, std::int64_t> elements_by_kind(program::StepProgram const& step) {
  auto moved = std::map<CollectiveKind, std::int64_t>{};
  for (auto const& part : step.roles.front().parts) {
    auto const& collective = std::get<program::Collective>(part);
    moved[collective.kind] += collective.elements.base;
  }
  return moved;
}

Plan plan_of(StrategyName name, std::int64_t ranks, std::int64_t micro_batches) {
  return {.strategy = name,
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 2, .global_batch = 2 * ranks * micro_batches}};
}

}  // namespace

TEST_CASE("every program that a strategy emits is well-formed, free of races, and its collectives meet",
          "[strategies][program]") {
  for (auto const name : kAllStrategies) {
    for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, ModelSpec{odd_mlp()}}) {
      for (auto const ranks : {1, 2, 3, 8}) {
        for (auto const micro_batches : {1, 3}) {
          for (auto const recompute : {Recompute::kNone, Recompute::kFull}) {
            auto plan = plan_of(name, ranks, micro_batches);
            plan.strategy = with_buckets(name, 2_KiB, 2_KiB);
            plan.kernels.recompute = recompute;
            plan.batch.sequence_length = std::holds_alternative<Mlp>(model) ? 1 : 16;
            auto const step = compiled(model, plan);
            INFO(fmt::format("{} {} ranks {} micro-batches {} recompute {}", name_of(name), model_name(model), ranks,
                             micro_batches, name_of(recompute)));
            CHECK(find_defects(step) == std::vector<std::string>{});
            CHECK(find_races(step) == std::vector<std::string>{});
            CHECK(find_mismatches(step) == std::vector<std::string>{});
          }
        }
      }
    }
  }
}

TEST_CASE("replicas all-reduce N elements, which moves 2 N", "[strategies]") {
  auto const n = parameter_count(llama_2_7b());
  for (auto const name : {StrategyName::kNaive, StrategyName::kDdp}) {
    auto plan = plan_of(name, 32, 1);
    plan.batch.sequence_length = 4096;
    CHECK(elements_by_kind(compiled(llama_2_7b(), plan)) ==
          std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kAllReduce, n}});
  }
}

// LLaMA-2-7B's tensors divide by 32 ranks, so no padding comes on top.
TEST_CASE("ZeRO stages 1 and 2 move 2 N elements: one reduce-scatter and one all-gather", "[strategies]") {
  auto const n = parameter_count(llama_2_7b());
  for (auto const name : {StrategyName::kZero1, StrategyName::kZero2}) {
    auto plan = plan_of(name, 32, 1);
    plan.batch.sequence_length = 4096;
    CHECK(elements_by_kind(compiled(llama_2_7b(), plan)) ==
          std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kReduceScatter, n}, {CollectiveKind::kAllGather, n}});
  }
}

TEST_CASE("ZeRO stage 3 moves 3 N elements: two all-gathers and one reduce-scatter", "[strategies]") {
  auto const n = parameter_count(llama_2_7b());
  auto plan = plan_of(StrategyName::kZero3, 32, 1);
  plan.batch.sequence_length = 4096;
  for (auto const recompute :
       {Recompute::kNone, Recompute::kFull}) {  // recomputation uses what backward gathers anyway
    plan.kernels.recompute = recompute;
    CHECK(elements_by_kind(compiled(llama_2_7b(), plan)) ==
          std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kReduceScatter, n},
                                                 {CollectiveKind::kAllGather, 2 * n}});
  }
}

TEST_CASE("with accumulation replicas and ZeRO-1 reduce once, ZeRO-2 and ZeRO-3 in every micro-batch", "[strategies]") {
  // odd_mlp has 7·11 + 11·13 + 13·5 + 5·3 = 300 parameters; a single rank needs no padding.
  auto const moved = [](StrategyName name) { return elements_by_kind(compiled(odd_mlp(), plan_of(name, 1, 3))); };
  CHECK(moved(StrategyName::kDdp).at(CollectiveKind::kAllReduce) == 300);
  CHECK(moved(StrategyName::kZero1).at(CollectiveKind::kReduceScatter) == 300);
  CHECK(moved(StrategyName::kZero2).at(CollectiveKind::kReduceScatter) == 900);
  CHECK(moved(StrategyName::kZero2).at(CollectiveKind::kAllGather) == 300);
  CHECK(moved(StrategyName::kZero3).at(CollectiveKind::kReduceScatter) == 900);
  CHECK(moved(StrategyName::kZero3).at(CollectiveKind::kAllGather) == 1800);
}

TEST_CASE("a bucket closes with the tensor that reaches its limit", "[strategies][buckets]") {
  // fp32 gradients in ready order, MiB: 0.5, 0.3, 0.4, 10, 10, 10, 40, 3. Limits 1 then 25 MiB give
  // {0.5, 0.3, 0.4}, {10, 10, 10}, {40}, {3}. (Derived from PyTorch's compute_bucket_assignment_by_size.)
  auto const mib = std::int64_t{1} << 18;  // elements of fp32
  auto unit = UnitWork{.name = "layer"};
  // Backward visits tensors in reverse registration order.
  auto const ready =
      std::vector<std::int64_t>{mib / 2, mib * 3 / 10, mib * 4 / 10, 10 * mib, 10 * mib, 10 * mib, 40 * mib, 3 * mib};
  for (auto size = ready.rbegin(); size != ready.rend(); ++size) unit.parameters.push_back({"weight", *size, 1});
  for (std::size_t i = 0; i < ready.size(); ++i) {
    auto const tensor = static_cast<std::int32_t>(ready.size() - 1 - i);
    unit.slots.push_back({.name = "gradient",
                          .kind = SlotKind::kParameterGradient,
                          .elements = ready[i],
                          .type = DataType::kFp32,
                          .parameter = tensor});
    unit.backward.push_back({.name = "weight_gradient",
                             .work = program::Elementwise{},
                             .accesses = {{static_cast<std::int32_t>(i), program::AccessMode::kWrite}}});
  }
  auto const model = ModelWork{.kinds = {unit}, .units = {{0, 0}}};
  auto const parameters = Parameters{model};
  auto const buckets = bucketed(parameters, DataType::kFp32, {1_MiB, 25_MiB});
  auto sizes = std::vector<std::size_t>{};
  for (auto const& bucket : buckets) sizes.push_back(bucket.size());
  CHECK(sizes == std::vector<std::size_t>{3, 3, 1, 1});
}

TEST_CASE("full recomputation runs the layers' forward once more and adds a third to a layer's FLOPs", "[strategies]") {
  auto plan = plan_of(StrategyName::kDdp, 1, 1);
  plan.batch.sequence_length = 4096;
  auto const flops = [&](Recompute recompute) {
    plan.kernels.recompute = recompute;
    auto const step = compiled(llama_2_7b(), plan);
    auto total = Flops{};
    for (auto const& op : step.roles.front().operations) total += program::flops_of(op.work);
    return total.count();
  };
  // Forward of the layers is a third of their GEMM work; attention costs 2.5 times its forward in backward, and the
  // last linear layer of a block is not run again, so the whole step grows by a little less than a third.
  auto const growth = flops(Recompute::kFull) / flops(Recompute::kNone);
  CHECK(growth > 1.22);
  CHECK(growth < 1.34);
}

TEST_CASE("a batch that does not divide is an answer with a way out", "[strategies]") {
  auto const result = compile(odd_mlp(), {.parallel = {.data = 4}, .batch = {.micro_batch = 3, .global_batch = 100}});
  auto const& infeasible = std::get<Infeasible>(result);
  CHECK(infeasible.reason == "a global batch of 100 does not divide into micro-batches of 3 on 4 ranks");
  CHECK(infeasible.way_out == "use a multiple of 12, such as 108");
}

TEST_CASE("persistent memory of a rank follows the ZeRO paper", "[strategies][memory]") {
  // 16 bytes a parameter in mixed precision: 2 parameters, 2 gradients, 12 optimizer (arXiv 1910.02054, figure 1):
  // replicas 16 N; stage 1: 4 N + 12 N/64; stage 2: 2 N + 14 N/64; stage 3: 16 N/64.
  auto const n = static_cast<double>(parameter_count(llama_2_7b()));
  auto const persistent = [&](StrategyName name) {
    auto plan = plan_of(name, 64, 1);
    plan.batch.sequence_length = 64;
    auto const step = compiled(llama_2_7b(), plan);
    auto bytes = 0.0;
    for (auto const& buffer : step.roles.front().buffers)
      if (buffer.is_persistent && buffer.category != program::MemoryCategory::kInputs) bytes += bytes_of(buffer);
    return bytes / n;
  };
  CHECK(persistent(StrategyName::kNaive) == Approx(16));
  CHECK(persistent(StrategyName::kDdp) == Approx(2 + 2 + 4));  // PyTorch's AdamW makes its moments like the parameters
  CHECK(persistent(StrategyName::kZero1) == Approx(4 + 12.0 / 64));
  CHECK(persistent(StrategyName::kZero2) == Approx(2 + 14.0 / 64));
  CHECK(persistent(StrategyName::kZero3) == Approx(16.0 / 64));
}
