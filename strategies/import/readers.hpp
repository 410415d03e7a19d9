#pragma once

#include <optional>
#include <string>

#include "strategies/import/users_file.hpp"

/// One reader for each program.
namespace twinstep::strategies {

/// DeepSpeed's JSON (deepspeed/runtime/config.py, deepspeed/runtime/zero/config.py). "auto" stays for what follows from
/// the model and is left open for what Hugging Face's Trainer fills in from its own arguments.
[[nodiscard]] UsersFile read_deepspeed(io::Node const& config);

/// accelerate's YAML with its fsdp_config or deepspeed_config; `directory` is where the latter's own file is looked
/// for, and read with `read`. Processes become ranks. Source: accelerate/utils/dataclasses.py,
/// accelerate/commands/config/.
[[nodiscard]] UsersFile read_accelerate(io::Node const& config, std::string const& directory, io::ReadText const& read);

/// torchtitan's TOML, with parallel degrees under [parallelism] or, in older files, under [training] and
/// [experimental]. Source: torchtitan/config/job_config.py, torchtitan/models/llama3/infra/parallelize.py.
[[nodiscard]] UsersFile read_torchtitan(io::Node const& config);

/// Arguments of pretrain_gpt.py by their names without dashes, and torchrun's beside them; `warnings`: what was found
/// about them before. Source: megatron/training/arguments.py.
[[nodiscard]] UsersFile read_megatron(io::Node const& arguments, std::vector<std::string> warnings);

/// Offload of parameters, and of the optimizer with them, to the CPU: as FSDP does where `from` asks for it.
void put_cpu_offload(Part& strategy, io::Node const& from);

/// Ranks that share every layer, if there is more than one. Throws InputError for a degree below 1.
void put_tensor_ranks(Part& strategy, std::optional<io::Node> const& degree);

}  // namespace twinstep::strategies
