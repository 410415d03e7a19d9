#pragma once

#include <string>
#include <vector>

namespace twinstep::explore {

/// SHA-256 of the contents of files, one after another, in hexadecimal. Throws InputError for one that cannot be read.
[[nodiscard]] std::string data_hash(std::vector<std::string> const& files);

}  // namespace twinstep::explore
