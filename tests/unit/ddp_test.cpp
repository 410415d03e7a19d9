#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "sim/program/lifetimes.hpp"
#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/torch/ddp_buckets.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/written_steps.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::MemoryCategory;

namespace {

/// tiny_llama in fp32: 2 layers of 27,776 parameters and so on; see `parameter_count`.
Plan ddp_plan(DdpOptions const& ddp = {}) {
  return {.strategy = ddp,
          .parallel = {.data = 4},
          .batch = {.micro_batch = 1, .global_batch = 4, .sequence_length = 8},
          .kernels = {.precision = DataType::kFp32}};
}

std::int64_t parameters() {
  return parameter_count(tiny_llama());
}

/// Elements of the parameters of each bucket.
std::vector<std::int64_t> sizes(Parameters const& parameters, std::vector<std::vector<ParameterId>> const& buckets) {
  auto sizes = std::vector<std::int64_t>{};
  for (auto const& bucket : buckets) {
    sizes.push_back(0);
    for (auto const id : bucket) sizes.back() += parameters.elements(id);
  }
  return sizes;
}

}  // namespace

// odd_mlp has, in order of registration, 77, 143, 65 and 15 parameters; gradients become ready from the last to the
// first. Limits of 100 and 800 bytes are 25 and 200 fp32 elements.
TEST_CASE("DDP's buckets follow the readiness of gradients, the order of registration, or are one", "[ddp][buckets]") {
  auto const work = work_of(odd_mlp(), {.micro_batch = 1, .compute_type = DataType::kFp32});
  auto const all = Parameters{work};
  auto ddp = DdpOptions{.bucket = 800_B, .first_bucket = 100_B};
  using Sizes = std::vector<std::int64_t>;
  // 15 + 65 reaches 25; 143 + 77 = 220 reaches 200.
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{80, 220});
  // From the first registered on: 77 reaches 25; 143 + 65 = 208 reaches 200; 15 is left. The list is reversed.
  ddp.find_unused_parameters = true;
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{15, 208, 77});
  ddp.first_iteration = true;
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{15, 208, 77});
  ddp.static_graph = true;
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{300});
}

TEST_CASE("DDP copies each gradient into its bucket and back, or once where gradients are views", "[ddp]") {
  auto const n = static_cast<std::size_t>(Parameters{work_of(tiny_llama(), {.sequence_length = 8})}.count());
  auto const copied = compiled(tiny_llama(), ddp_plan());
  CHECK(operations_called(copied, "bucket.fill").size() == n);
  CHECK(operations_called(copied, "bucket.copy_back").size() == n);
  auto const viewed = compiled(tiny_llama(), ddp_plan({.gradient_as_bucket_view = true}));
  CHECK(operations_called(viewed, "bucket.fill").size() == n);
  CHECK(operations_called(viewed, "bucket.copy_back").empty());
}

// fp32: parameters 4, moments 8; gradients of backward and buckets 4 each. With views the gradients that backward made
// are gone once copied.
TEST_CASE("DDP's buckets cost as much as the gradients, unless gradients are views of them", "[ddp][memory]") {
  auto const bytes = [](DdpOptions const& ddp, MemoryCategory category) {
    return bytes_at_update(compiled(tiny_llama(), ddp_plan(ddp)), category);
  };
  auto const n = parameters();
  auto const views = DdpOptions{.gradient_as_bucket_view = true};
  CHECK(bytes({}, MemoryCategory::kGradients) == 4 * n);
  CHECK(bytes({}, MemoryCategory::kBuckets) == 4 * n);
  CHECK(bytes(views, MemoryCategory::kGradients) == 4 * n);
  CHECK(bytes(views, MemoryCategory::kBuckets) == 0);
  CHECK(bytes({}, MemoryCategory::kOptimizer) == 8 * n);
}

TEST_CASE("a comm hook halves what crosses the wire and costs two casts and a division", "[ddp]") {
  auto const step = compiled(tiny_llama(), ddp_plan({.comm_hook = DdpOptions::Hook::kBf16}));
  CHECK(wire_elements(step, CollectiveKind::kAllReduce) == parameters());
  for (auto const& part : step.roles.front().parts) CHECK(std::get<program::Collective>(part).type == DataType::kBf16);
  auto const buckets = operations_called(step, "bucket.all_reduce").size();
  CHECK(operations_called(step, "bucket.compress").size() == 2 * buckets);
  CHECK(operations_called(step, "bucket.decompress").size() == buckets);
}

TEST_CASE("within no_sync micro-batches communicate nothing, otherwise each reduces everything", "[ddp]") {
  auto plan = ddp_plan();
  plan.batch.global_batch = 12;
  CHECK(wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce) == parameters());
  ddp_of(plan).no_sync = false;
  CHECK(wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce) == 3 * parameters());
}

