#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
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
  bool has_lines = true;  ///< messages give line and column; false for one-line texts such as a --set
};

/// A key is misspelt, or stands where it means nothing: `Node::allow_only` throws it, because no value could be right.
class UnknownKey : public InputError {
 public:
  using InputError::InputError;
};

/// One JSON value with its place. Accessors check the type and throw InputError with
/// "file:line:column: /path: found …, expected …; way out".
///
/// A node is cheap to copy (it shares its document) and stays valid after the document's variable is gone. Texts that
/// it returns as string_view live as long as any node of the document.
class Node {
 public:
  enum class Type : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is(Type type) const { return this->type() == type; }

  // Objects.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] Node at(std::string_view key) const;                   ///< missing: InputError
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;  ///< missing or null: nothing
  [[nodiscard]] std::vector<std::pair<std::string_view, Node>> members() const;
  /// Throws for a key that is not in `known`, naming the nearest known one. "$schema" and "comment" always pass.
  void allow_only(std::span<std::string_view const> known) const;
  void allow_only(std::initializer_list<std::string_view> known) const {
    allow_only(std::span{known.begin(), known.size()});
  }

  // Arrays.
  [[nodiscard]] std::vector<Node> elements() const;

  // Scalars.
  [[nodiscard]] std::string_view string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;         ///< finite
  [[nodiscard]] std::int64_t integer() const;  ///< a number without a fraction
  [[nodiscard]] std::int64_t integer_from(std::int64_t least) const;

  // Quantities: strings with units, such as "450 GB/s", "400 Gb/s", "1.9 us", "80 GB", "80 GiB", "989 TFLOP/s".
  // A bare number, an unknown unit, a unit of another dimension, a negative value and NaN are errors.
  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Duration duration() const;
  [[nodiscard]] BytesPerSecond bandwidth() const;  ///< above zero
  [[nodiscard]] FlopsPerSecond flop_rate() const;  ///< above zero

  /// A word of an enumeration, in the spelling of its EnumNames.
  template <class Enum>
  [[nodiscard]] Enum word() const {
    if (auto const found = find_enum<Enum>(string())) return *found;
    fail_word(all_names<Enum>());
  }

  /// "/nodes/0/links/3"; "" for the document itself.
  [[nodiscard]] std::string path() const;
  /// The text that this value was written in; after `merge` and `with_change` a document has several.
  [[nodiscard]] Source const& source() const;
  /// Throws InputError: "place: path: <found>; <way out>". Both are parts of one sentence; the way out may be empty.
  [[noreturn]] void fail(std::string_view found, std::string_view way_out) const;

  struct Value;
  struct Step;
  /// `value` at the end of the path `step` (none: the document itself).
  explicit Node(std::shared_ptr<Value const> value, std::shared_ptr<Step const> step = nullptr)
      : value_{std::move(value)}, step_{std::move(step)} {}
  [[nodiscard]] Value const& value() const { return *value_; }
  [[nodiscard]] std::shared_ptr<Value const> const& shared_value() const { return value_; }
  [[nodiscard]] std::shared_ptr<Step const> const& step() const { return step_; }

 private:
  [[noreturn]] void fail_word(std::vector<std::string_view> const& known) const;
  [[noreturn]] void fail_type(std::string_view expected) const;
  [[noreturn]] void fail_quantity(std::string_view problem) const;
  [[nodiscard]] std::string_view quantity_text(std::string_view expected) const;

  std::shared_ptr<Value const> value_;
  std::shared_ptr<Step const> step_;
};

/// What a text may look like.
enum class Dialect : std::uint8_t {
  kJson,  ///< RFC 8259: our own files
  /// What other programs read and write under the name of JSON: Hjson (comments, commas too many or left out, keys and
  /// strings without quotes), and the NaN and Infinity of Python's json module. Source: https://hjson.github.io.
  kForeign
};

/// Parses a JSON text. Throws InputError for anything that is not one JSON document, for a duplicate key, and for
/// nesting deeper than 128.
[[nodiscard]] Node parse(Source source, Dialect dialect = Dialect::kJson);

/// The text of a file. Throws InputError if it cannot be read.
[[nodiscard]] std::string read_text(std::string const& path);
/// The files that `read_text` has read so far, each once: what no output of this program may replace.
[[nodiscard]] std::vector<std::string> files_read();

/// Gives readers the text of a file that a document names: from the disk (`read_text`), or from a caller's memory.
/// Throws InputError for a path where there is none.
using ReadText = std::function<std::string(std::string const& path)>;

/// Reads and parses a file. Throws InputError if it cannot be read.
[[nodiscard]] Node parse_file(std::string const& path, Dialect dialect = Dialect::kJson,
                              ReadText const& read = read_text);

/// A document that is one string, as if `name` had been written in a file called `source_name`.
[[nodiscard]] Node string_node(std::string text, std::string source_name);

/// `base` with the members of `patch` in place of its own, objects merged member by member. An object whose keys are
/// all indices ("0", "1", …) is merged into an array element by element. Every value keeps the place where it was
/// written.
[[nodiscard]] Node merge(Node const& base, Node const& patch);

/// `base` with the value at a dotted path replaced, as `with_change` does (change.hpp); it keeps the place where it was
/// written. Throws InputError where the path leads through a number.
[[nodiscard]] Node with_value(Node const& base, std::string_view path, Node const& value);

/// The object `base` with its member `key` set to `member`, and without it.
[[nodiscard]] Node with_member(Node const& base, std::string_view key, Node const& member);
[[nodiscard]] Node without_member(Node const& base, std::string_view key);

}  // namespace twinstep::io
