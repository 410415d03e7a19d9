#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/document.hpp"

/// Values in place of what a document says.
namespace twinstep::io {

/// One value and the dotted path that it goes to: "cluster.nodes". The value knows where it was typed, so that errors
/// name the option.
struct Change {
  std::string path;
  Node value;
};

/// Reads what an option says, "cluster.nodes=16". The value is read as JSON, and as a string if it is not JSON. Throws
/// InputError.
[[nodiscard]] Change read_change(std::string_view option, std::string_view text);
[[nodiscard]] std::vector<Change> read_changes(std::string_view option, std::vector<std::string> const& texts);

/// A value as an option gives it: JSON, or a plain string. `name` is what messages call it. Throws InputError.
[[nodiscard]] Node read_value(std::string const& name, std::string_view text);

/// The value as if it had been written in a text of this name.
[[nodiscard]] Node written_in(std::string name, Node const& value);

/// A change that the program makes. Errors name the --set that makes it too.
[[nodiscard]] Change change_to(std::string path, Node const& value);

/// "cluster.nodes=16": what makes the change when it is typed, as it was typed if it was.
[[nodiscard]] std::string text_of(Change const& change);
[[nodiscard]] std::vector<std::string> texts_of(std::vector<Change> const& changes);
/// "--set cluster.nodes=16": what errors call it.
[[nodiscard]] std::string const& option_of(Change const& change);

/// `base` with the change made. Missing objects on the way are made; array elements are named by their index; a string
/// on the way ("cluster": "mine") becomes {"profile": "mine"}, which means the same. Throws InputError where the path
/// leads through a number or beyond an array.
[[nodiscard]] Node with_change(Node const& base, Change const& change);

/// Values that the program makes.
[[nodiscard]] Node value_node(std::nullptr_t);
[[nodiscard]] Node value_node(bool value);
[[nodiscard]] Node value_node(std::int64_t value);
[[nodiscard]] Node value_node(std::string_view value);
[[nodiscard]] inline Node value_node(char const* value) {
  return value_node(std::string_view{value});
}
[[nodiscard]] Node value_node(std::vector<std::pair<std::string_view, Node>> const& members);

}  // namespace twinstep::io
