#include "strategies/import/torchtitan_models.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace twinstep::strategies {
namespace {

struct Flavor {
  std::string_view model, name;
  std::int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocabulary, max_sequence_length;
  bool tied_embeddings = false;
  bool query_key_norm = false;
};

constexpr auto kFlavors = std::to_array<Flavor>({
    {"llama3", "debugmodel", 6, 256, 16, 16, 16, 768, 2048, 131072},
    {"llama3", "8B", 32, 4096, 32, 8, 128, 14336, 128256, 131072},
    {"llama3", "70B", 80, 8192, 64, 8, 128, 28672, 128256, 131072},
    {"llama3", "405B", 126, 16384, 128, 8, 128, 53248, 128256, 131072},
    {"qwen3", "0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 4096, true, true},
    {"qwen3", "1.7B", 28, 2048, 16, 8, 128, 6144, 151936, 4096, true, true},
    {"qwen3", "4B", 36, 2560, 32, 8, 128, 9728, 151936, 4096, true, true},
    {"qwen3", "8B", 36, 4096, 32, 8, 128, 12288, 151936, 4096, false, true},
    {"qwen3", "14B", 40, 5120, 40, 8, 128, 17408, 151936, 4096, false, true},
    {"qwen3", "32B", 64, 5120, 64, 8, 128, 25600, 151936, 4096, false, true},
});

/// Flavors such as "30B-A3B" name how much of the model is active.
void refuse_experts(io::Node const& name, io::Node const& flavor) {
  constexpr auto kOfExperts = std::to_array<std::string_view>({"deepseek_v3", "llama4", "gpt_oss"});
  auto const is_mixture = std::ranges::find(kOfExperts, name.string()) != kOfExperts.end() ||
                          flavor.string().find("-A") != std::string_view::npos ||
                          flavor.string().find("moe") != std::string_view::npos;
  if (!is_mixture) return;
  flavor.fail(fmt::format("found {} {}, a mixture of experts, which is not modelled", name.string(), flavor.string()),
              "name a dense model");
}

/// "8B" of "8B" and of "8B_flex", which is the same model with another kernel for attention.
bool names(std::string_view flavor, std::string_view known) {
  return flavor.starts_with(known) && (flavor.size() == known.size() || flavor[known.size()] == '_');
}

}  // namespace

Part torchtitan_model(io::Node const& name, io::Node const& flavor) {
  refuse_experts(name, flavor);
  auto model = Part{"model"};
  auto const known = std::ranges::find_if(
      kFlavors, [&](Flavor const& f) { return f.model == name.string() && names(flavor.string(), f.name); });
  if (known == kFlavors.end()) return model;
  model.put("family", flavor, "llama");
  model.put("name", flavor, fmt::format("{}-{}", known->model, known->name));
  model.put("layers", flavor, known->layers);
  model.put("hidden", flavor, known->hidden);
  model.put("heads", flavor, known->heads);
  model.put("kv_heads", flavor, known->kv_heads);
  if (known->head_size * known->heads != known->hidden) model.put("head_size", flavor, known->head_size);
  model.put("ffn", flavor, known->ffn);
  model.put("vocabulary", flavor, known->vocabulary);
  model.put("max_sequence_length", flavor, known->max_sequence_length);
  if (known->tied_embeddings) model.put("tied_embeddings", flavor, true);
  if (known->query_key_norm) model.put("query_key_norm", flavor, true);
  return model;
}

}  // namespace twinstep::strategies
