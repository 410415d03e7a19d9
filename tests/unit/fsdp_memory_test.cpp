#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::MemoryCategory;
using program::MemorySpace;
using enum twinstep::strategies::StrategyName;
using Sharding = Fsdp1Options::Sharding;
using Place = OffloadPlace;

namespace {

/// Bytes of what a rank holds between steps, without the batch.
std::map<MemoryCategory, double> held(program::StepProgram const& step, MemorySpace space) {
  auto bytes = std::map<MemoryCategory, double>{};
  for (auto const& buffer : step.roles.front().buffers)
    if (buffer.is_persistent && buffer.space == space && buffer.category != MemoryCategory::kInputs)
      bytes[buffer.category] += bytes_of(buffer);
  return bytes;
}

}  // namespace

TEST_CASE("between steps mixed precision holds 12 bytes a parameter over the ranks that shard them", "[fsdp][memory]") {
  // fp32 parameter 4, two fp32 moments 8; no master beside it, no gradient. LLaMA-2-7B's rows divide by 64.
  auto const n = static_cast<double>(parameter_count(llama_2_7b()));
  auto const expect = [&](Plan const& plan, MemorySpace space, double shards) {
    auto bytes = held(compiled(llama_2_7b(), plan), space);
    INFO(name_of(plan.strategy) << " over " << shards);
    CHECK(bytes.size() == 2);
    CHECK(bytes[MemoryCategory::kParameters] == Approx(4 * n / shards));
    CHECK(bytes[MemoryCategory::kOptimizer] == Approx(8 * n / shards));
  };
  for (auto const name : {kFsdp1, kFsdp2}) {
    auto plan = fsdp_plan(name, 64);
    expect(plan, MemorySpace::kDevice, 64);
    plan.states.offload.optimizer = plan.states.offload.parameters = Place::kCpu;
    expect(plan, MemorySpace::kHost, 64);
    CHECK(held(compiled(llama_2_7b(), plan), MemorySpace::kDevice).empty());
    plan = fsdp_plan(name, 64);
    plan.parallel.shard_group = 8;
    if (name == kFsdp1) fsdp1_of(plan).sharding = Sharding::kHybridShard;
    expect(plan, MemorySpace::kDevice, 8);
  }
  auto plan = fsdp_plan(kFsdp2, 64);
  fsdp2_of(plan).reshard_after_forward = 8;  // of the parameters for backward alone
  expect(plan, MemorySpace::kDevice, 64);
}

TEST_CASE("FSDP2 gathers into two buffers by turns, the root's and one of a layer's size", "[fsdp][memory]") {
  // Rows that 64 ranks divide need no padding. Every other gather waits for the copy out of one buffer and takes it.
  auto const step = compiled(llama_2_7b(), fsdp_plan(kFsdp2, 64, 2));
  auto sizes = std::vector<std::int64_t>{};
  for (auto const& buffer : step.roles.front().buffers)
    if (step.text(buffer.name) == "all_gather_buffer") sizes.push_back(buffer.elements.base);
  auto const layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096;
  CHECK(sizes == std::vector<std::int64_t>{2 * 32000 * 4096 + 4096, layer});
}

TEST_CASE("gradient shards of 4 bytes live from the first reduction of their unit to the update", "[fsdp][memory]") {
  // LLaMA-2-7B: 32 layers and the root, so 33 shards of together 4 N / 64 bytes, whatever type is reduced.
  auto const n = static_cast<double>(parameter_count(llama_2_7b()));
  auto const expect = [&](Plan const& plan, double shards, std::string_view reduction) {
    INFO(name_of(plan.strategy) << ", shards over " << shards << ", reduces " << name_of(*plan.states.reduce_type));
    auto const step = compiled(llama_2_7b(), plan);
    auto const& role = step.roles.front();
    auto const& update = role.operations.back();
    REQUIRE(std::get<program::Elementwise>(update.work).function == program::Function::kAdamW);
    auto bytes = 0.0;
    auto count = 0;
    auto first_use = role.operations.size();
    for (auto const& access : role.accesses_of(update)) {
      auto const& buffer = role.buffers[access.region.buffer.index()];
      if (access.mode != program::AccessMode::kRead) continue;
      bytes += bytes_of(buffer);
      ++count;
      CHECK_FALSE(buffer.is_persistent);
      CHECK(buffer.category == MemoryCategory::kGradients);
      CHECK(buffer.last_use.index() + 1 == role.operations.size());
      first_use = std::min(first_use, buffer.first_use.index());
    }
    CHECK(count == 33);
    CHECK(bytes == Approx(4 * n / shards));
    // The last layer is reduced first, by its backward in the first of the two micro-batches.
    CHECK(step.text(role.operations[first_use].scope) == "layer.31.backward");
    auto const earlier = std::span{role.operations}.first(first_use + 1);
    auto const reductions =
        std::ranges::count_if(earlier, [&](program::Operation const& op) { return step.text(op.name) == reduction; });
    CHECK(reductions <= 1);
  };
  for (auto const reduce_type : {DataType::kBf16, DataType::kFp32}) {
    for (auto const name : {kFsdp1, kFsdp2}) {
      auto plan = fsdp_plan(name, 64, 2);
      plan.states.reduce_type = reduce_type;
      expect(plan, 64, "unit.reduce_scatter");
    }
    auto plan = fsdp_plan(kFsdp1, 64, 2);
    plan.states.reduce_type = reduce_type;
    fsdp1_of(plan).sharding = Sharding::kNoShard;
    expect(plan, 1, "unit.all_reduce");
  }
}
