#pragma once

#include <string>
#include <string_view>

namespace twinstep::explore {

/// SHA-256 of bytes, in hexadecimal.
[[nodiscard]] std::string data_hash(std::string_view bytes);

}  // namespace twinstep::explore
