#pragma once

#include <optional>
#include <string>

#include "hw_profiles/numbers.hpp"
#include "sim/hardware/cluster.hpp"

/// The three profiles that say what collectives cost: links inside nodes, transports between them, libraries.
namespace twinstep::hw_profiles {

[[nodiscard]] hardware::Link read_link(NumberReader const& numbers, io::Node const& node);
[[nodiscard]] hardware::Transport read_transport(NumberReader const& numbers, io::Node const& node);
/// Reads the library and, of the tuning that it names, the constants of its version.
[[nodiscard]] hardware::Library read_library(NumberReader const& numbers, io::Node const& node);

/// NCCL's constants as `version` has them, or the newest for ""; nothing for a version older than the shipped table.
[[nodiscard]] std::optional<hardware::Tuning> tuning_of(std::string const& version);

}  // namespace twinstep::hw_profiles
