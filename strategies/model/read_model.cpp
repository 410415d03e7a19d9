#include "strategies/model/read_model.hpp"

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/hf_config.hpp"

namespace twinstep::strategies {
namespace {

enum class Family : std::uint8_t { kLlama, kGpt2, kMlp, kCnn };

}  // namespace
}  // namespace twinstep::strategies

template <>
struct twinstep::EnumNames<twinstep::strategies::Family> {
  static constexpr std::array<std::string_view, 4> values{"llama", "gpt2", "mlp", "cnn"};
};

namespace twinstep::strategies {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;
constexpr std::int64_t kMaxLayers = 100'000;

/// The configuration that `path_node` names.
io::Node config_at(std::string const& path, io::Node const& path_node, io::ReadText const& read) try {
  return io::parse_file(path, io::Dialect::kForeign, read);
} catch (InputError const&) {
  if (path.ends_with(".json")) throw;
  path_node.fail(fmt::format("found {}, which is no file here", quoted(path_node.string())),
                 "a name on Hugging Face is not looked up: download its config.json and give the path of that");
}

ModelSpec read_file(io::Node const& path_node, std::string const& base_directory, std::vector<std::string>& warnings,
                    io::ReadText const& read) {
  auto const path = std::filesystem::path{base_directory} / std::string{path_node.string()};
  auto model = read_hf_config(config_at(path.string(), path_node, read), warnings);
  auto const folder = path.parent_path().filename().string();
  if (!folder.empty() && folder != "." && folder != "..") model.name = folder;
  return model;
}

std::string read_name(io::Node const& spec, std::string_view otherwise) {
  auto const name = spec.find("name");
  return std::string{name ? name->string() : otherwise};
}

/// LLaMA's MLP is 2/3 of 4 hidden wide, rounded up to a multiple of 256 (Touvron et al., arXiv 2302.13971, section
/// 2.2, and its published code).
std::int64_t llama_ffn(std::int64_t hidden) {
  return round_up(8 * hidden / 3, 256);
}

Transformer read_transformer(io::Node const& spec, Family family) {
  spec.allow_only({"family", "name", "layers", "hidden", "heads", "kv_heads", "head_size", "ffn", "vocabulary",
                   "max_sequence_length", "tied_embeddings", "biases", "query_key_norm", "dropout"});
  auto const is_gpt2 = family == Family::kGpt2;
  auto model = Transformer{};
  model.name = read_name(spec, name_of(family));
  model.layers = read_layers(spec, "layers");
  read_heads(spec, {"hidden", "heads", "kv_heads", "head_size"}, 0, model);
  model.ffn = read_size(spec, "ffn", is_gpt2 ? 4 * model.hidden : llama_ffn(model.hidden));
  model.vocabulary = read_size(spec, "vocabulary", is_gpt2 ? 50257 : 32000);
  model.max_sequence_length = read_size(spec, "max_sequence_length", is_gpt2 ? 1024 : 4096);
  model.positions = is_gpt2 ? model.max_sequence_length : 0;
  model.norm = is_gpt2 ? Norm::kLayer : Norm::kRms;
  model.gated_mlp = !is_gpt2;
  model.fused_qkv = is_gpt2;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = read_flag(spec, "biases", is_gpt2);
  model.query_key_norm = read_flag(spec, "query_key_norm", false);
  model.tied_embeddings = read_flag(spec, "tied_embeddings", is_gpt2);
  model.dropout = read_flag(spec, "dropout", is_gpt2);
  return model;
}

Mlp read_mlp(io::Node const& spec) {
  spec.allow_only({"family", "name", "widths", "layers", "hidden"});
  auto model = Mlp{read_name(spec, "mlp"), {}};
  if (auto const widths = spec.find("widths")) {
    if (spec.has("layers") || spec.has("hidden")) {
      widths->fail("widths beside layers or hidden", "give the widths, or the layers and their one width");
    }
    for (auto const& width : widths->elements()) {
      auto const value = width.integer_from(1);
      if (value > kMaxSize) width.fail(fmt::format("a size of {}", value), fmt::format("at most {}", kMaxSize));
      model.widths.push_back(value);
    }
    if (model.widths.size() < 2) widths->fail("a model that names no layers", "give two widths or more");
    if (model.layers() > kMaxLayers) {
      widths->fail(fmt::format("{} layers", model.layers()), fmt::format("at most {}", kMaxLayers));
    }
    return model;
  }
  auto const layers = read_layers(spec, "layers");
  model.widths.assign(static_cast<std::size_t>(layers) + 1, read_size(spec, "hidden"));
  return model;
}

double estimate_parameters(Transformer const& m) {
  auto const as_double = [](auto... factors) { return (1.0 * ... * static_cast<double>(factors)); };
  return as_double(m.layers, m.hidden, 2 * (m.query_width() + m.kv_width())) +
         3 * as_double(m.layers, m.hidden, m.ffn) + 2 * as_double(m.hidden, m.vocabulary) +
         as_double(m.hidden, m.positions);
}

double estimate_parameters(Mlp const& m) {
  auto sum = 0.0;
  for (std::size_t i = 1; i < m.widths.size(); ++i) {
    sum += static_cast<double>(m.widths[i - 1]) * static_cast<double>(m.widths[i]);
  }
  return sum;
}

double estimate_parameters(Cnn const& m) {
  auto sum = static_cast<double>(features(m)) * static_cast<double>(m.classes);
  for (auto const& blocks : blocks_of(m))
    for (auto const& convolution : blocks.path)
      sum += static_cast<double>(blocks.count) * static_cast<double>(convolution.out) *
             static_cast<double>(convolution.window());
  return sum;
}

ModelSpec read_spec(io::Node const& model, Family family) {
  switch (family) {
    case Family::kLlama:
    case Family::kGpt2: return read_transformer(model, family);
    case Family::kMlp: return read_mlp(model);
    case Family::kCnn: return read_cnn(model);
  }
  TWINSTEP_UNREACHABLE("every family has its reader");
}

}  // namespace

