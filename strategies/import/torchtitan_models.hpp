#pragma once

#include "strategies/import/users_file.hpp"

namespace twinstep::strategies {

/// The model that torchtitan builds for [model] name and flavor, as a scenario's model; empty where they are not known.
/// Throws InputError for a mixture of experts. Sources: torchtitan/models/llama3/__init__.py,
/// torchtitan/models/qwen3/__init__.py.
[[nodiscard]] Part torchtitan_model(io::Node const& name, io::Node const& flavor);

}  // namespace twinstep::strategies
