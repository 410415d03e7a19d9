#pragma once

#include <string>
#include <vector>

#include "hw_profiles/catalog.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"

/// Profiles as the machine that the simulator runs on.
///
/// Every number of a profile is {"value": "450 GB/s", "basis": "datasheet", "source": "where from"}. A scenario that
/// changes a number may write the bare value; it then counts as the scenario's (Basis::kScenario).
namespace twinstep::hw_profiles {

/// Reads what a scenario's "cluster" says: a name, a path, or an object with overrides ("profile", "nodes", "gpu",
/// "node", "fabric", "library", "stack", "faults"), a whole cluster inline, or its physical facts (facts.hpp). See
/// resolve.hpp for the forms. Throws InputError where the machine is incomplete, contradicts itself, or is larger than
/// its fabric.
[[nodiscard]] hardware::Cluster read_cluster(io::Node const& reference);
/// The same, and adds a sentence to `warnings` for each thing that was not stated, with what is taken instead. `read`
/// gives the texts of files that the reference names.
[[nodiscard]] hardware::Cluster read_cluster(io::Node const& reference, std::vector<std::string>& warnings,
                                             io::ReadText const& read = io::read_text);

/// Reads a cluster as the command line gives it: a shipped name, the path of a file, or JSON that begins with "{".
[[nodiscard]] hardware::Cluster read_cluster(std::string const& argument);
[[nodiscard]] hardware::Cluster read_cluster(std::string const& argument, std::vector<std::string>& warnings);

[[nodiscard]] hardware::Gpu read_gpu(io::Node const& reference);
[[nodiscard]] hardware::Node read_node(io::Node const& reference);
[[nodiscard]] hardware::Fabric read_fabric(io::Node const& reference);
[[nodiscard]] hardware::Link read_link(io::Node const& reference);
[[nodiscard]] hardware::Transport read_transport(io::Node const& reference);
[[nodiscard]] hardware::Library read_library(io::Node const& reference);
[[nodiscard]] hardware::Stack read_stack(io::Node const& reference);

/// Reads a document as what a file of its own says: every number in it needs its source. Throws InputError.
void read_as_profile(Kind kind, io::Node const& document);

/// What is wrong with a profile, in one line: the first thing that stops it from being read (an unknown reference or
/// key, a number without source, a contradiction). Empty if nothing is. Throws InputError if the text is not JSON at
/// all.
[[nodiscard]] std::vector<std::string> check_profile(Kind kind, std::string const& name, std::string const& text);

/// The same for a text that says its kind. Its "$schema" says the kind: a path that ends with "gpu.schema.json",
/// "node.schema.json", ….
[[nodiscard]] std::vector<std::string> check_profile(io::Source source);

}  // namespace twinstep::hw_profiles
