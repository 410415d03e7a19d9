#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/units.hpp"

/// JSON input: documents that know where everything in them stands, so that an error can point at it.
namespace twinstep::io {

/// A text that is being read, and what to call it in messages.
struct Source {
  std::string name;  ///< file name, or "--set cluster.nodes=16"
  std::string text;
};

/// One JSON value with its place. Accessors check the type and throw InputError with
/// "file:line:column: /path: found …, expected …; way out".
///
/// A node is cheap to copy (it shares its document) and stays valid after the document's variable is gone.
class Node {
 public:
  enum class Type : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is(Type type) const { return this->type() == type; }

  // Objects.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] Node at(std::string_view key) const;                  ///< missing: InputError
  [[nodiscard]] std::optional<Node> find(std::string_view key) const; ///< missing or null: nothing
  [[nodiscard]] std::vector<std::pair<std::string_view, Node>> members() const;
  /// Throws for a key that is not in `known`, naming the nearest known one. "$schema" and "comment" always pass.
  void allow_only(std::initializer_list<std::string_view> known) const;

  // Arrays.
  [[nodiscard]] std::vector<Node> elements() const;

  // Scalars.
  [[nodiscard]] std::string_view string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;                 ///< finite
  [[nodiscard]] std::int64_t integer() const;          ///< a number without a fraction
  [[nodiscard]] std::int64_t integer_from(std::int64_t least) const;

  // Quantities: strings with units, such as "450 GB/s", "400 Gb/s", "1.9 us", "80 GB", "80 GiB", "989 TFLOP/s".
  // A bare number, an unknown unit, a unit of another dimension, a negative value and NaN are errors.
  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Duration duration() const;
  [[nodiscard]] BytesPerSecond bandwidth() const;      ///< above zero
  [[nodiscard]] FlopsPerSecond flop_rate() const;      ///< above zero

  /// A word of an enumeration, in the spelling of its EnumNames.
  template <class Enum>
  [[nodiscard]] Enum word() const {
    if (auto const found = find_enum<Enum>(string())) return *found;
    fail_word(all_names<Enum>());
  }

  /// "/nodes/0/links/3"
  [[nodiscard]] std::string path() const;
  /// Throws InputError: "place: path: <found>; <way out>". Both are parts of one sentence.
  [[noreturn]] void fail(std::string_view found, std::string_view way_out) const;

  struct Value;
  explicit Node(std::shared_ptr<Value const> value) : value_{std::move(value)} {}
  [[nodiscard]] Value const& value() const { return *value_; }

 private:
  [[noreturn]] void fail_word(std::vector<std::string_view> const& known) const;
  [[noreturn]] void fail_type(std::string_view expected) const;

  std::shared_ptr<Value const> value_;
};

/// Parses a JSON text. Throws InputError for anything that is not one JSON document, for a duplicate key, and for
/// nesting deeper than 128.
[[nodiscard]] Node parse(Source source);

/// Reads and parses a file. Throws InputError if it cannot be read.
[[nodiscard]] Node parse_file(std::string const& path);

/// `base` with the members of `patch` in place of its own, objects merged member by member. Every value keeps the
/// place where it was written.
[[nodiscard]] Node merge(Node const& base, Node const& patch);

/// `base` with the value at a dotted path replaced: "cluster.nodes" = 16. The value is read as JSON, and as a string
/// if it is not JSON. Missing objects on the way are made; array elements are named by their index.
[[nodiscard]] Node with_setting(Node const& base, std::string_view setting);

}  // namespace twinstep::io
