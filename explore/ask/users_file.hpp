#pragma once

#include <string>
#include <vector>

#include "explore/ask/parts.hpp"
#include "explore/ask/strategy_titles.hpp"
#include "strategies/import/users_file.hpp"

namespace twinstep::explore {

/// The training and one strategy of a scenario, with the user's file that the strategy may name ("deepspeed_config",
/// "accelerate_config", "torchtitan_config", "megatron_config", relative to `folder`) under the scenario's own values.
/// Appends to `warnings` what of the file is not simulated, and what it leaves open and `document` does not say either.
/// Throws InputError.
[[nodiscard]] Written with_users_file(io::Node const& document, io::Node const& strategy, std::string const& folder,
                                      Parts& parts, std::vector<std::string>& warnings);

/// A scenario, as JSON text, with what the file says; what it cannot know is left to be filled in: a cluster called
/// CLUSTER and a model at PATH/config.json. Appends to `warnings` likewise.
[[nodiscard]] std::string scenario_of(strategies::UsersFormat format, io::Source source,
                                      std::vector<std::string>& warnings);

/// The same for a model: `config` is its Hugging Face configuration, which the scenario calls `name`. The strategy is
/// left to be filled in.
[[nodiscard]] std::string scenario_of_model(io::Source const& config, std::string const& name,
                                            std::vector<std::string>& warnings);

}  // namespace twinstep::explore
