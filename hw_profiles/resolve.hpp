#pragma once

#include <memory>
#include <vector>

#include "hw_profiles/catalog.hpp"
#include "sim/io/document.hpp"

/// From a reference (a name, a path, an object with overrides) to one document with everything in it.
namespace twinstep::hw_profiles {

/// A document whose parts are all inline, and which of its values stand in profiles. (The others come from a scenario
/// and need no source of their own.)
struct Resolved {
  io::Node document;
  std::vector<io::Source const*> profiles;  ///< alive as long as `document`'s values are
  std::vector<std::string> warnings;        ///< what was not stated, and what is taken instead

  [[nodiscard]] bool is_in_profile(io::Node const& value) const;
};

/// Resolves a reference to a profile of `kind`:
///   "dgx-h100"                             a shipped profile
///   "my/node.json"                         a file, looked for beside the file that names it
///   {"profile": "dgx-h100", "nic": …}      either of them, changed
///   {"name": "mine", "gpu": …}             an object that stands for itself
///   {"gpu": "h100-80g", "gpus_per_node": …}  a cluster's physical facts (facts.hpp), changed by its other members
/// Parts (a cluster's node, fabric, library and stack, a node's GPU and link, a fabric's transport) are references too.
/// A cluster's "gpu" changes its node's; one that names no "library" runs NCCL. Throws InputError for an unknown name,
/// with the nearest known one, and for profiles that name each other in a circle. `read` gives the text of a file.
[[nodiscard]] Resolved resolve(Kind kind, io::Node const& reference, io::ReadText const& read = io::read_text);

}  // namespace twinstep::hw_profiles
