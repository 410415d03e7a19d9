#include <algorithm>

#include "strategies/model/work.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;

namespace {

constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t kLength = 512;
constexpr std::int64_t h = 4096, kd = 1024, f = 14336, a = 32, kLogits = 32000;  // as LLaMA-3-8B

Transformer llama() {
  return {"llama", 32, h, a, 8, 128, f, kLogits, 0, h};
}
/// Without biases and dropout; h 768, 12 heads of 64.
Transformer gpt() {
  return {"gpt", 12, 768, 12, 12, 64, 4 * 768, 50257, 1024, 1024, Norm::kLayer, false, true, false, false, false, true};
}
Shape shape() {
  return {.micro_batch = kTokens / kLength, .sequence_length = kLength};
}
UnitWork unit(Transformer const& model, Shape const& shape, std::string_view name = "layer") {
  auto work = work_of(model, shape);
  return std::move(*std::ranges::find(work.kinds, name, &UnitWork::name));
}
std::int64_t bytes(std::vector<Kernel> const& kernels, std::string_view part = "") {
  auto sum = std::int64_t{0};
  for (auto const& kernel : kernels) {
    auto const* work = std::get_if<program::Elementwise>(&kernel.work);
    if (work != nullptr && kernel.name.find(part) != std::string::npos)
      sum += work->elements.base * work->bytes_per_element;
  }
  return sum;
}
Kernel const& kernel(std::vector<Kernel> const& kernels, std::string_view name) {
  auto const found = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE(found != kernels.end());
  return *found;
}
/// Logits and their like that a kernel touches.
Bytes logits_at(UnitWork const& unit, Kernel const& kernel) {
  auto sum = Bytes{};
  for (auto const access : kernel.accesses) {
    auto const& slot = unit.slots[static_cast<std::size_t>(access.slot)];
    if (slot.category == program::MemoryCategory::kLogits) sum += size_of(slot.type) * slot.elements;
  }
  return sum;
}

}  // namespace

TEST_CASE("a fused gate keeps six bytes of its width in place of eight, and four if it multiplies again",
          "[model][kernels]") {
  auto const eager = saved_bytes(unit(llama(), shape()));
  auto choice = shape();
  choice.activation = Activation::kFused;
  auto const fused = unit(llama(), choice);
  CHECK(saved_bytes(fused) == eager - Bytes{kTokens * 2 * f});
  // Forward reads gate and up and writes the product; backward reads three and writes two.
  CHECK(bytes(fused.forward, "activation") == kTokens * 6 * f);
  CHECK(bytes(fused.backward, "activation") == kTokens * 10 * f);
  CHECK(kernel(fused.forward, "mlp.activation.forward").launches == 1);

  choice.activation = Activation::kRecomputed;
  auto const recomputed = unit(llama(), choice);
  CHECK(saved_bytes(recomputed) == eager - Bytes{kTokens * 4 * f});
  CHECK(bytes(recomputed.backward, "activation") == kTokens * (10 + 6) * f);
}

TEST_CASE("a fused cross-entropy moves ten bytes and holds six for each logit", "[model][kernels]") {
  auto choice = shape();
  choice.cross_entropy = CrossEntropy::kFused;
  auto const head = unit(llama(), choice, "head");
  CHECK(bytes(head.forward, "cross_entropy") == 6 * kTokens * kLogits);
  CHECK(bytes(head.backward, "cross_entropy") == 4 * kTokens * kLogits);
  CHECK(kernel(head.forward, "head.cross_entropy.forward").launches == 1);
  CHECK(logits_at(head, kernel(head.backward, "head.cross_entropy.backward")) == Bytes{6 * kTokens * kLogits});
}

TEST_CASE("a chunked cross-entropy does the same work and holds an eighth of the logits", "[model][kernels]") {
  auto const plain = unit(llama(), shape(), "head");
  auto choice = shape();
  choice.cross_entropy = CrossEntropy::kChunked;
  auto const chunked = unit(llama(), choice, "head");
  auto const flops = [](UnitWork const& unit) { return flops_of(unit).forward + flops_of(unit).backward; };
  CHECK(flops(chunked).count() == Approx(flops(plain).count()));
  CHECK(bytes(chunked.forward) + bytes(chunked.backward) == bytes(plain.forward) + bytes(plain.backward));
  CHECK(saved_bytes(chunked) == saved_bytes(plain) - Bytes{4 * kTokens * kLogits});  // the log-probabilities
  for (auto const& each : chunked.backward) CHECK(logits_at(chunked, each) <= Bytes{12 * kTokens / 8 * kLogits});
  CHECK(logits_at(chunked, kernel(chunked.backward, "head.7.cross_entropy.backward")) ==
        Bytes{12 * kTokens / 8 * kLogits});
}