TEST_CASE("finding unused parameters reduces one number for each, after the last bucket", "[ddp]") {
  auto const step = compiled(tiny_llama(), ddp_plan({.find_unused_parameters = true}));
  auto const n = static_cast<std::int64_t>(Parameters{work_of(tiny_llama(), {.sequence_length = 8})}.count());
  CHECK(wire_elements(step, CollectiveKind::kAllReduce) == parameters() + n);
  CHECK(std::get<program::Collective>(step.roles.front().parts.back()).elements.base == n);
}

// Autocast: one cast of each parameter in forward, one of each gradient in backward; a recomputed layer casts again.
TEST_CASE("autocast casts each parameter once in a forward, and again where it is recomputed", "[ddp]") {
  auto plan = ddp_plan();
  plan.kernels.precision = DataType::kBf16;
  plan.states.parameter_type = DataType::kFp32;
  auto const work = work_of(tiny_llama(), {.sequence_length = 8});
  auto const n = Parameters{work}.count();
  auto const step = compiled(tiny_llama(), plan);
  CHECK(operations_called(step, "parameter.cast").size() == n);
  CHECK(operations_called(step, "grad.cast").size() == n);
  CHECK(bytes_at_update(step, MemoryCategory::kParameters) == 4 * parameters());
  plan.kernels.recompute = Recompute::kFull;
  // All modules of both layers but the last linear one, whose output recomputation does not need.
  auto const of_layers = 2 * (work.work(work.units[1]).parameters.size() - 1);
  CHECK(operations_called(compiled(tiny_llama(), plan), "parameter.cast").size() == n + of_layers);
}

TEST_CASE("rank 0 hands out a CNN's buffers before a forward that follows a sync", "[ddp]") {
  auto const resnet = std::get<Cnn>(published_cnn("resnet18"));
  auto plan = ddp_plan();
  plan.batch.sequence_length = 1;
  plan.batch.global_batch = 12;
  auto const elements = [&] { return wire_elements(compiled(resnet, plan), CollectiveKind::kBroadcast); };
  // Two statistics and a count for each batch norm; ResNet-18's norms have 4800 channels in 20 layers.
  CHECK(elements() == 2 * 4800 + 20);
  ddp_of(plan).no_sync = false;
  CHECK(elements() == 3 * (2 * 4800 + 20));
  ddp_of(plan).broadcast_buffers = false;
  CHECK(elements() == 0);
}

TEST_CASE("ResNet-18's buckets are those that PyTorch makes", "[ddp][buckets]") {
  // 46,758,048 bytes of fp32 parameters: 2,052,000 / 28,852,224 / 15,853,824 with 25 MB, 2,052,000 / 38,297,600 /
  // 6,408,448 with 35 MB (measured with torchvision's model).
  auto const work = work_of(published_cnn("resnet18"), {.micro_batch = 1, .compute_type = DataType::kFp32});
  auto const all = Parameters{work};
  auto ddp = DdpOptions{};
  using Sizes = std::vector<std::int64_t>;
  ddp.bucket = 25_MiB;
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{2'052'000 / 4, 28'852'224 / 4, 15'853'824 / 4});
  ddp.bucket = 35_MiB;
  CHECK(sizes(all, ddp_buckets(all, ddp, DataType::kFp32)) == Sizes{2'052'000 / 4, 38'297'600 / 4, 6'408'448 / 4});
}

TEST_CASE("every option of DDP gives programs that are well-formed, free of races, and whose collectives meet",
          "[ddp][program]") {
  using Hook = DdpOptions::Hook;
  for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, published_cnn("resnet18")}) {
    for (auto const& ddp :
         {DdpOptions{}, DdpOptions{.gradient_as_bucket_view = true}, DdpOptions{.find_unused_parameters = true},
          DdpOptions{.find_unused_parameters = true, .no_sync = false}, DdpOptions{.comm_hook = Hook::kBf16},
          DdpOptions{.comm_hook = Hook::kFp16, .no_sync = false},
          DdpOptions{.gradient_as_bucket_view = true, .comm_hook = Hook::kBf16, .no_sync = false},
          DdpOptions{.first_iteration = true}}) {
      for (auto const type : {DataType::kFp32, DataType::kBf16}) {
        auto plan = ddp_plan(ddp);
        plan.kernels.precision = type;
        plan.states.parameter_type = DataType::kFp32;
        plan.batch.global_batch = 8;
        plan.states.clips_gradients = true;
        if (std::holds_alternative<Cnn>(model)) plan.batch.sequence_length = 1;
        auto const step = compiled(model, plan);
        CHECK(find_defects(step) == std::vector<std::string>{});
        CHECK(find_races(step) == std::vector<std::string>{});
        CHECK(find_mismatches(step) == std::vector<std::string>{});
      }
    }
  }
}
