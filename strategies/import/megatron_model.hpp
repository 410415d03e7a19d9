#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/import/users_file.hpp"

namespace twinstep::strategies {

/// The GPT that Megatron-LM builds from its arguments, as a scenario's model; empty where layers, hidden size or heads
/// are not given. What a model of ours cannot be is said in `warnings`. Throws InputError for a mixture of experts.
/// Sources: megatron/training/arguments.py (validate_args), megatron/training/tokenizer/tokenizer.py
/// (_vocab_size_with_padding).
[[nodiscard]] Part megatron_model(io::Node const& arguments, std::vector<std::string>& warnings);

/// The argument `name`, if it is given. Throws InputError for a variable whose value the text does not say.
[[nodiscard]] std::optional<io::Node> megatron_argument(io::Node const& arguments, std::string_view name);

}  // namespace twinstep::strategies
