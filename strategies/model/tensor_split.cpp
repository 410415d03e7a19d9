#include <algorithm>
#include <array>
#include <utility>

#include "strategies/model/transformer_layout.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {

using enum CollectiveKind;

// Attention's heads, the MLP's width and the vocabulary are shared out; head size and hidden size stay.
Transformer share_of(Transformer const& model, TensorSplit const& split) {
  auto share = model;
  if (split.ranks == 1) return share;
  share.heads = model.heads / split.ranks;
  share.kv_heads = model.kv_heads / split.ranks;
  share.ffn = model.ffn / split.ranks;
  share.vocabulary = round_up(divide_up(model.vocabulary, split.ranks), split.vocabulary_multiple);
  return share;
}

// Norms, positions and the biases behind row-split layers see the rank's own tokens; norms of heads its own heads.
void mark_partial_gradients(std::vector<Tensor>& tensors, Transformer const& model, TensorSplit const& split) {
  if (split.ranks == 1) return;
  auto const names = modules_of(model);
  auto const of_heads = std::array{names.query_norm, names.key_norm};
  auto const of_tokens = std::array{names.first_norm, names.second_norm, names.final_norm, names.position_embedding};
  auto const rows = std::array{names.attention_output, names.down};
  auto const is_of = [](auto const& modules, Tensor const& tensor, std::string_view parameter) {
    return std::ranges::any_of(modules, [&](std::string const& module) {
      return !module.empty() && tensor.name == module + std::string{parameter};
    });
  };
  for (auto& tensor : tensors) {
    auto const is_of_heads = is_of(of_heads, tensor, ".weight");
    auto const is_of_tokens = is_of(of_tokens, tensor, ".weight") || is_of(of_tokens, tensor, ".bias");
    tensor.has_partial_gradient = is_of_heads || (split.sequence && (is_of_tokens || is_of(rows, tensor, ".bias")));
  }
}

void UnitWriter::collective(std::string name, CollectiveKind kind, std::int32_t from, std::int32_t to, Pass pass,
                            program::Reduction reduction) {
  auto& kernels = pass == Pass::kForward ? unit_.forward : unit_.backward;
  kernels.push_back({std::move(name),
                     program::Communication{},
                     {reads(from), writes(to)},
                     1,
                     UnitCollective{"tensor", kind, reduction}});
}

std::int32_t UnitWriter::gathered(std::string const& name, std::int32_t part, Pass pass) {
  auto const& split = shape_.split;
  if (!split.sequence) return part;
  auto const is_kept = pass == Pass::kForward && !split.hides_collectives;
  auto const whole =
      slot(name + ".gathered", is_kept ? SlotKind::kSaved : SlotKind::kTemporary, elements(part) * split.ranks);
  collective(name + ".all_gather", kAllGather, part, whole, pass);
  return whole;
}

std::int32_t UnitWriter::reduced(std::string const& name, std::int32_t partial, Pass pass, std::int32_t to) {
  auto const& split = shape_.split;
  if (split.ranks == 1) return partial;
  if (split.sequence) {
    if (to < 0) to = slot(name + ".reduced", SlotKind::kTemporary, elements(partial) / split.ranks);
    collective(name + ".reduce_scatter", kReduceScatter, partial, to, pass);
    return to;
  }
  if (to < 0) to = partial;
  collective(name + ".all_reduce", kAllReduce, partial, to, pass);
  return to;
}

void UnitWriter::all_reduce(std::string const& name, std::int32_t small, program::Reduction reduction, Pass pass) {
  if (shape_.split.ranks > 1) collective(name + ".all_reduce", kAllReduce, small, small, pass, reduction);
}

}  // namespace twinstep::strategies
