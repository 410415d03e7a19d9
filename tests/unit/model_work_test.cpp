#include <algorithm>
#include <set>

#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/work.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using program::AccessMode;

namespace {

Transformer llama(std::int64_t kv_heads, std::int64_t ffn) {
  return {"llama", 32, 4096, 32, kv_heads, 128, ffn, 32000, 0, 4096};
}
Transformer gpt(bool biases_and_dropout) {
  auto const on = biases_and_dropout;
  return {"gpt", 12, 768, 12, 12, 64, 4 * 768, 50257, 1024, 1024, Norm::kLayer, false, true, on, on, on, true, on};
}
Shape const kTwoSequences{2, 512};  // 1024 tokens

UnitWork const& kind(ModelWork const& model, std::string_view name) {
  return *std::ranges::find(model.kinds, name, &UnitWork::name);
}
std::int64_t memory_bound_bytes(std::vector<Kernel> const& kernels) {
  auto sum = std::int64_t{0};
  for (auto const& kernel : kernels) {
    auto const* work = std::get_if<program::Elementwise>(&kernel.work);
    if (work != nullptr) sum += work->elements.base * work->bytes_per_element;
  }
  return sum;
}
Kernel const& kernel_named(std::vector<Kernel> const& kernels, std::string_view name) {
  auto const found = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE(found != kernels.end());
  return *found;
}
Slot const& slot_of(UnitWork const& unit, SlotAccess access) {
  return unit.slots[static_cast<std::size_t>(access.slot)];
}
std::vector<ModelSpec> all_models() {
  auto tied = llama(8, 14336);
  tied.tied_embeddings = true;
  auto qwen2 = llama(4, 11008);
  qwen2.qkv_bias = true;
  auto qwen3 = llama(8, 14336);
  qwen3.query_key_norm = true;
  auto neox = gpt(true);
  neox.positions = 0;
  neox.rotary_size = 16;
  neox.parallel_branches = true;
  neox.tied_embeddings = false;
  neox.modules = Modules::kGptNeoX;
  auto opt = gpt(true);
  opt.fused_qkv = false;
  opt.relu = true;
  opt.modules = Modules::kOpt;
  auto mpt = gpt(false);
  mpt.positions = 0;
  mpt.alibi = true;
  mpt.norm_bias = false;
  mpt.modules = Modules::kMpt;
  auto out = std::vector<ModelSpec>{llama(32, 11008), tied, qwen2, qwen3, gpt(true), gpt(false), neox, opt, mpt};
  for (auto const* network : {"resnet18", "resnext50_32x4d"}) out.emplace_back(*find_cnn(network));
  out.emplace_back(Mlp{"mlp", {3, 5, 5, 5, 2}});
  out.emplace_back(Mlp{"mlp", {3, 2}});
  return out;
}

/// Each choice of kernels and types, one at a time.
std::vector<Shape> all_shapes() {
  auto out = std::vector<Shape>{};
  auto const add = [&](auto change) {
    out.push_back(kTwoSequences);
    change(out.back());
  };
  add([](Shape&) {});
  add([](Shape& shape) { shape.compute_type = DataType::kFp32; });
  add([](Shape& shape) { shape.flash_attention = false; });
  add([](Shape& shape) { shape.activation = Activation::kFused; });
  add([](Shape& shape) { shape.activation = Activation::kRecomputed; });
  add([](Shape& shape) { shape.cross_entropy = CrossEntropy::kFused; });
  add([](Shape& shape) { shape.cross_entropy = CrossEntropy::kChunked; });
  add([](Shape& shape) { shape.norms = NormKernels::kEager; });
  add([](Shape& shape) { shape.linear_type = DataType::kFp8; });
  add([](Shape& shape) {
    shape.linear_type = DataType::kFp8;
    shape.scaling = Scaling::kRowWise;
  });
  return out;
}

}  // namespace

