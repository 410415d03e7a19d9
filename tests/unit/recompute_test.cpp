#include "strategies/parts/recompute.hpp"

#include <fmt/core.h>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/model/kept.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

Plan recomputing(Recompute recompute, RecomputeScope scope = {}) {
  return {.batch = {.sequence_length = 16}, .kernels = {.recompute = recompute, .recompute_scope = scope}};
}

ModelWork work(ModelSpec const& model, std::int64_t sequence_length, bool flash_attention = true) {
  return work_of(model, {.sequence_length = sequence_length, .flash_attention = flash_attention});
}

/// Bytes that the first block keeps for its backward, without what lies in memory anyway.
Bytes bytes_kept(ModelWork const& model, Recompute recompute) {
  auto const plan = recomputing(recompute);
  return saved_bytes(model.work(model.units[1]), RecomputedUnits{model, plan}.of(1).kept);
}

/// Kernels of one micro-batch that run a second time.
std::int64_t kernels_again(ModelWork const& model, Plan const& plan) {
  auto const recomputed = RecomputedUnits{model, plan};
  auto count = std::size_t{0};
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) count += recomputed.of(unit).kernels.size();
  return static_cast<std::int64_t>(count);
}

Mlp deep_mlp() {
  return {.name = "deep-mlp", .widths = std::vector<std::int64_t>(10, 8)};  // nine layers
}

Bytes moved(program::StepProgram const& step, program::CopyDirection direction) {
  auto sum = Bytes{};
  for (auto const& op : step.roles.front().operations)
    if (auto const* copy = std::get_if<program::Copy>(&op.work); copy != nullptr && copy->direction == direction)
      sum += Bytes{copy->bytes.base};
  return sum;
}

}  // namespace

// frameworks.md, section 7.2, per token and layer in 16 bits: 12 h + 4 kd + 8 f + 4 a + 8.
// LLaMA-2-7B: 12 · 4096 + 4 · 4096 + 8 · 11008 + 4 · 32 + 8 = 153,736.
TEST_CASE("a LLaMA-2-7B layer keeps 153.7 kB a token without recomputation, and its input of 8 kB with it",
          "[recompute][memory]") {
  auto const model = work(llama_2_7b(), 4096);
  CHECK(bytes_kept(model, Recompute::kNone).count() / 4096 == 153'736);
  CHECK(bytes_kept(model, Recompute::kFull).count() / 4096 == 2 * 4096);
}

// LLaMA-3-8B: 12 · 4096 + 4 · 1024 + 8 · 14336 + 4 · 32 + 8 = 168,072.
TEST_CASE("a LLaMA-3-8B layer keeps 168 kB a token", "[recompute][memory]") {
  auto llama_3_8b = llama_2_7b();
  llama_3_8b.kv_heads = 8;
  llama_3_8b.ffn = 14336;
  CHECK(bytes_kept(work(llama_3_8b, 8192), Recompute::kNone).count() / 8192 == 168'072);
}

TEST_CASE("every so many-th block is recomputed, or the first ones, or all", "[recompute]") {
  auto const model = work(deep_mlp(), 1);
  // Eight layers have a product and a gelu; recomputation stops at the product, which is what backward reads. The ninth
  // layer keeps nothing.
  CHECK(kernels_again(model, recomputing(Recompute::kNone)) == 0);
  CHECK(kernels_again(model, recomputing(Recompute::kFull)) == 8);
  CHECK(kernels_again(model, recomputing(Recompute::kFull, {.every = 2})) == 4);  // 2, 4, 6, 8
  CHECK(kernels_again(model, recomputing(Recompute::kFull, {.every = 3})) == 2);  // 3, 6, and 9, which keeps nothing
  CHECK(kernels_again(model, recomputing(Recompute::kFull, {.first = 5})) == 5);
  CHECK(kernels_again(model, recomputing(Recompute::kFull, {.every = 2, .first = 5})) == 2);  // 2, 4
}

TEST_CASE("the blocks of a segment run their whole forward again, the last one what backward reads", "[recompute]") {
  auto const model = work(deep_mlp(), 1);
  auto const plan = recomputing(Recompute::kFull, {.segment = 3});  // 0-2, 3-5, 6-8
  auto const recomputed = RecomputedUnits{model, plan};
  for (auto const unit : {0U, 1U, 2U}) CHECK(recomputed.segment_begin(unit) == 0);
  CHECK(recomputed.segment_begin(5) == 3);
  CHECK_FALSE(recomputed.ends_segment(4));
  CHECK(recomputed.ends_segment(5));
  CHECK(recomputed.segment_begin(9) == 9);  // the loss
  // 2 + 2 + 1 kernels in the first two segments, 2 + 2 + 0 in the third.
  CHECK(kernels_again(model, plan) == 14);
}

// A layer's forward is 2 N + 4 s h FLOPs a token, of which backward needs all but the last product (mlp.down: 2 h f).
TEST_CASE("full recomputation adds one forward of the blocks but for their last product", "[recompute]") {
  auto const model = work(llama_2_7b(), 4096);
  auto const h = 4096.0;
  auto const f = 11008.0;
  auto const forward = 2 * (4 * h * h + 3 * h * f) + 4 * 4096 * h;
  auto const again = RecomputedUnits{model, recomputing(Recompute::kFull)}.flops().count() / 4096 / 32;
  CHECK(again == Approx(forward - 2 * h * f));
}

// Korthikanti et al., section 5: the attention core is 4 s² b h FLOPs a layer. Unfused, the product of probabilities
// and values is half of that; backward needs the probabilities, and the result was kept.
TEST_CASE("selective recomputation runs the attention core again, as far as backward needs it", "[recompute]") {
  auto const plan = recomputing(Recompute::kSelective);
  auto const again = [&](bool flash_attention) {
    auto const model = work(llama_2_7b(), 2048, flash_attention);
    return RecomputedUnits{model, plan}.flops().count() / 32;
  };
  CHECK(again(true) == Approx(4.0 * 2048 * 2048 * 4096));
  CHECK(again(false) == Approx(2.0 * 2048 * 2048 * 4096));
}

// Korthikanti et al., table 2: 34 s b h with selective recomputation, of GELU blocks with dropout. Theirs counts norms'
// inputs in 16 bits and no statistics; ours adds 2 + 2 fp32 numbers a token.
TEST_CASE("a GPT block with unfused attention keeps 34 h bytes a token with selective recomputation",
          "[recompute][memory]") {
  auto gpt = tiny_gpt2();
  gpt.hidden = 1024;
  gpt.heads = gpt.kv_heads = 16;
  gpt.head_size = 64;
  gpt.ffn = 4096;
  auto const kept = bytes_kept(work(gpt, 32, false), Recompute::kSelective).count() / 32;
  CHECK(kept - 4 * 4 == 34 * 1024);
}

TEST_CASE("programs of every policy and scope are well-formed, free of races, and their collectives meet",
          "[recompute][program]") {
  for (auto const name : kAllStrategies) {
    for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, ModelSpec{deep_mlp()}}) {
      for (auto const recompute : {Recompute::kNone, Recompute::kFull, Recompute::kSelective, Recompute::kPerOp}) {
        for (auto const scope : {RecomputeScope{}, RecomputeScope{.every = 2}, RecomputeScope{.first = 1},
                                 RecomputeScope{.segment = 2}, RecomputeScope{.segment = 2, .first = 2}}) {
          for (auto const offloads : {false, true}) {
            if (scope.segment > 1 && recompute != Recompute::kFull) continue;
            auto plan = recomputing(recompute, scope);
            plan.strategy = name;
            plan.parallel.data = 2;
            plan.batch.global_batch = 4;
            plan.batch.sequence_length = std::holds_alternative<Mlp>(model) ? 1 : 16;
            plan.kernels.flash_attention = offloads;  // either, with some policy
            plan.states.offload.activations = offloads;
            auto const step = compiled(model, plan);
            INFO(fmt::format("{} {} recompute {}, every {}, segment {}, offload {}", name_of(name), model_name(model),
                             name_of(recompute), scope.every, scope.segment, offloads));
            CHECK(find_defects(step) == std::vector<std::string>{});
            CHECK(find_races(step) == std::vector<std::string>{});
            CHECK(find_mismatches(step) == std::vector<std::string>{});
          }
        }
      }
    }
  }
}