TEST_CASE("chunks of a few tokens are not empty", "[model][kernels]") {
  auto const head = unit(llama(), {.sequence_length = 3, .cross_entropy = CrossEntropy::kChunked}, "head");
  CHECK(std::ranges::count_if(head.backward,
                              [](Kernel const& each) { return each.name.ends_with(".logits.forward"); }) == 3);
}

TEST_CASE("an RMS norm written out keeps an fp32 copy and what its weight multiplies", "[model][kernels]") {
  // For each of two norms 4 h + 2 h in place of its input, 2 h.
  auto choice = shape();
  choice.norms = NormKernels::kEager;
  auto const layer = unit(llama(), choice);
  CHECK(saved_bytes(layer) == saved_bytes(unit(llama(), shape())) + Bytes{kTokens * 2 * 4 * h});
  // Bytes of h a token: casts 6 + 6, square 8, mean 4, product 8, weight 4; fused 4.
  CHECK(bytes(layer.forward, "norm") == kTokens * 2 * 36 * h);
  CHECK(bytes(unit(llama(), shape()).forward, "norm") == kTokens * 2 * 4 * h);
}

TEST_CASE("a layer norm is one kernel in any case", "[model][kernels]") {
  auto choice = shape();
  choice.norms = NormKernels::kEager;
  CHECK(saved_bytes(unit(gpt(), choice)) == saved_bytes(unit(gpt(), shape())));
}

TEST_CASE("8-bit linear layers multiply in 8 bits; attention and head do not", "[model][kernels]") {
  auto choice = shape();
  choice.linear_type = DataType::kFp8;
  auto const model = work_of(llama(), choice);
  for (auto const& unit : model.kinds)
    for (auto const* kernels : {&unit.forward, &unit.backward})
      for (auto const& each : *kernels)
        if (auto const* gemm = std::get_if<program::Gemm>(&each.work)) {
          CAPTURE(each.name);
          CHECK((gemm->type == DataType::kFp8) == (unit.name == "layer"));
        }
  auto const layer = unit(llama(), choice);
  CHECK(std::get<program::Attention>(kernel(layer.forward, "attention.core.forward").work).type == DataType::kBf16);
  CHECK(saved_bytes(layer) == saved_bytes(unit(llama(), shape())));  // autograd keeps what was cast
}

TEST_CASE("tensor-wise casts read twice and write once; row-wise ones read once, for each order", "[model][kernels]") {
  auto const weights = 2 * h * h + 2 * kd * h + 3 * f * h;
  auto choice = shape();
  choice.linear_type = DataType::kFp8;
  // Inputs of 5 bytes a number: of queries, keys and values h, of the output h, of gate and up h, of down f.
  auto const inputs = kTokens * (3 * h + f);
  auto const gradients = kTokens * (h + 2 * kd + h + 2 * f + h);
  auto const tensor_wise = unit(llama(), choice);
  CHECK(bytes(tensor_wise.forward, ".cast") == 5 * (inputs + weights));
  CHECK(bytes(tensor_wise.backward, ".cast") == 5 * (inputs + weights + gradients));
  choice.scaling = Scaling::kRowWise;
  auto const row_wise = unit(llama(), choice);
  CHECK(bytes(row_wise.forward, ".cast") == 3 * (inputs + weights));
  CHECK(bytes(row_wise.backward, ".cast") == 3 * (inputs + weights + 2 * gradients));
}

TEST_CASE("TransformerEngine casts each tensor once, in both orders, and keeps the casts of forward",
          "[model][kernels]") {
  auto const weights = 2 * h * h + 2 * kd * h + 3 * f * h;
  auto const inputs = kTokens * (3 * h + f);
  auto const gradients = kTokens * (h + 2 * kd + h + 2 * f + h);
  auto choice = shape();
  choice.linear_type = DataType::kFp8;
  // 2 bytes in, 1 + 1 out.
  choice.scaling = Scaling::kDelayed;
  auto const delayed = unit(llama(), choice);
  CHECK(bytes(delayed.forward, ".cast") == 4 * (inputs + weights));
  CHECK(bytes(delayed.backward, ".cast") == 4 * gradients);
  // Read once more for the largest number.
  choice.scaling = Scaling::kCurrent;
  auto const current = unit(llama(), choice);
  CHECK(bytes(current.forward, ".cast") == 6 * (inputs + weights));
  CHECK(bytes(current.backward, ".cast") == 6 * gradients);
}