TEST_CASE("a Llama layer keeps 12h + 4kd + 8f + 4a + 8 bytes a token", "[model][work]") {
  // LLaMA-2-7B: 49,152 + 16,384 + 88,064 = 153,600, and 4 * 32 + 8.
  CHECK(saved_bytes(kind(work_of(llama(32, 11008), kTwoSequences), "layer")) == Bytes{1024 * (153'600 + 136)});
  // LLaMA-3-8B (kd 1024, f 14336): 49,152 + 4,096 + 114,688 = 167,936.
  CHECK(saved_bytes(kind(work_of(llama(8, 14336), kTwoSequences), "layer")) == Bytes{1024 * (167'936 + 136)});
}

TEST_CASE("a GPT layer keeps 34h bytes a token, as Korthikanti counts, and its statistics", "[model][work]") {
  // Two layer norms keep mean and deviation in fp32 (16 bytes), flash attention one fp32 number a head.
  CHECK(saved_bytes(kind(work_of(gpt(true), kTwoSequences), "layer")) == Bytes{1024 * (34 * 768 + 16 + 4 * 12)});
}

TEST_CASE("without flash attention a GPT layer also keeps 5as bytes a token", "[model][work]") {
  auto shape = kTwoSequences;
  shape.flash_attention = false;
  auto const layer = kind(work_of(gpt(true), shape), "layer");
  CHECK(saved_bytes(layer) == Bytes{1024 * (34 * 768 + 16 + 5 * 12 * 512)});
  // Copying queries, keys and values head by head moves 12h bytes; softmax 4 and dropout 5 for each score. Joining
  // their gradients is there in both; softmax 6 and dropout 5.
  CHECK(memory_bound_bytes(layer.forward) == 1024 * ((38 + 12) * 768 + 9 * 12 * 512));
  CHECK(memory_bound_bytes(layer.backward) == 1024 * (96 * 768 + 11 * 12 * 512));
  // The whole matrix: 4 s² d a forward for each sequence, twice that backward.
  auto const flash = flops_of(kind(work_of(gpt(true), kTwoSequences), "layer"));
  auto const scores = 2.0 * 4 * 512 * 512 * 64 * 12;
  CHECK(flops_of(layer).forward.count() == Approx(flash.forward.count() - scores / 2 + scores));
  CHECK(flops_of(layer).backward.count() == Approx(flash.backward.count() - 2.5 * scores / 2 + 2 * scores));
}

TEST_CASE("a GPT layer moves 36h bytes a token forward and 68h backward", "[model][work]") {
  // Norms 8h, residual adds 12h, GELU 4f = 16h; norms 20h, residual gradients 12h, joining the gradients of queries,
  // keys and values 12h, GELU 6f = 24h.
  auto const layer = kind(work_of(gpt(false), kTwoSequences), "layer");
  CHECK(memory_bound_bytes(layer.forward) == 1024 * 36 * 768);
  CHECK(memory_bound_bytes(layer.backward) == 1024 * 68 * 768);
}

TEST_CASE("dropout and biases add their bytes", "[model][work]") {
  // Forward: two masks, 2h. Backward: two dropouts of 5h; bias gradients read 3h + h + f + h elements of 2 bytes.
  auto const layer = kind(work_of(gpt(true), kTwoSequences), "layer");
  CHECK(memory_bound_bytes(layer.forward) == 1024 * 38 * 768);
  CHECK(memory_bound_bytes(layer.backward) == 1024 * (68 + 10 + 2 * 9) * 768);
}

TEST_CASE("a Llama layer's memory-bound kernels move what eager PyTorch moves", "[model][work]") {
  // Forward: norms 8h, residuals 12h, gate 10f, rotary 12(h + kd).
  // Backward: norms 20h, residuals 12h, gate 16f, rotary 12(h + kd), and 6h for each of the three sums of gradients
  // of the norms' outputs, which have three readers and two.
  auto const layer = kind(work_of(llama(8, 14336), kTwoSequences), "layer");
  CHECK(memory_bound_bytes(layer.forward) == 1024 * (20 * 4096 + 10 * 14336 + 12 * (4096 + 1024)));
  CHECK(memory_bound_bytes(layer.backward) == 1024 * (50 * 4096 + 16 * 14336 + 12 * (4096 + 1024)));
}

TEST_CASE("each matrix costs two operations an element and token forward, four backward", "[model][work]") {
  auto const model = llama(8, 14336);
  auto const layer = kind(work_of(model, kTwoSequences), "layer");
  auto const matrices = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336;
  auto const attention = 2.0 * 4 * 512 * 512 * 4096 / 2;  // two sequences, causal
  CHECK(flops_of(layer).forward.count() == Approx(2 * 1024 * matrices + attention));
  CHECK(flops_of(layer).backward.count() == Approx(4 * 1024 * matrices + 2.5 * attention));
}

TEST_CASE("recomputation stops before the last matrix", "[model][work]") {
  auto const layer = kind(work_of(llama(8, 14336), kTwoSequences), "layer");
  auto const again = kernels_to_recompute(layer);
  REQUIRE(again.size() == layer.forward.size() - 2);
  CHECK(layer.forward[again.back()].name == "mlp.activation.forward");
  CHECK(flops_of(layer).recompute.count() == Approx(flops_of(layer).forward.count() - 2.0 * 1024 * 4096 * 14336));
}

TEST_CASE("model flops are 6N + 12 L h s a token", "[model][work]") {
  // LLaMA-2-7B at s = 512: 6 * 6,738,415,616 + 12 * 32 * 4096 * 512 = 41,235,800,064 a token.
  CHECK(work_of(llama(32, 11008), kTwoSequences).model_flops_per_micro_batch.count() == 1024 * 41'235'800'064.0);
  // 3 * 5 + 5 * 2 = 25 parameters.
  CHECK(work_of(Mlp{"mlp", {3, 5, 2}}, {.micro_batch = 4}).model_flops_per_micro_batch.count() == 4 * 6 * 25);
}

TEST_CASE("the head moves 25 bytes and holds 12 for each token and vocabulary entry", "[model][work]") {
  auto const head = kind(work_of(llama(8, 14336), kTwoSequences), "head");
  auto const scores = std::int64_t{1024} * 32000;
  auto const norms = std::int64_t{1024} * 14 * 4096;
  CHECK(memory_bound_bytes(head.forward) + memory_bound_bytes(head.backward) == 25 * scores + norms);
  auto bytes = Bytes{};
  for (auto const access : kernel_named(head.backward, "head.cross_entropy.backward").accesses) {
    auto const& slot = slot_of(head, access);
    if (slot.category != program::MemoryCategory::kLogits) continue;
    CHECK(slot.type == DataType::kFp32);
    bytes += size_of(slot.type) * slot.elements;
  }
  CHECK(bytes == Bytes{12 * scores});
}

TEST_CASE("a tied head multiplies by the embedding's matrix and both add to its gradient", "[model][work]") {
  auto const model = work_of(gpt(true), kTwoSequences);
  auto const& head = kind(model, "head");
  auto const& weight = slot_of(head, kernel_named(head.forward, "head.logits.forward").accesses[1]);
  CHECK(weight.kind == SlotKind::kParameter);
  REQUIRE(weight.owner == 0);
  CHECK(model.kinds[0].parameters[static_cast<std::size_t>(weight.parameter)].name == "wte.weight");
  CHECK(weight.elements == 50257 * 768);
  auto const& embedding = kind(model, "embedding");
  auto const& add = kernel_named(embedding.backward, "embedding.add_gradient");
  CHECK(add.accesses[1].mode == AccessMode::kReadWrite);
  CHECK(slot_of(embedding, add.accesses[1]).kind == SlotKind::kParameterGradient);
}

TEST_CASE("the units of a model fit together", "[model][work]") {
  for (auto const& spec : all_models()) {
    CAPTURE(model_name(spec));
    auto const model = work_of(spec, kTwoSequences);
    auto const elements = [&](UnitRef unit, SlotKind part) {
      auto const& slots = model.work(unit).slots;
      auto const found = std::ranges::find(slots, part, &Slot::kind);
      return found == slots.end() ? -1 : found->elements;
    };
    for (std::size_t i = 1; i < model.units.size(); ++i) {
      auto const before = model.units[i - 1];
      auto const after = model.units[i];
      CHECK(elements(before, SlotKind::kOutput) > 0);
      CHECK(elements(before, SlotKind::kOutput) == elements(after, SlotKind::kInput));
      CHECK(elements(after, SlotKind::kInputGradient) == elements(before, SlotKind::kOutputGradient));
      CHECK(elements(after, SlotKind::kInputGradient) == elements(after, SlotKind::kInput));
    }
    CHECK(elements(model.units.front(), SlotKind::kInput) == -1);
    CHECK(elements(model.units.front(), SlotKind::kInputGradient) == -1);
    CHECK(elements(model.units.back(), SlotKind::kOutputGradient) == -1);
  }
}

TEST_CASE("every unit's parameters are those that the model lists", "[model][work]") {
  for (auto const& spec : all_models()) {
    auto const model = work_of(spec, kTwoSequences);
    auto count = std::int64_t{0};
    for (auto const unit : model.units) {
      for (auto const& tensor : model.work(unit).parameters) count += tensor.elements();
    }
    CHECK(count == parameter_count(spec));
  }
}

TEST_CASE("units are named after their layer", "[model][work]") {
  auto const model = work_of(llama(8, 14336), kTwoSequences);
  CHECK(model.kinds.size() == 3);
  REQUIRE(model.units.size() == 34);
  CHECK(unit_name(model, model.units[0]) == "embedding");
  CHECK(unit_name(model, model.units[18]) == "layer.17");
  CHECK(unit_name(model, model.units[33]) == "head");
}

TEST_CASE("layers of an MLP that are alike share one description", "[model][work]") {
  // First, two in the middle, last, loss.
  auto const model = work_of(Mlp{"mlp", {4, 4, 4, 4, 4}}, {.micro_batch = 2});
  CHECK(model.kinds.size() == 4);
  CHECK(model.units[1].kind == model.units[2].kind);
  CHECK(model.units[2].index == 2);
}

namespace {

/// Runs through a unit's forward and backward and reports whether every tensor is written before it is read, no
/// temporary crosses from forward to backward, every gradient and result is written.
void check_data_flow(UnitWork const& unit) {
  auto written = std::set<std::int32_t>{};
  auto const run = [&](std::vector<Kernel> const& kernels, bool is_backward) {
    for (auto const& kernel : kernels) {
      CAPTURE(unit.name, kernel.name);
      for (auto const access : kernel.accesses) {
        auto const& slot = slot_of(unit, access);
        CAPTURE(slot.name);
        auto const comes_from_outside = slot.kind == SlotKind::kInput || slot.kind == SlotKind::kData ||
                                        slot.kind == SlotKind::kParameter ||
                                        (slot.kind == SlotKind::kOutputGradient && is_backward);
        auto const is_shared_gradient = kernel.name == "embedding.add_gradient";
        if (access.mode == AccessMode::kRead) CHECK((comes_from_outside || written.contains(access.slot)));
        if (access.mode == AccessMode::kReadWrite) CHECK((is_shared_gradient || written.contains(access.slot)));
        if (access.mode != AccessMode::kRead) CHECK_FALSE(comes_from_outside);
        if (access.mode == AccessMode::kWrite) CHECK(written.insert(access.slot).second);
        if (is_shared_gradient) written.insert(access.slot);
      }
    }
  };
  run(unit.forward, false);
  for (std::size_t i = 0; i < unit.slots.size(); ++i) {
    if (unit.slots[i].kind == SlotKind::kTemporary) written.erase(static_cast<std::int32_t>(i));
  }
  run(unit.backward, true);
  for (std::size_t i = 0; i < unit.slots.size(); ++i) {
    auto const& slot = unit.slots[i];
    CAPTURE(unit.name, slot.name);
    auto const is_result = slot.kind != SlotKind::kInput && slot.kind != SlotKind::kData &&
                           slot.kind != SlotKind::kParameter && slot.kind != SlotKind::kOutputGradient &&
                           slot.kind != SlotKind::kTemporary;
    if (is_result) CHECK(written.contains(static_cast<std::int32_t>(i)));
  }
}

}  // namespace

TEST_CASE("every tensor is written before it is read and every gradient is written", "[model][work]") {
  for (auto const& spec : all_models()) {
    for (auto const& shape : all_shapes())
      for (auto const& unit : work_of(spec, shape).kinds) check_data_flow(unit);
  }
}

TEST_CASE("every product reads and writes matrices of its own sizes", "[model][work]") {
  for (auto const& spec : all_models()) {
    for (auto const& shape : all_shapes()) {
      for (auto const& unit : work_of(spec, shape).kinds) {
        for (auto const* kernels : {&unit.forward, &unit.backward}) {
          for (auto const& kernel : *kernels) {
            auto const* gemm = std::get_if<program::Gemm>(&kernel.work);
            if (gemm == nullptr) continue;
            CAPTURE(unit.name, kernel.name);
            REQUIRE(kernel.accesses.size() >= 3);  // and a bias
            auto const elements = program::operand_elements(*gemm);
            for (std::size_t i = 0; i < elements.size(); ++i)
              CHECK(slot_of(unit, kernel.accesses[i]).elements == elements[i]);
          }
        }
      }
    }
  }
}

TEST_CASE("forward reads every parameter of its unit", "[model][work]") {
  for (auto const& spec : all_models()) {
    for (auto const& unit : work_of(spec, kTwoSequences).kinds) {
      auto read = std::set<std::int32_t>{};
      for (auto const& kernel : unit.forward) {
        for (auto const access : kernel.accesses) read.insert(access.slot);
      }
      for (std::size_t i = 0; i < unit.slots.size(); ++i) {
        CAPTURE(unit.name, unit.slots[i].name);
        if (unit.slots[i].kind == SlotKind::kParameter) CHECK(read.contains(static_cast<std::int32_t>(i)));
      }
    }
  }
}
