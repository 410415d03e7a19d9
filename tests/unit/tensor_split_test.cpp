#include <algorithm>
#include <numeric>
#include <vector>

#include "strategies/model/work.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;

namespace {

Transformer model() {
  return {
      .layers = 2, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_size = 128, .ffn = 28672, .vocabulary = 128256};
}

/// T = h = 8192 in bf16, over eight ranks.
ModelWork work(bool sequence, bool hides = true) {
  return work_of(model(),
                 {.micro_batch = 1,
                  .sequence_length = 8192,
                  .split = {.ranks = 8, .sequence = sequence, .hides_collectives = hides, .vocabulary_multiple = 128}});
}

/// Bytes of the large side of each collective of a kind.
std::vector<std::int64_t> bytes_of(UnitWork const& unit, std::vector<Kernel> const& kernels, CollectiveKind kind) {
  auto out = std::vector<std::int64_t>{};
  for (auto const& kernel : kernels) {
    if (!kernel.collective || kernel.collective->kind != kind) continue;
    auto most = std::int64_t{0};
    for (auto const& access : kernel.accesses) {
      auto const& slot = unit.slots[static_cast<std::size_t>(access.slot)];
      most = std::max(most, slot.elements * size_of(slot.type).count());
    }
    out.push_back(most);
  }
  return out;
}

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t kWhole = 134'217'728;  // 2 T h

}  // namespace

// Megatron-LM, tensor_parallel/layers.py: with sequence parallelism 2 all-gathers and 2 reduce-scatters forward, 4 and
// 2 backward; without 2 all-reduces each.
TEST_CASE("a layer exchanges what its framework does", "[mesh][model]") {
  using enum CollectiveKind;
  auto const with = work(true);
  auto const& layer = with.kinds[1];
  CHECK(bytes_of(layer, layer.forward, kAllGather) == Sizes(2, kWhole));
  CHECK(bytes_of(layer, layer.forward, kReduceScatter) == Sizes(2, kWhole));
  CHECK(bytes_of(layer, layer.backward, kAllGather) == Sizes(4, kWhole));
  CHECK(bytes_of(layer, layer.backward, kReduceScatter) == Sizes(2, kWhole));
  CHECK(bytes_of(layer, layer.forward, kAllReduce).empty());

  auto const without = work(false);
  auto const& whole = without.kinds[1];
  CHECK(bytes_of(whole, whole.forward, kAllReduce) == Sizes(2, kWhole));
  CHECK(bytes_of(whole, whole.backward, kAllReduce) == Sizes(2, kWhole));
  CHECK(bytes_of(whole, whole.forward, kAllGather).empty());

  // DTensor keeps what it gathered.
  auto const torch = work(true, false);
  auto const& kept = torch.kinds[1];
  CHECK(bytes_of(kept, kept.backward, kAllGather) == Sizes(2, kWhole));
}

TEST_CASE("ranks that share a vocabulary compare and add a number for each token", "[mesh][model]") {
  auto const with = work(true);
  auto const& head = with.kinds[2];
  CHECK(bytes_of(head, head.forward, CollectiveKind::kAllReduce) == Sizes(3, 32'768));  // 4 T
}

// 64 heads, 28,672 columns and 128,256 rows over 8: 8, 3,584, 16,032, padded to 16,128 = 126 · 128.
TEST_CASE("a rank's share of a layer is a narrower layer", "[mesh][model]") {
  auto const with = work(true);
  auto const rows = [&](std::size_t kind, std::string_view name) {
    auto const& tensors = with.kinds[kind].parameters;
    return std::ranges::find(tensors, name, &Tensor::name)->rows;
  };
  CHECK(rows(0, "embed_tokens.weight") == 16'128);
  CHECK(rows(1, "self_attn.q_proj.weight") == 1024);
  CHECK(rows(1, "self_attn.k_proj.weight") == 128);
  CHECK(rows(1, "self_attn.o_proj.weight") == 8192);
  CHECK(rows(1, "mlp.up_proj.weight") == 3584);
  // What a stage hands on: 2 T h / t.
  auto const& slots = with.kinds[1].slots;
  CHECK(2 * std::ranges::find(slots, SlotKind::kOutput, &Slot::kind)->elements == 16'777'216);
  // The whole model's FLOPs, whatever the share.
  CHECK(with.model_flops_per_micro_batch ==
        work_of(model(), {.micro_batch = 1, .sequence_length = 8192}).model_flops_per_micro_batch);
}

// Norms see the rank's own tokens; matrices are the rank's own.
TEST_CASE("only what sees a part of the tokens has a partial gradient", "[mesh][model]") {
  for (auto const sequence : {false, true}) {
    auto const split = work(sequence);
    for (auto const& tensor : split.kinds[1].parameters) {
      auto const is_norm = tensor.name.find("layernorm") != std::string::npos;
      CHECK(tensor.has_partial_gradient == (sequence && is_norm));
    }
  }
}