TEST_CASE("norms of heads keep what they normalise and a number for each head", "[model][kernels]") {
  auto model = llama();
  model.query_key_norm = true;
  auto const layer = unit(model, shape());
  CHECK(saved_bytes(layer) == saved_bytes(unit(llama(), shape())) + Bytes{kTokens * (2 * (h + kd) + 4 * (a + 8))});
  CHECK(bytes(layer.forward, "query.norm") == kTokens * 4 * h);
  CHECK(bytes(layer.backward, "key.norm") == kTokens * 10 * kd);
}

TEST_CASE("parallel branches need no tensor between them", "[model][kernels]") {
  auto model = gpt();
  model.parallel_branches = true;
  auto const layer = unit(model, shape());
  CHECK(saved_bytes(layer) == saved_bytes(unit(gpt(), shape())) - Bytes{kTokens * 2 * 768});
  CHECK(bytes(layer.forward) == bytes(unit(gpt(), shape()).forward));
}

TEST_CASE("a head that is rotated in part moves that part", "[model][kernels]") {
  auto model = gpt();
  model.positions = 0;
  auto const whole = bytes(unit(model, shape()).forward, "rotary");
  CHECK(whole == kTokens * 12 * 2 * 768);
  model.rotary_size = 16;
  CHECK(bytes(unit(model, shape()).forward, "rotary") == whole / 4);
}

TEST_CASE("ReLU keeps its result alone", "[model][kernels]") {
  auto model = gpt();
  model.relu = true;
  CHECK(saved_bytes(unit(model, shape())) == saved_bytes(unit(gpt(), shape())) - Bytes{kTokens * 2 * 4 * 768});
}

TEST_CASE("ALiBi adds to the scores of unfused attention and costs fused attention nothing", "[model][kernels]") {
  auto rotary = gpt();
  rotary.positions = 0;
  auto alibi = rotary;
  alibi.alibi = true;
  auto choice = shape();
  choice.flash_attention = false;
  CHECK(bytes(unit(alibi, choice).forward, "alibi") == kTokens * 12 * kLength * 4);
  CHECK(bytes(unit(alibi, shape()).forward, "alibi") == 0);
  CHECK(bytes(unit(alibi, shape()).forward, "rotary") == 0);
}

TEST_CASE("each lineage registers its modules in its own order", "[model]") {
  auto const names = [](Transformer const& model) {
    auto out = std::vector<std::string>{};
    auto const units = parameters_of(model);
    for (auto const& tensor : units[1].tensors) out.push_back(tensor.name);
    return out;
  };
  using Names = std::vector<std::string>;
  auto model = gpt();
  model.norm_bias = false;
  model.modules = Modules::kMpt;
  CHECK(names(model) == Names{"norm_1.weight", "attn.Wqkv.weight", "attn.out_proj.weight", "norm_2.weight",
                              "ffn.up_proj.weight", "ffn.down_proj.weight"});
  model.modules = Modules::kGptNeoX;
  CHECK(names(model) == Names{"input_layernorm.weight", "post_attention_layernorm.weight",
                              "attention.query_key_value.weight", "attention.dense.weight", "mlp.dense_h_to_4h.weight",
                              "mlp.dense_4h_to_h.weight"});
  model.fused_qkv = false;
  model.modules = Modules::kOpt;
  CHECK(names(model) == Names{"self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.q_proj.weight",
                              "self_attn.out_proj.weight", "self_attn_layer_norm.weight", "fc1.weight", "fc2.weight",
                              "final_layer_norm.weight"});
  auto qwen3 = llama();
  qwen3.query_key_norm = true;
  auto const units = parameters_of(qwen3);
  auto const& tensors = units[1].tensors;
  CHECK(tensors[4] == Tensor{"self_attn.q_norm.weight", 128});
  CHECK(tensors[5] == Tensor{"self_attn.k_norm.weight", 128});
}
