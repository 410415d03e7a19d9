#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explore/sweep/table.hpp"
#include "explore/sweep/workers.hpp"

/// Answers between the processes of one sweep, which are one program on machines of one kind.
namespace twinstep::explore::sweep {

/// Appends an answer to `message`.
void encode(Answer const& answer, std::string& message);
/// The answers of a whole message. Requires one that `encode` wrote.
[[nodiscard]] std::vector<Answer> decode(std::string_view message);

}  // namespace twinstep::explore::sweep
