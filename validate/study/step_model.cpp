#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "strategies/model/cnn_layout.hpp"
#include "validate/study/step_replay.hpp"

namespace twinstep::study {
namespace {

using strategies::Transformer;

/// What both families share, from the record's sizes.
Transformer sizes_of(validate::StepModel const& model) {
  auto transformer = Transformer{.name = model.name.empty() ? "a transformer" : model.name,
                                 .layers = *model.layers,
                                 .hidden = *model.hidden,
                                 .heads = *model.heads,
                                 .kv_heads = model.kv_heads.value_or(*model.heads),
                                 .head_size = model.head_size.value_or(*model.hidden / *model.heads),
                                 .vocabulary = *model.vocabulary,
                                 .max_sequence_length = *model.sequence_length};
  return transformer;
}

/// As LLaMA: RMS norms, three matrices in the MLP, no biases.
Transformer gated(Transformer model, std::optional<std::int64_t> ffn) {
  model.ffn = ffn.value_or(model.hidden * 8 / 3);
  return model;
}

/// As GPT-2: layer norms, two matrices in the MLP, biases everywhere, one projection for queries, keys and values.
Transformer plain(Transformer model, std::optional<std::int64_t> ffn) {
  model.ffn = ffn.value_or(4 * model.hidden);
  model.norm = strategies::Norm::kLayer;
  model.gated_mlp = false;
  model.fused_qkv = model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

/// Labels are rounded ("175B"); what is farther from all candidates is another kind of model, such as one of experts.
constexpr auto kMostApart = 1.3;

std::vector<bool> either_or(std::optional<bool> stated) {
  return stated ? std::vector{*stated} : std::vector{true, false};
}

/// Whether positions are learned, if the record says so.
std::optional<bool> learned_positions(validate::StepModel const& model) {
  if (model.positions.empty()) return std::nullopt;
  return model.positions.starts_with("learned");
}

/// Everything that the record leaves open, the likeliest first.
std::vector<Transformer> candidates(validate::StepModel const& model) {
  auto out = std::vector<Transformer>{};
  auto const sizes = sizes_of(model);
  for (auto const& family : {plain(sizes, model.ffn), gated(sizes, model.ffn)})
    for (auto const is_tied : either_or(model.tied_embeddings))
      for (auto const is_learned : either_or(learned_positions(model))) {
        auto each = family;
        each.tied_embeddings = is_tied;
        each.positions = is_learned ? *model.sequence_length : 0;
        out.push_back(std::move(each));
      }
  return out;
}

std::string missing_size(validate::StepModel const& model) {
  auto const sizes = {std::pair{&model.layers, "layers"}, std::pair{&model.hidden, "hidden"},
                      std::pair{&model.heads, "heads"}, std::pair{&model.vocabulary, "vocab"},
                      std::pair{&model.sequence_length, "seq_len"}};
  for (auto const& [size, name] : sizes)
    if (!*size) return name;
  return {};
}

strategies::ModelSpec published(validate::StepModel const& model) {
  if (model.kind == "CNN")
    if (auto cnn = strategies::find_cnn(model.name)) return *std::move(cnn);
  throw Impossible{
      fmt::format("no transformer: a {}{}{}", model.kind, model.name.empty() ? "" : " called ", model.name)};
}

}  // namespace

strategies::ModelSpec model_of(validate::StepModel const& model) {
  if (!model.kind.empty()) return published(model);
  if (model.has_experts) throw Impossible{"a mixture of experts"};
  if (auto const missing = missing_size(model); !missing.empty())
    throw Impossible{fmt::format("not stated: the model's \"{}\"", missing)};
  if (!model.head_size && *model.hidden % *model.heads != 0)
    throw Impossible{fmt::format("{} hidden do not divide into {} heads", *model.hidden, *model.heads)};
  if (*model.heads % model.kv_heads.value_or(*model.heads) != 0)
    throw Impossible{fmt::format("{} heads do not divide into {} kv_heads", *model.heads, *model.kv_heads)};
  auto const all = candidates(model);
  auto best = all.front();
  auto least = 0.0;
  for (auto const& each : all) {
    auto const count = static_cast<double>(strategies::parameter_count(each));
    auto const distance = model.parameters ? std::abs(std::log(count / *model.parameters)) : 0.0;
    if (&each != &all.front() && distance >= least) continue;
    best = each;
    least = distance;
  }
  if (least > std::log(kMostApart))
    throw Impossible{fmt::format("contradictory model: {:.3g} parameters, its sizes make {:.3g}", *model.parameters,
                                 static_cast<double>(strategies::parameter_count(best)))};
  return best;
}

}  // namespace twinstep::study
