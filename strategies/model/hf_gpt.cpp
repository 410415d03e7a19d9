#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "strategies/model/hf_families.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

using Warnings = std::vector<std::string>;

/// Whether one of the probabilities is above 0; an absent one is `otherwise`.
bool has_dropout(io::Node const& config, std::initializer_list<std::string_view> keys, double otherwise) {
  auto const is_on = [&](std::string_view key) {
    auto const probability = config.find(key);
    return (probability ? probability->number() : otherwise) > 0;
  };
  return std::ranges::any_of(keys, is_on);
}

void refuse_if(io::Node const& config, std::string_view key, bool refused, bool otherwise, std::string_view what,
               std::string_view way_out) {
  if (read_flag(config, key, otherwise) == refused) config.find(key).value_or(config).fail(std::string{what}, way_out);
}

/// Layer norms and an MLP of two matrices.
Transformer gpt_kind(Modules modules) {
  auto model = Transformer{};
  model.modules = modules;
  model.norm = Norm::kLayer;
  model.gated_mlp = false;
  model.fused_qkv = modules != Modules::kOpt;
  return model;
}

void set_biases(Transformer& model, bool biases) {
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = biases;
}

Transformer read_gpt2(io::Node const& config, Warnings&) {
  refuse_if(config, "add_cross_attention", true, false, "cross-attention", "only decoder-only models are read");
  auto model = gpt_kind(Modules::kGpt2);
  model.layers = read_layers(config, "n_layer");
  read_heads(config, {"n_embd", "n_head", {}, {}}, 0, model);
  model.ffn = read_size(config, "n_inner", 4 * model.hidden);
  model.vocabulary = read_size(config, "vocab_size");
  model.positions = read_size(config, "n_positions");
  model.max_sequence_length = model.positions;
  set_biases(model, true);
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", true);
  model.dropout = has_dropout(config, {"embd_pdrop", "resid_pdrop", "attn_pdrop"}, 0.1);
  return model;
}

/// `size` times the number at `key`, which is above 0 and at most `most`, or `otherwise`; without its fraction, and at
/// least 1.
std::int64_t read_multiple(io::Node const& config, std::string_view key, double otherwise, double most,
                           std::int64_t size) {
  auto const node = config.find(key);
  auto const factor = node ? node->number() : otherwise;
  auto const is_possible = factor > 0 && factor <= most && factor * static_cast<double>(size) >= 1;
  if (!is_possible)
    node.value_or(config).fail(fmt::format("{} times a width of {}", factor, size),
                               fmt::format("choose a factor up to {} that leaves 1 or more", most));
  return static_cast<std::int64_t>(factor * static_cast<double>(size));
}

Transformer read_gpt_neox(io::Node const& config, Warnings&) {
  auto model = gpt_kind(Modules::kGptNeoX);
  model.layers = read_layers(config, "num_hidden_layers");
  read_heads(config, {"hidden_size", "num_attention_heads", {}, {}}, 0, model);
  model.ffn = read_size(config, "intermediate_size");
  model.vocabulary = read_size(config, "vocab_size");
  model.max_sequence_length = read_size(config, "max_position_embeddings", 2048);
  model.rotary_size = read_multiple(config, "rotary_pct", 0.25, 1, model.head_size);
  model.parallel_branches = read_flag(config, "use_parallel_residual", true);
  set_biases(model, true);
  model.qkv_bias = model.attention_output_bias = read_flag(config, "attention_bias", true);
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", false);
  model.dropout = has_dropout(config, {"hidden_dropout", "attention_dropout"}, 0);
  return model;
}

Transformer read_opt(io::Node const& config, Warnings& warnings) {
  refuse_if(config, "do_layer_norm_before", false, true, "norms behind the branches",
            "only blocks with a norm before each branch are read");
  refuse_if(config, "_remove_final_layer_norm", true, false, "a model without final norm",
            "only models with one are read");
  refuse_if(config, "layer_norm_elementwise_affine", false, true, "norms without weights",
            "only norms with weights are read");
  auto model = gpt_kind(Modules::kOpt);
  model.layers = read_layers(config, "num_hidden_layers");
  read_heads(config, {"hidden_size", "num_attention_heads", {}, {}}, 0, model);
  if (auto const width = config.find("word_embed_proj_dim"); width && width->integer() != model.hidden)
    width->fail(fmt::format("embeddings of {} in a model of {}", width->integer(), model.hidden),
                "only embeddings as wide as hidden_size are read");
  model.ffn = read_size(config, "ffn_dim");
  model.vocabulary = read_size(config, "vocab_size");
  model.max_sequence_length = read_size(config, "max_position_embeddings", 2048);
  model.positions = model.max_sequence_length + 2;  // OPTLearnedPositionalEmbedding.offset
  set_biases(model, read_flag(config, "enable_bias", true));
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", true);
  model.dropout = has_dropout(config, {"dropout"}, 0.1) || has_dropout(config, {"attention_dropout"}, 0);
  auto const activation = config.find("activation_function");
  model.relu = !activation || activation->string() == "relu";
  if (auto const layer_drop = config.find("layerdrop"); layer_drop && layer_drop->number() > 0)
    warnings.push_back(fmt::format("{}: every layer is run in every step", layer_drop->path()));
  return model;
}

