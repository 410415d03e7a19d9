#pragma once

#include <string>

#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

/// A JSON value on one line, cut to a hundred bytes: it leaves room for the rest of a message.
[[nodiscard]] std::string short_text(io::Node const& node);

}  // namespace twinstep::explore::sweep
