#pragma once

#include <string>

namespace twinstep::app {

/// The date in UTC, as records and profiles have it: "2026-11-30".
[[nodiscard]] std::string today();

}  // namespace twinstep::app
