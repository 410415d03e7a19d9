#include "strategies/import/megatron_model.hpp"

#include <fmt/format.h>

#include "strategies/import/known_keys.hpp"

namespace twinstep::strategies {
namespace {

using std::int64_t;

constexpr int64_t kMost = int64_t{1} << 31;  ///< of any size, so that products of two fit

class ModelReader {
 public:
  ModelReader(io::Node const& arguments, std::vector<std::string>& warnings)
      : arguments_{arguments}, warnings_{warnings} {}

  Part read() {
    if (auto const experts = find("num-experts"))
      experts->fail("found a mixture of experts, which is not modelled", "name a dense model");
    auto const layers = find("num-layers");
    auto const hidden = find("hidden-size");
    auto const heads = find("num-attention-heads");
    if (!layers || !hidden || !heads) return std::move(model_);
    is_gated_ = is_on("swiglu");
    model_.put("family", *layers, is_gated_ ? "llama" : "gpt2");
    model_.put("layers", *layers, count(*layers));
    model_.put("hidden", *hidden, count(*hidden));
    model_.put("heads", *heads, count(*heads));
    read_heads(*hidden, *heads);
    read_mlp(*hidden);
    read_vocabulary();
    read_positions();
    read_kind(*layers);
    return std::move(model_);
  }

 private:
  [[nodiscard]] std::optional<io::Node> find(std::string_view name) const {
    return megatron_argument(arguments_, name);
  }
  [[nodiscard]] bool is_on(std::string_view flag) const {
    auto const value = find(flag);
    return value && value->boolean();
  }
  static int64_t count(io::Node const& node) {
    auto const number = node.integer_from(1);
    if (number > kMost) node.fail(fmt::format("found a size of {}", number), fmt::format("at most {}", kMost));
    return number;
  }

  /// One group of queries is the default of --num-query-groups.
  void read_heads(io::Node const& hidden, io::Node const& heads) {
    auto const groups = find("num-query-groups");
    if (is_on("group-query-attention"))
      model_.put("kv_heads", groups.value_or(arguments_), groups ? count(*groups) : 1);
    if (auto const channels = find("kv-channels"))
      model_.put("head_size", *channels, count(*channels));
    else if (count(hidden) % count(heads) != 0)
      heads.fail(fmt::format("found {} heads for a hidden size of {}", count(heads), count(hidden)),
                 "use a divisor of it, or give --kv-channels");
  }

  /// A gated MLP is as wide as its parameters would be without the gate, in steps of 64.
  void read_mlp(io::Node const& hidden) {
    auto const width = find("ffn-hidden-size");
    auto const usual = is_gated_ ? count(hidden) * 8 / 3 / 64 * 64 : count(hidden) * 4;
    if (width || usual > 0) model_.put("ffn", width.value_or(hidden), width ? count(*width) : usual);
  }

  /// Padded so that every tensor rank has as many rows, a multiple of 128.
  void read_vocabulary() {
    if (auto const padded = find("padded-vocab-size")) return model_.put("vocabulary", *padded, count(*padded));
    auto const size = find("vocab-size");
    auto const tokenizer = find("tokenizer-type");
    auto const is_gpt2 =
        tokenizer && tokenizer->is(io::Node::Type::kString) && tokenizer->string() == "GPT2BPETokenizer";
    if (!size && !is_gpt2) {
      warnings_.push_back(at_place_of(
          tokenizer.value_or(arguments_),
          fmt::format("does not say the size of the vocabulary, which the tokenizer knows: {} is taken; give "
                      "--vocab-size or the model's \"vocabulary\"",
                      is_gated_ ? 32000 : 50257)));
      return;
    }
    constexpr int64_t kGpt2 = 50257;
    auto const divisor = find("make-vocab-size-divisible-by");
    auto const ranks = find("tensor-model-parallel-size");
    auto const multiple =
        static_cast<double>(divisor ? count(*divisor) : 128) * static_cast<double>(ranks ? count(*ranks) : 1);
    if (multiple > static_cast<double>(kMost))
      divisor.value_or(*ranks).fail("found rows beyond any vocabulary", "lower it");
    auto const step = static_cast<int64_t>(multiple);
    auto const rows = ((size ? count(*size) : kGpt2) + step - 1) / step * step;
    model_.put("vocabulary", size.value_or(*tokenizer), rows);
  }

  void read_positions() {
    auto const longest = find("max-position-embeddings");
    auto const length = find("seq-length");
    if (longest)
      model_.put("max_sequence_length", *longest, count(*longest));
    else if (length)
      model_.put("max_sequence_length", *length, count(*length));
    auto const type = find("position-embedding-type");
    auto const rotary = find("use-rotary-position-embeddings");
    auto const word = type ? type->string() : std::string_view{rotary ? "rope" : "learned_absolute"};
    auto const ours = std::string_view{is_gated_ ? "rope" : "learned_absolute"};
    if (word != ours)
      warn(type.value_or(rotary.value_or(arguments_)),
           fmt::format("positions of the kind {} are not modelled beside {}: {} is taken", quoted(word),
                       is_gated_ ? "SwiGLU" : "a plain MLP", ours));
  }

  void read_kind(io::Node const& place) {
    auto const norm = find("normalization");
    auto const word = norm ? norm->string() : std::string_view{"LayerNorm"};
    auto const ours = std::string_view{is_gated_ ? "RMSNorm" : "LayerNorm"};
    if (word != ours)
      warn(norm.value_or(place), fmt::format("{} is not modelled beside {}: {} is taken", quoted(word),
                                             is_gated_ ? "SwiGLU" : "a plain MLP", ours));
    auto const untied = find("untie-embeddings-and-output-weights");
    auto const unbiased = find("disable-bias-linear");
    model_.put("tied_embeddings", untied.value_or(place), !is_on("untie-embeddings-and-output-weights"));
    model_.put("biases", unbiased.value_or(place), !is_on("disable-bias-linear"));
    if (is_on("disable-bias-linear") && is_on("add-qkv-bias"))
      warn(*find("add-qkv-bias"), "is not modelled: no linear layer has a bias");
    if (auto const norms = find("qk-layernorm")) model_.put("query_key_norm", *norms, norms->boolean());
    auto const hidden = find("hidden-dropout");
    auto const attention = find("attention-dropout");
    auto const drops = (hidden ? hidden->number() : 0.1) > 0 || (attention ? attention->number() : 0.1) > 0;
    model_.put("dropout", hidden.value_or(attention.value_or(place)), drops);
  }

  void warn(io::Node const& place, std::string_view sentence) { warnings_.push_back(at_place_of(place, sentence)); }

  io::Node const& arguments_;
  std::vector<std::string>& warnings_;
  Part model_{"model"};
  bool is_gated_ = false;
};

}  // namespace

Part megatron_model(io::Node const& arguments, std::vector<std::string>& warnings) {
  return ModelReader{arguments, warnings}.read();
}

std::optional<io::Node> megatron_argument(io::Node const& arguments, std::string_view name) {
  auto value = arguments.find(name);
  if (value && value->is(io::Node::Type::kString) && value->string().find('$') != std::string_view::npos)
    value->fail(fmt::format("found {}, a variable of the shell that the text does not set", quoted(value->string())),
                "write its value, or set it above");
  return value;
}

}  // namespace twinstep::strategies
