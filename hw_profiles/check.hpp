#pragma once

#include <string>
#include <vector>

#include "hw_profiles/catalog.hpp"

namespace twinstep::hw_profiles {

/// What is wrong with a profile, in one line: the first thing that stops it from being read (an unknown reference or
/// key, a number without source, a contradiction). Empty if nothing is. Throws InputError if the text is not JSON at
/// all.
[[nodiscard]] std::vector<std::string> check_profile(Kind kind, std::string const& name, std::string const& text);

/// The same for a file. Its "$schema" says the kind: a path that ends with "gpu.schema.json", "node.schema.json", ….
[[nodiscard]] std::vector<std::string> check_profile(std::string const& path);

}  // namespace twinstep::hw_profiles
