#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep::io {

/// Whether something other than a regular file is at `path`: a device or a pipe, which no file takes the place of.
[[nodiscard]] bool is_special(std::string const& path);

/// Throws the InputError of a file that cannot be written. `reason` is an errno.
[[noreturn]] void fail_to_write(std::string const& path, int reason);

/// The files that a command writes: all of them, or none where the command or the writing of one fails. Where one
/// cannot take its place in the end, those before it stay in theirs.
///
/// Every file is named before anything is computed, and refused then where it cannot be written. What is written goes
/// to a temporary file beside each place; `commit` lets all take their places, and a command that ends without it
/// leaves everything as it was. A link stays a link: what it names is replaced. A device or a pipe is written to at
/// once. A file that was read (`files_read`), by this command's options or by what they name, is never replaced.
class Outputs {
 public:
  /// @param inputs  files that no output may replace
  explicit Outputs(std::vector<std::string> inputs = {}) : inputs_{std::move(inputs)} {}
  ~Outputs();
  Outputs(Outputs&&) = default;
  Outputs& operator=(Outputs&&) = delete;

  /// Names a file to come. Throws InputError for an empty name, a directory, a folder that is absent or closed to
  /// writing, an input, a file that another option named, by this name or another, a name that no file can have, a
  /// device that is full. `option` is what named it: "--trace".
  void expect(std::string_view option, std::string const& path);

  /// Throws InputError where `path` cannot be written, or was read. Whether it was expected does not matter.
  void write(std::string const& path, std::string_view text);
  /// The same piece by piece, for more than memory holds.
  void write(std::string const& path, std::function<void(std::ostream&)> const& write);

  /// Lets all that was written take its place, one after the other. Throws InputError where one cannot: those before it
  /// have then taken theirs.
  void commit();

 private:
  struct Written {
    std::string path;       ///< as the user named it
    std::string temporary;  ///< that holds the content
    std::string place;      ///< that it is for
  };
  struct Expected {
    std::string option;
    std::string path;
  };

  [[nodiscard]] std::string_view option_of(std::string const& path) const;

  std::vector<std::string> inputs_;
  std::vector<Expected> expected_;
  std::vector<Written> written_;
};

/// Writes one file, whole or not at all.
void write_file(std::string const& path, std::string_view text);

/// How a file that is written to `out` names the one at `path`: from its own folder, where it will be read. An absolute
/// path to elsewhere stays; so does any in what is written to a device or a pipe, which lies nowhere.
[[nodiscard]] std::string named_from(std::string const& out, std::string const& path);

/// Throws InputError where `Outputs` would not expect the file.
void check_writable(std::string_view option, std::string const& path, std::vector<std::string> const& inputs = {});

}  // namespace twinstep::io
