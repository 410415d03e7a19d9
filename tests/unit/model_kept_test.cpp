#include <algorithm>

#include "strategies/model/kept.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;

namespace {

constexpr std::int64_t kLayerTokens = 1024;

UnitWork layer(Transformer const& model, bool flash) {
  auto work = work_of(model, {.micro_batch = 2, .sequence_length = 512, .flash_attention = flash});
  return std::move(*std::ranges::find(work.kinds, "layer", &UnitWork::name));
}
/// As LLaMA-3-8B: h 4096, kd 1024, f 14336, a 32.
UnitWork llama_layer(bool flash = true) {
  return layer({"llama", 32, 4096, 32, 8, 128, 14336, 32000, 0, 4096}, flash);
}
/// With dropout, h 768, a 12.
UnitWork gpt_layer(bool flash) {
  return layer(
      {"gpt", 12, 768, 12, 12, 64, 4 * 768, 50257, 1024, 1024, Norm::kLayer, false, true, true, true, true, true, true},
      flash);
}
std::vector<std::string> recomputed(UnitWork const& unit, KeepPolicy policy) {
  auto out = std::vector<std::string>{};
  for (auto const kernel : kernels_to_recompute(unit, kept_slots(unit, policy)))
    out.push_back(unit.forward[kernel].name);
  return out;
}
Bytes kept_bytes(UnitWork const& unit, KeepPolicy policy) {
  return saved_bytes(unit, kept_slots(unit, policy));
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("who keeps everything recomputes nothing", "[model][recompute]") {
  auto const unit = llama_layer();
  CHECK(recomputed(unit, KeepPolicy::kEverything).empty());
  CHECK(kept_bytes(unit, KeepPolicy::kEverything) == saved_bytes(unit));
}

TEST_CASE("full recomputation keeps a layer's input alone", "[model][recompute]") {
  auto const unit = llama_layer();
  auto const tensors = saved_tensors(unit, kept_slots(unit, KeepPolicy::kNothing));
  REQUIRE(tensors.size() == 1);
  CHECK(tensors.front().name == "input");
  CHECK(tensors.front().bytes == Bytes{2 * 4096 * kLayerTokens});
  CHECK(kernels_to_recompute(unit, kept_slots(unit, KeepPolicy::kNothing)) == kernels_to_recompute(unit));
}

TEST_CASE("selective recomputation of unfused attention leaves 34h bytes a token", "[model][recompute]") {
  // Korthikanti et al., table 2: 34 s b h + 5 a s² b without, 34 s b h with it; two layer norms keep 16 bytes more.
  auto const unit = gpt_layer(false);
  CHECK(kept_bytes(unit, KeepPolicy::kAllButAttentionCore) == Bytes{kLayerTokens * (34 * 768 + 16)});
  // The context is kept, so the last product of the core does not run again.
  CHECK(recomputed(unit, KeepPolicy::kAllButAttentionCore) ==
        Names{"attention.scores.forward", "attention.softmax.forward", "attention.dropout.forward"});
}

TEST_CASE("selective recomputation of fused attention runs its kernel again for the log-sum-exp",
          "[model][recompute]") {
  for (auto const& unit : {gpt_layer(true), llama_layer()}) {
    CHECK(recomputed(unit, KeepPolicy::kAllButAttentionCore) == Names{"attention.core.forward"});
    auto const tensors = saved_tensors(unit, kept_slots(unit, KeepPolicy::kAllButAttentionCore));
    auto const has = [&](std::string_view name) {
      return std::ranges::find(tensors, name, &SavedTensor::name) != tensors.end();
    };
    CHECK(has("attention.context"));  // the output projection's input
    CHECK_FALSE(has("attention.log_sum_exp"));
  }
}

TEST_CASE("keeping every second product keeps them and attention's result, and makes the rest again",
          "[model][recompute]") {
  // Of queries, keys, values, output, gate, up and down the first, third, ...: h + kd + f + h numbers of 2 bytes, the
  // context 2 h, its log-sum-exp 4 a, and the layer's input 2 h.
  auto const unit = llama_layer();
  CHECK(kept_bytes(unit, KeepPolicy::kPerOp) ==
        Bytes{kLayerTokens * (2 * (4096 + 1024 + 14336 + 4096) + 2 * 4096 + 4 * 32 + 2 * 4096)});
  CHECK(recomputed(unit, KeepPolicy::kPerOp) ==
        Names{"attention.norm.forward", "attention.key.forward", "attention.rotary.forward", "attention.output.forward",
              "attention.residual.forward", "mlp.norm.forward", "mlp.up.forward", "mlp.activation.forward"});
}

TEST_CASE("products in 8 bits are not on the list of what is kept", "[model][recompute]") {
  // _scaled_mm, where the list has mm: attention's result 2 h and log-sum-exp 4 a remain, and the layer's input 2 h.
  auto const model = Transformer{"llama", 32, 4096, 32, 8, 128, 14336, 32000, 0, 4096};
  auto const work = work_of(model, {.micro_batch = 2, .sequence_length = 512, .linear_type = DataType::kFp8});
  auto const& unit = *std::ranges::find(work.kinds, "layer", &UnitWork::name);
  CHECK(kept_bytes(unit, KeepPolicy::kPerOp) == Bytes{kLayerTokens * (2 * 4096 + 4 * 32 + 2 * 4096)});
  CHECK(recomputed(unit, KeepPolicy::kAllButAttentionCore) == Names{"attention.core.forward"});
}

TEST_CASE("the scores of unfused attention are no product with a weight", "[model][recompute]") {
  // As torch.bmm, they are not in the list of what is kept: the whole core runs again, but not its last product.
  auto const names = recomputed(llama_layer(false), KeepPolicy::kPerOp);
  CHECK(std::ranges::find(names, "attention.scores.forward") != names.end());
  CHECK(std::ranges::find(names, "attention.value.forward") == names.end());
}

TEST_CASE("a unit without attention keeps everything under selective recomputation", "[model][recompute]") {
  auto const mlp = work_of(Mlp{"mlp", {3, 5, 2}}, {.micro_batch = 4});
  for (auto const& unit : mlp.kinds) CHECK(kept_bytes(unit, KeepPolicy::kAllButAttentionCore) == saved_bytes(unit));
}
