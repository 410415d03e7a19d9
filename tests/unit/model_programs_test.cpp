#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/hf_config.hpp"
#include "strategies/parts/flat_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::literals;

namespace {

std::vector<Bytes> bucket_sizes(std::string_view network, Bytes cap) {
  auto const model = work_of(*find_cnn(network), {.compute_type = DataType::kFp32, .gradient_type = DataType::kFp32});
  auto const parameters = Parameters{model};
  auto out = std::vector<Bytes>{};
  for (auto const& bucket : bucketed(parameters, DataType::kFp32, {1_MiB, cap})) {
    out.emplace_back();
    for (auto const id : bucket) out.back() += size_of(DataType::kFp32) * parameters.elements(id);
  }
  return out;
}

/// Two layers of a family that config.json names.
Transformer small(std::string const& model_type) {
  auto warnings = std::vector<std::string>{};
  auto const mpt = R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100})";
  auto const others = R"({"model_type": ")" + model_type + R"(", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "ffn_dim": 96, "vocab_size": 100})";
  return read_hf_config(io::parse({"config.json", model_type == "mpt" ? mpt : others}), warnings);
}

/// Two micro-batches of two on each of four ranks.
void check_program(ModelSpec const& model, Plan plan) {
  plan.parallel.data = 4;
  plan.batch.micro_batch = 2;
  plan.batch.global_batch = 16;
  plan.batch.sequence_length = std::holds_alternative<Transformer>(model) ? 16 : 1;
  auto const program = tests::compiled(model, plan);
  CHECK(program::find_defects(program).empty());
  CHECK(program::find_races(program).empty());
}

}  // namespace

TEST_CASE("ResNet-18's gradients fill the buckets that PyTorch's DDP was seen to fill", "[model][cnn][ddp]") {
  // bucket_cap_mb counts 1024²: with 35 * 10^6 the second bucket would close at 35,936,256 bytes.
  CHECK(bucket_sizes("resnet18", 25_MiB) == std::vector{2'052'000_B, 28'852'224_B, 15'853'824_B});
  CHECK(bucket_sizes("resnet18", 35_MiB) == std::vector{2'052'000_B, 38'297'600_B, 6'408'448_B});
}

TEST_CASE("a step of every kind of model is a well-formed program without races", "[model][cnn]") {
  auto models = std::vector<ModelSpec>{*find_cnn("resnext50_32x4d")};
  for (auto const* family : {"qwen3", "gpt_neox", "opt", "mpt"}) models.emplace_back(small(family));
  for (auto const& model : models) {
    for (auto const strategy : tests::kAllStrategies) {
      CAPTURE(model_name(model), name_of(strategy));
      for (auto const recompute : {Recompute::kNone, Recompute::kFull, Recompute::kSelective, Recompute::kPerOp})
        check_program(model, {.strategy = strategy, .kernels = {.recompute = recompute}});
    }
  }
}

TEST_CASE("so is a step with each choice of kernels", "[model]") {
  auto const model = small("qwen3");
  for (auto const strategy : tests::kAllStrategies) {
    CAPTURE(name_of(strategy));
    check_program(model, {.strategy = strategy, .kernels = {.activation = Activation::kRecomputed}});
    check_program(model, {.strategy = strategy, .kernels = {.cross_entropy = CrossEntropy::kFused}});
    check_program(model, {.strategy = strategy, .kernels = {.cross_entropy = CrossEntropy::kChunked}});
    check_program(model, {.strategy = strategy, .kernels = {.norms = NormKernels::kEager}});
    check_program(model, {.strategy = strategy, .kernels = {.linear_type = DataType::kFp8}});
  }
}
