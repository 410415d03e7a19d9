#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/io/document.hpp"

/// What stands behind `Node`; for the files of sim/io that build and change documents.
namespace twinstep::io {

/// Values are immutable once their document is built, and shared between documents that were merged.
struct Node::Value {
  struct Number {
    double number = 0;
    std::int64_t integer = 0;  ///< meaningful only where `is_integer`
    bool is_integer = false;
  };
  struct Member {
    std::string key;
    std::size_t key_offset = 0;  ///< in the text of `value`'s source
    std::shared_ptr<Value const> value;
  };
  using Array = std::vector<std::shared_ptr<Value const>>;
  using Object = std::vector<Member>;  ///< in the order of the file

  /// In the order of Node::Type.
  std::variant<std::monostate, bool, Number, std::string, Array, Object> content;
  std::shared_ptr<Source const> source;
  std::size_t offset = 0;  ///< of the first byte of the value's text
};

/// One step of a path, from the root outwards.
struct Node::Step {
  std::shared_ptr<Step const> parent;
  std::string key;
};

/// The member of an object, or nullptr.
[[nodiscard]] Node::Value::Member const* find_member(Node::Value::Object const& object, std::string_view key);

/// "file:line:column: ", columns in characters; computed by counting, so only for errors.
[[nodiscard]] std::string place_of(Source const& source, std::size_t offset);

/// The value as an error shows it: `450`, `"450 GB/s"`, `an array`, `an object`.
[[nodiscard]] std::string describe(Node::Value const& value);

/// Index spelled by `key`, which must be plain digits; nothing otherwise.
[[nodiscard]] std::optional<std::size_t> read_index(std::string_view key);

}  // namespace twinstep::io