/// Keys and values of MPT's attention have their own number of heads, or one in all, or as many as the queries.
std::int64_t mpt_kv_heads(std::optional<io::Node> const& attention) {
  if (!attention) return 0;
  if (attention->find("kv_n_heads")) return read_size(*attention, "kv_n_heads");
  auto const type = attention->find("attn_type");
  return type && type->string() == "multiquery_attention" ? 1 : 0;
}

/// ALiBi and rotation go before learned positions (llm-foundry, MPTConfig).
void read_mpt_positions(io::Node const& config, std::optional<io::Node> const& attention, Transformer& model) {
  model.alibi = !attention || read_flag(*attention, "alibi", true);
  auto const rotates = attention && read_flag(*attention, "rope", false);
  if (model.alibi || rotates) return;
  refuse_if(config, "learned_pos_emb", false, true, "a model without positions",
            R"(set "learned_pos_emb", or "alibi" in "attn_config")");
  model.positions = model.max_sequence_length;
}

std::int64_t read_mpt_ffn(io::Node const& config, std::int64_t hidden) {
  auto const ffn = config.find("ffn_config");
  auto const type = ffn ? ffn->find("ffn_type") : std::nullopt;
  if (type && type->string() != "mptmlp")
    type->fail(fmt::format("an MLP of the kind {}", quoted(type->string())), R"(only "mptmlp" is read)");
  if (ffn && ffn->find("ffn_hidden_size")) return read_size(*ffn, "ffn_hidden_size");
  return read_multiple(config, "expansion_ratio", 4, 1024, hidden);
}

void warn_of_mpt_attention(io::Node const& attention, Warnings& warnings) {
  if (auto const clip = attention.find("clip_qkv"))
    warnings.push_back(fmt::format("{}: the kernel that clips is not modelled", clip->path()));
  if (auto const window = attention.find("sliding_window_size"); window && window->integer() > 0)
    warnings.push_back(fmt::format("{}: attention is costed over the whole sequence, not a window of {}",
                                   window->path(), window->integer()));
}

Transformer read_mpt(io::Node const& config, Warnings& warnings) {
  auto const attention = config.find("attn_config");
  if (attention)
    refuse_if(*attention, "qk_ln", true, false, "norms over all heads' queries and keys",
              "only models without are read");
  auto model = gpt_kind(Modules::kMpt);
  model.layers = read_layers(config, "n_layers");
  read_heads(config, {"d_model", "n_heads", {}, {}}, mpt_kv_heads(attention), model);
  model.ffn = read_mpt_ffn(config, model.hidden);
  model.vocabulary = read_size(config, "vocab_size");
  model.max_sequence_length = read_size(config, "max_seq_len", 2048);
  read_mpt_positions(config, attention, model);
  auto const has_biases = !read_flag(config, "no_bias", true);
  set_biases(model, has_biases);
  model.norm_bias = has_biases;
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", true);
  model.dropout =
      has_dropout(config, {"emb_pdrop", "resid_pdrop"}, 0) || (attention && has_dropout(*attention, {"attn_pdrop"}, 0));
  if (attention) warn_of_mpt_attention(*attention, warnings);
  return model;
}

}  // namespace

std::vector<HfFamily> gpt_families() {
  return {{"GPT2LMHeadModel", "gpt2", read_gpt2},
          {"GPTNeoXForCausalLM", "gpt_neox", read_gpt_neox},
          {"OPTForCausalLM", "opt", read_opt},
          {"MPTForCausalLM", "mpt", read_mpt},
          {"MptForCausalLM", "mpt", read_mpt}};
}

}  // namespace twinstep::strategies
