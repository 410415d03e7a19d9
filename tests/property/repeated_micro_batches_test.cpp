// A step whose micro-batches are alike is run in part: what is told of it is what a run of the whole step tells, to the
// picosecond and the byte.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/question.hpp"
#include "explore/ask/scenario.hpp"
#include "sim/program/unfold.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::explore;

namespace {

constexpr auto kStrategies = std::array<std::string_view, 38>{
    R"("name": "naive")",
    R"("name": "ddp")",
    R"("name": "ddp", "no_sync": false)",
    R"("name": "ddp", "no_sync": false, "gradient_as_bucket_view": true, "find_unused_parameters": true)",
    R"("name": "ddp", "comm_hook": "bf16")",
    R"("name": "ddp", "no_sync": false, "comm_hook": "fp16")",
    R"("name": "zero-1")",
    R"("name": "zero-2")",
    R"("name": "zero-3")",
    R"("name": "zero-3", "recompute": "full")",
    R"("name": "fsdp1")",
    R"("name": "fsdp1", "accumulation": "no_sync", "backward_prefetch": "BACKWARD_POST")",
    R"("name": "fsdp1", "sharding": "SHARD_GRAD_OP", "forward_prefetch": true)",
    R"("name": "fsdp1", "sharding": "NO_SHARD")",
    R"("name": "fsdp1", "sharding": "HYBRID_SHARD", "shard_group": 8, "limit_all_gathers": false)",
    R"("name": "fsdp2")",
    R"("name": "fsdp2", "recompute": "full")",
    R"("name": "fsdp2", "reshard_after_forward": false)",
    R"("name": "fsdp2", "reshard_after_forward": 8)",
    R"("name": "fsdp2", "accumulation": "no_sync")",
    R"("name": "fsdp2", "shard_group": 8)",
    R"("name": "fsdp2", "shard_group": 8, "accumulation": "reduce_scatter")",
    R"("name": "fsdp2", "recompute": "full", "offload": {"activations": true})",
    R"("name": "deepspeed-1")",
    R"("name": "deepspeed-1", "overlap_comm": true)",
    R"("name": "deepspeed-1", "offload": {"optimizer": "cpu"})",
    R"("name": "deepspeed-2")",
    R"("name": "deepspeed-2", "overlap_comm": true, "reduce_bucket_size": 3000000)",
    R"("name": "deepspeed-2", "offload": {"optimizer": "cpu"})",
    R"("name": "deepspeed-3")",
    R"("name": "deepspeed-3", "recompute": "full", "stage3_prefetch_bucket_size": 1000000)",
    R"("name": "deepspeed-3", "overlap_comm": false)",
    R"("name": "deepspeed-3", "offload": {"optimizer": "cpu", "parameters": "cpu"})",
    R"("name": "deepspeed-3", "zero_hpz_partition_size": 8, "zero_quantized_weights": true,
       "zero_quantized_gradients": true)",
    R"("name": "megatron")",
    R"("name": "megatron", "use_distributed_optimizer": false)",
    R"("name": "megatron", "overlap_grad_reduce": false, "overlap_param_gather": false)",
    R"("name": "megatron", "recompute": "full")"};

constexpr auto kMachines = std::array<std::string_view, 3>{
    R"("profile": "dgx-h100-ndr", "nodes": 2)", R"("profile": "l40s-8-roce-200", "nodes": 2)",
    R"("profile": "dgx-a100-hdr", "nodes": 2, "allocator": {"expandable_segments": true})"};

/// Two layers, wide ones that keep the device busy and narrow ones that wait for the host.
constexpr auto kHidden = std::array{4096, 256};

Scenario scenario(std::string_view machine, int hidden, std::int64_t micro_batches, std::string_view strategy,
                  int layers = 3) {
  auto const text = fmt::format(
      R"({{"cluster": {{{}}},
           "model": {{"family": "llama", "layers": {}, "hidden": {}, "heads": 8, "ffn": {}, "vocabulary": 4000}},
           "training": {{"sequence_length": 1024, "micro_batch": 1, "global_batch": {}, "precision": "bf16",
                         "optimizer": "adamw-fused"}},
           "strategy": {{{}}}}})",
      machine, layers, hidden, hidden * 3, 16 * micro_batches, strategy);
  return read_scenarios(question_of(io::parse({"scenario.json", text}))).front();
}

void check_same(reports::MemoryPeak const& a, reports::MemoryPeak const& b) {
  CHECK(a.held == b.held);
  CHECK(a.time == b.time);
  CHECK(a.at == b.at);
}

void check_same(reports::Summary const& a, reports::Summary const& b) {
  CHECK(a.step_time == b.step_time);
  CHECK(a.breakdown == b.breakdown);
  CHECK(a.exposed_communication == b.exposed_communication);
  CHECK(a.communication == b.communication);
  CHECK(a.wire == b.wire);
  CHECK(a.events == b.events);
  CHECK(a.tokens == b.tokens);
  CHECK(a.mfu == b.mfu);
  check_same(a.peak, b.peak);
  check_same(a.reserved_peak, b.reserved_peak);
  CHECK(a.allocator == b.allocator);
  CHECK(a.host_peak == b.host_peak);
  CHECK(a.nvme_peak == b.nvme_peak);
  REQUIRE(a.links.size() == b.links.size());
  for (std::size_t i = 0; i < a.links.size(); ++i) CHECK(a.links[i].traffic == b.links[i].traffic);
}

/// Gives equal variations one id: a step has one for each time that it is asked for.
class Variations {
 public:
  explicit Variations(program::StepProgram& program) : program_{program} {
    for (auto const& variation : program.variations) {
      auto const known = std::ranges::find(distinct_, variation);
      ids_.emplace_back(static_cast<std::size_t>(known - distinct_.begin()));
      if (known == distinct_.end()) distinct_.push_back(variation);
    }
  }

