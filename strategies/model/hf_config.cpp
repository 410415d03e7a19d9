#include "strategies/model/hf_config.hpp"

#include <algorithm>
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

Transformer read_known(io::Node const& config, std::vector<std::string>& warnings) {
  auto const node = architecture_node(config);
  auto known = std::vector<std::string_view>{};
  for (auto const& family : all_families()) {
    known.push_back(family.class_name);
    if (node.string() != family.class_name && node.string() != family.model_type) continue;
    auto model = family.read(config, warnings);
    model.name = family.model_type;
    return model;
  }
  node.fail(fmt::format("architecture {}", quoted(node.string())), fmt::format("known: {}", fmt::join(known, ", ")));
}

}  // namespace

Transformer read_hf_config(io::Node const& config, std::vector<std::string>& warnings) {
  refuse_experts(config);
  auto const model = read_known(config, warnings);
  check_parameter_count(config, model);
  warn_of_what_is_not_modelled(config, model, warnings);
  return model;
}

}  // namespace twinstep::strategies