TEST_CASE("offloading takes what every block keeps to the host and back", "[recompute][offload]") {
  auto const model = work(tiny_llama(), 16);
  for (auto const recompute : {Recompute::kNone, Recompute::kFull, Recompute::kSelective}) {
    auto plan = recomputing(recompute);
    plan.states.offload.activations = true;
    auto const step = compiled(tiny_llama(), plan);
    auto const bytes = bytes_kept(model, recompute) * 2;  // two layers
    CHECK(moved(step, program::CopyDirection::kDeviceToHost) == bytes);
    CHECK(moved(step, program::CopyDirection::kHostToDevice) == bytes);
  }
}

TEST_CASE("of a segment, offloading takes the first block's input", "[recompute][offload]") {
  auto plan = recomputing(Recompute::kFull, {.segment = 2});
  plan.states.offload.activations = true;
  // One segment: 16 tokens of 64 numbers in 16 bits.
  CHECK(moved(compiled(tiny_llama(), plan), program::CopyDirection::kDeviceToHost).count() == 16 * 64 * 2);
}

TEST_CASE("ZeRO-3 gathers the blocks of a segment once more than those that are recomputed alone", "[recompute]") {
  auto const gathers = [](std::int64_t segment) {
    auto plan = recomputing(Recompute::kFull, {.segment = segment});
    plan.strategy = StrategyName::kZero3;
    plan.parallel.data = plan.batch.global_batch = 2;
    plan.batch.sequence_length = 1;
    auto const step = compiled(deep_mlp(), plan);
    auto count = 0;
    for (auto const& part : step.roles.front().parts)
      count += std::get<program::Collective>(part).kind == CollectiveKind::kAllGather ? 1 : 0;
    return count;
  };
  CHECK(gathers(1) == 2 * 9);
  CHECK(gathers(3) == 2 * 9 + 6);  // three segments, each with two blocks whose forward runs before any backward
}