  void merge() {
    for (auto& role : program_.roles) {
      for (auto& buffer : role.buffers) merge(buffer.elements);
      for (auto& access : role.accesses) merge(access.region.offset), merge(access.region.elements);
      for (auto& part : role.parts) std::visit([this](auto& each) { merge_of(each); }, part);
      for (auto& op : role.operations) std::visit([this](auto& each) { merge_of(each); }, op.work);
    }
    program_.variations = distinct_;
  }

 private:
  void merge(program::RankValue& value) const {
    if (value.varies()) value.variation = ids_[value.variation.index()];
  }
  void merge_of(auto& work) const {
    if constexpr (requires { work.root; }) merge(work.root);
    if constexpr (requires { work.peer; }) merge(work.peer);
    if constexpr (requires { work.elements; }) merge(work.elements);
    if constexpr (requires { work.bytes.base; }) merge(work.bytes);
  }

  program::StepProgram& program_;
  std::vector<program::Variation> distinct_;
  std::vector<program::VariationId> ids_;
};

program::StepProgram program_of(Scenario const& scenario, MicroBatches micro_batches) {
  auto step = std::get<program::StepProgram>(strategies::compile(scenario.model, scenario.plan, micro_batches));
  auto whole = program::unfold(std::move(step));
  Variations{whole}.merge();
  return whole;
}

}  // namespace

TEST_CASE("a folded program unfolds to the whole one, operation for operation", "[program][property]") {
  for (auto const micro_batches : {8, 9, 12, 33})
    for (auto const strategy : kStrategies) {
      INFO(micro_batches << " micro-batches, " << strategy);
      auto const asked = scenario(kMachines[0], kHidden[1], micro_batches, strategy);
      auto const unfolded = program_of(asked, MicroBatches::kFew);
      auto const whole = program_of(asked, MicroBatches::kAll);
      CHECK(unfolded.names == whole.names);
      CHECK(unfolded.scopes == whole.scopes);
      REQUIRE(unfolded.roles.size() == 1);
      CHECK(unfolded.roles[0].buffers.size() == whole.roles[0].buffers.size());
      CHECK(unfolded.roles[0].operations.size() == whole.roles[0].operations.size());
      CHECK((unfolded == whole));
    }
}

TEST_CASE("two buffers that are used in turn stay in turn when a program unfolds", "[program][property]") {
  // Four layers and the root are gathered once a micro-batch, into two buffers in turn. Five is odd, so each unit finds
  // the other buffer in every other micro-batch.
  for (auto const micro_batches : {9, 12}) {
    auto const asked = scenario(kMachines[0], kHidden[1], micro_batches,
                                R"("name": "fsdp2", "reshard_after_forward": false, "shard_group": 8)", 4);
    CHECK((program_of(asked, MicroBatches::kFew) == program_of(asked, MicroBatches::kAll)));
    check_same(std::get<Run>(run_step(asked)).summary,
               std::get<Run>(run_step(asked, {}, Checks::kNone, MicroBatches::kAll)).summary);
  }
}

TEST_CASE("leaving out micro-batches that are alike changes no answer", "[engine][property]") {
  constexpr auto kMicroBatches = std::array{10, 17, 40};
  auto left_out = std::size_t{0};
  auto all = std::size_t{0};
  for (auto const machine : kMachines)
    for (auto const strategy : kStrategies) {
      auto const micro_batches = kMicroBatches[all % kMicroBatches.size()];
      auto const hidden = kHidden[all++ % kHidden.size()];
      INFO(machine << ", hidden " << hidden << ", " << micro_batches << " micro-batches, " << strategy);
      auto const asked = scenario(machine, hidden, micro_batches, strategy);
      auto const part = std::get<Run>(run_step(asked, {}, Checks::kNone));
      auto const whole = std::get<Run>(run_step(asked, {}, Checks::kNone, MicroBatches::kAll));
      check_same(part.summary, whole.summary);
      CHECK_FALSE(whole.timeline.repeat.has_value());
      if (part.timeline.repeat) ++left_out;
    }
  CHECK(left_out * 5 > all * 4);  // otherwise this tests nothing
}

TEST_CASE("a step of which no two micro-batches are alike is run whole", "[engine][property]") {
  // Every micro-batch leaves shards that are given back when the device is done with them, and the host runs ahead:
  // with each micro-batch more of them are held.
  auto const asked = scenario(kMachines[0], kHidden[0], 17, R"("name": "fsdp2", "shard_group": 8)");
  auto const part = std::get<Run>(run_step(asked, {}, Checks::kNone));
  auto const whole = std::get<Run>(run_step(asked, {}, Checks::kNone, MicroBatches::kAll));
  CHECK_FALSE(part.timeline.repeat.has_value());
  check_same(part.summary, whole.summary);
}

TEST_CASE("message by message, repeated micro-batches are left out too", "[engine][property]") {
  for (auto const strategy : {kStrategies[1], kStrategies[15], kStrategies[29]}) {
    INFO(strategy);
    auto const asked = scenario(kMachines[0], kHidden[1], 12, strategy);
    auto const exact = engine::RunOptions{.fidelity = engine::Fidelity::kExact};
    auto const part = std::get<Run>(run_step(asked, exact, Checks::kNone));
    auto const whole = std::get<Run>(run_step(asked, exact, Checks::kNone, MicroBatches::kAll));
    check_same(part.summary, whole.summary);
    CHECK(part.timeline.repeat.has_value());
  }
}
