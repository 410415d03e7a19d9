#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep {

/// The user's input is wrong. The text is one line: place, what was found, what was expected, the way out.
/// The program prints it and exits with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The known name that `name` most likely means: the nearest one of which at most a third is wrong, or else one that
/// begins with it; "" if there is neither. Cost O(length²) for every known name.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::vector<std::string_view> const& known);

/// `did you mean "X"?` when a known name is near, otherwise `known: A, B, C` (shortened after a dozen).
[[nodiscard]] std::string suggest_name(std::string_view name, std::vector<std::string_view> const& known);

/// `text` in double quotes, control characters escaped, shortened to what fits an error line.
[[nodiscard]] std::string quoted(std::string_view text);

/// `text` with its control characters escaped: a path in a message, which must not break the line or the terminal.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace twinstep
