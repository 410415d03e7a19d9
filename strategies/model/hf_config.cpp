#include "strategies/model/hf_config.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/model/hf_families.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

void warn_of_what_is_not_modelled(io::Node const& config, Transformer const& model,
                                  std::vector<std::string>& warnings) {
  auto const window = config.find("sliding_window");
  if (window && read_flag(config, "use_sliding_window", true) && window->integer() < model.max_sequence_length) {
    warnings.push_back(fmt::format("{}: attention is costed over the whole sequence, not a window of {}",
                                   window->path(), window->integer()));
  }
  if (auto const quantization = config.find("quantization_config")) {
    warnings.push_back(
        fmt::format("{}: quantised weights are not modelled; the training precision is used", quantization->path()));
  }
}

void refuse_experts(io::Node const& config) {
  for (auto const* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    auto const experts = config.find(key);
    if (experts && experts->integer() > 1) {
      experts->fail(fmt::format("{} experts", experts->integer()), "only dense models are read");
    }
  }
}

/// The class or, failing that, the type that the configuration names, and where.
io::Node architecture_node(io::Node const& config) {
  if (auto const classes = config.find("architectures")) {
    auto const elements = classes->elements();
    if (!elements.empty()) return elements.front();
  }
  if (auto const type = config.find("model_type")) return *type;
  config.fail("a model without architectures and model_type", R"(give "architectures": ["LlamaForCausalLM"])");
}

std::vector<HfFamily> all_families() {
  auto out = llama_families();
  std::ranges::copy(gpt_families(), std::back_inserter(out));
  return out;
}

/// "LlamaForCausalLM", "llama", or "LlamaModel", as transformers calls the same without its head.
bool names(std::string_view architecture, HfFamily const& family) {
  auto const stem = family.class_name.substr(
      0, std::min(family.class_name.find("ForCausalLM"), family.class_name.find("LMHeadModel")));
  return architecture == family.class_name || architecture == family.model_type ||
         architecture == fmt::format("{}Model", stem);
}

/// A model of the same shape in our own words, where the configuration gives the shape under the usual names.
std::string short_spec_of(io::Node const& config) {
  constexpr auto kKeys = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"layers", "num_hidden_layers"},
      {"hidden", "hidden_size"},
      {"heads", "num_attention_heads"},
      {"kv_heads", "num_key_value_heads"},
      {"ffn", "intermediate_size"},
      {"vocabulary", "vocab_size"},
  });
  auto spec = std::string{R"("family": "llama")"};
  for (auto const& [ours, theirs] : kKeys)
    if (auto const size = config.find(theirs); size && size->is(io::Node::Type::kNumber))
      spec += fmt::format(R"(, "{}": {})", ours, size->integer());
  return spec;
}

/// A nested configuration of the family with the sizes that it leaves to the class.
io::Node with_defaults(io::Node const& nested, HfFamily const& family, std::vector<std::string>& warnings) {
  auto const defaults =
      io::parse({fmt::format("transformers' defaults of {}", family.model_type), std::string{family.defaults}, false});
  auto left_out = std::vector<std::string>{};
  for (auto const& [key, value] : defaults.members())
    if (!nested.find(key)) left_out.push_back(fmt::format("{} {}", key, value.integer()));
  if (left_out.empty()) return nested;
  warnings.push_back(fmt::format("{}: {} taken, transformers' default of {}", nested.path(), fmt::join(left_out, ", "),
                                 family.model_type));
  return io::merge(defaults, nested);
}

Transformer read_known(io::Node const& config, std::vector<std::string>& warnings, bool is_nested = false) {
  auto const node = architecture_node(config);
  auto known = std::vector<std::string_view>{};
  for (auto const& family : all_families()) {
    known.push_back(family.class_name);
    if (!names(node.string(), family)) continue;
    auto model = family.read(is_nested ? with_defaults(config, family, warnings) : config, warnings);
    model.name = family.model_type;
    return model;
  }
  if (auto const text = config.find("text_config")) {
    warnings.push_back(fmt::format("{}: only the text model of {} is read", text->path(), quoted(node.string())));
    return read_known(*text, warnings, true);
  }
  node.fail(fmt::format("architecture {}", quoted(node.string())),
            fmt::format("known: {}; if it is built like Llama, give the model as {{{}}}", fmt::join(known, ", "),
                        short_spec_of(config)));
}

}  // namespace

Transformer read_hf_config(io::Node const& config, std::vector<std::string>& warnings) {
  refuse_experts(config.find("text_config").value_or(config));
  auto model = read_known(config, warnings);
  auto const text = config.find("text_config").value_or(config);
  check_parameter_count(text, model);
  warn_of_what_is_not_modelled(text, model, warnings);
  return model;
}

}  // namespace twinstep::strategies
