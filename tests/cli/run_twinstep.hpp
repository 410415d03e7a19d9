#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The real binary, run as a person would run it.
namespace twinstep::tests {

struct Outcome {
  int exit_code = 0;  ///< 128 + the signal if one ended it
  std::string out;
  std::string err;
};

/// An empty folder of its own, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;

  /// Path of `name` in the folder.
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Writes a file and gives its path.
  std::string write(std::string_view name, std::string_view text) const;
  /// Names of the files in it, sorted.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
};

/// Files for standard output and standard error; "" for one that `Outcome` shows.
struct Streams {
  std::string out;
  std::string err;
};

/// Runs twinstep in the folder `directory` (by default the repository's root) with an empty standard input, and waits
/// for its end.
[[nodiscard]] Outcome run_twinstep(std::vector<std::string> const& arguments, std::string const& directory = {},
                                   Streams const& elsewhere = {});

/// Runs a shell's command with the program's path in place of its first TWINSTEP, in the folder `directory` (by default
/// the repository's root) with an empty standard input.
[[nodiscard]] Outcome run_shell(std::string const& command, std::string const& directory = {});

/// What `waitpid` told, as shells count it: the exit code, or 128 and the signal.
[[nodiscard]] int exit_code_of(int status);

[[nodiscard]] std::string read_file(std::string const& path);

/// The absolute path of a file of the repository.
[[nodiscard]] std::string in_repository(std::string_view path);

/// `text` with its first `from` replaced; `from` must be there.
[[nodiscard]] std::string with(std::string text, std::string_view from, std::string_view to);

/// A small scenario that is right; tests break it in one place.
[[nodiscard]] std::string small_scenario();

}  // namespace twinstep::tests