ModelSpec read_model(io::Node const& model, std::string const& base_directory, std::vector<std::string>& warnings,
                     io::ReadText const& read) {
  if (auto const path = model.find("hf_config")) {
    model.allow_only({"hf_config"});
    return read_file(*path, base_directory, warnings, read);
  }
  if (!model.has("family")) {
    model.fail("a model without a family",
               R"(give {"hf_config": "path/config.json"} or a "family": llama, gpt2, mlp, cnn)");
  }
  auto const family = model.at("family").word<Family>();
  auto spec = read_spec(model, family);
  check_parameter_count(model, spec);
  return spec;
}

std::int64_t read_size(io::Node const& object, std::string_view key) {
  auto const node = object.at(key);
  auto const size = node.integer_from(1);
  if (size > kMaxSize) node.fail(fmt::format("a size of {}", size), fmt::format("at most {}", kMaxSize));
  return size;
}

std::int64_t read_size(io::Node const& object, std::string_view key, std::int64_t otherwise) {
  return object.find(key) ? read_size(object, key) : otherwise;
}

std::int64_t read_layers(io::Node const& object, std::string_view key) {
  auto const node = object.find(key);
  auto const way_out = fmt::format(R"(give "{}": 1 or more)", key);
  if (!node) object.fail("a model that names no layers", way_out);
  auto const layers = node->integer();
  if (layers < 1) node->fail(fmt::format("a model that names no layers ({})", layers), way_out);
  if (layers > kMaxLayers) node->fail(fmt::format("{} layers", layers), fmt::format("at most {}", kMaxLayers));
  return layers;
}

bool read_flag(io::Node const& object, std::string_view key, bool otherwise) {
  auto const node = object.find(key);
  return node ? node->boolean() : otherwise;
}

void read_heads(io::Node const& object, HeadKeys const& keys, std::int64_t kv_heads, Transformer& model) {
  model.hidden = read_size(object, keys.hidden);
  model.heads = read_size(object, keys.heads);
  model.kv_heads = kv_heads > 0 ? kv_heads : model.heads;
  if (!keys.kv_heads.empty()) model.kv_heads = read_size(object, keys.kv_heads, model.kv_heads);
  if (model.heads % model.kv_heads != 0) {
    auto const node = object.find(keys.kv_heads).value_or(object.at(keys.heads));
    node.fail(fmt::format("{} heads in groups for {} key-value heads", model.heads, model.kv_heads),
              fmt::format("{} divided by the key-value heads must leave no rest", model.heads));
  }
  if (keys.default_head_size > 0 || (!keys.head_size.empty() && object.find(keys.head_size))) {
    model.head_size = read_size(object, keys.head_size, keys.default_head_size);
    return;
  }
  if (model.hidden % model.heads != 0) {
    auto const also = keys.head_size.empty() ? std::string{} : fmt::format(", or give \"{}\"", keys.head_size);
    object.at(keys.heads)
        .fail(fmt::format("{} heads for {} = {}", model.heads, keys.hidden, model.hidden),
              fmt::format("choose a number of heads that divides it{}", also));
  }
  model.head_size = model.hidden / model.heads;
}

void check_parameter_count(io::Node const& object, ModelSpec const& model) {
  auto const parameters = std::visit([](auto const& m) { return estimate_parameters(m); }, model);
  if (parameters > 1e15) {
    object.fail(fmt::format("a model of about {:.2g} parameters", parameters), "at most 1e15: are the sizes right?");
  }
}

}  // namespace twinstep::strategies
