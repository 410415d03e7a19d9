#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"

namespace twinstep::strategies {

/// The "model" of a scenario: {"hf_config": "llama-2-7b/config.json"}, the path relative to `base_directory`, or a
/// short spec as strategies/model/schema/model.schema.json describes it, such as
/// {"family": "llama", "layers": 32, "hidden": 4096, "heads": 32}.
/// Appends to `warnings` what the model has and the simulation has not. `read` gives the file's text. Throws
/// InputError.
[[nodiscard]] ModelSpec read_model(io::Node const& model, std::string const& base_directory,
                                   std::vector<std::string>& warnings, io::ReadText const& read = io::read_text);

/// `key` of `object` as a size: an integer from 1 to 2^31.
[[nodiscard]] std::int64_t read_size(io::Node const& object, std::string_view key);
/// The same, or `otherwise` where the key is absent or null.
[[nodiscard]] std::int64_t read_size(io::Node const& object, std::string_view key, std::int64_t otherwise);
/// How many layers `key` names: from 1 to 100,000.
[[nodiscard]] std::int64_t read_layers(io::Node const& object, std::string_view key);
[[nodiscard]] bool read_flag(io::Node const& object, std::string_view key, bool otherwise);

/// Spellings of a file format for the sizes of attention.
struct HeadKeys {
  std::string_view hidden, heads, kv_heads, head_size;
  std::int64_t default_head_size = 0;  ///< 0: hidden / heads
};

/// Reads hidden, heads, kv_heads (default `kv_heads`, or heads if that is 0) and head_size into `model`. An empty key
/// is not read. Throws where they do not divide.
void read_heads(io::Node const& object, HeadKeys const& keys, std::int64_t kv_heads, Transformer& model);

/// A residual network: {"family": "cnn", "name": "resnet50"}, or its stages.
[[nodiscard]] Cnn read_cnn(io::Node const& spec);

/// Throws if the sizes multiply to more than 10^15 parameters, which no model has and no counter should meet.
void check_parameter_count(io::Node const& object, ModelSpec const& model);

}  // namespace twinstep::strategies
