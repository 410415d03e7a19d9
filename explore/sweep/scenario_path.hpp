#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/document.hpp"

/// Dotted paths of a scenario, "cluster.nodes", as axes, constraints and --set write them.
namespace twinstep::explore::sweep {

/// The value at a path; nothing where the document does not say it.
[[nodiscard]] std::optional<io::Node> find_path(io::Node const& document, std::string_view path);

/// Whether a path is `outer` or leads to something in it.
[[nodiscard]] bool is_within(std::string_view path, std::string_view outer);

/// Throws InputError at `place` for a path that no scenario has: an empty name in it, or a first name that is no part.
void check_path(std::string_view path, io::Node const& place);

/// The paths of all scalars in a document, in its order.
[[nodiscard]] std::vector<std::string> scalar_paths(io::Node const& document);

}  // namespace twinstep::explore::sweep
