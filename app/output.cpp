#include "app/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <unistd.h>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

/// A pipe or a device, held open. Opening a pipe waits for its reader: this says so at once where there is none.
class HeldOpen {
 public:
  explicit HeldOpen(std::string const& path) : descriptor_{::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)} {
    if (descriptor_ < 0 && errno == ENXIO)
      throw InputError{
          fmt::format("{}: found a pipe that nobody reads; start its reader first, or name a file", one_line(path))};
  }
  HeldOpen(HeldOpen const&) = delete;
  HeldOpen& operator=(HeldOpen const&) = delete;
  ~HeldOpen() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace

void write_file(std::string const& path, std::string_view text) {
  write_file(path, [text](std::ostream& file) { file.write(text.data(), static_cast<std::streamsize>(text.size())); });
}

void write_file(std::string const& path, std::function<void(std::ostream&)> const& write) {
  auto error = std::error_code{};
  // A link stays a link: what it names is replaced. A device or a pipe is written to, never replaced.
  auto const exists = std::filesystem::exists(path, error);
  auto const target = exists ? std::filesystem::canonical(path, error).string() : path;
  auto const is_replaced = !exists || std::filesystem::is_regular_file(path, error);
  auto const written = is_replaced ? fmt::format("{}.{}.tmp", target, getpid()) : path;
  auto const give_up = [&](int reason) {
    if (is_replaced) std::remove(written.c_str());
    throw InputError{fmt::format("{}: cannot be written ({}); name a file in a folder that you may write to",
                                 one_line(path), std::strerror(reason))};
  };
  auto const held = is_replaced ? nullptr : std::make_unique<HeldOpen>(path);
  errno = 0;
  {
    auto file = std::ofstream{written, std::ios::binary};
    write(file);
    file.close();
    if (!file) give_up(errno);
  }
  if (!is_replaced) return;
  std::filesystem::rename(written, target, error);
  if (error) give_up(error.value());
}

void check_writable(std::string_view option, std::string const& path, std::vector<std::string> const& inputs) {
  auto const fail = [&](std::string_view found, std::string_view way_out) {
    throw InputError{fmt::format("{} {}: {}; {}", option, path.empty() ? "\"\"" : one_line(path), found, way_out)};
  };
  auto error = std::error_code{};
  if (path.empty()) fail("found an empty name, expected a file", "name one");
  if (std::filesystem::is_directory(path, error)) fail("found a directory, expected a file", "name a file in it");
  auto const is_same = [&](std::string const& other) {
    return std::filesystem::equivalent(path, other, error) ||
           std::filesystem::weakly_canonical(path, error) == std::filesystem::weakly_canonical(other, error);
  };
  for (auto const& input : inputs)
    if (is_same(input)) fail(fmt::format("{} is an input and would be replaced", one_line(input)), "name another file");
  auto folder = std::filesystem::path{path}.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, error))
    fail(fmt::format("found no directory {}", twinstep::quoted(folder.string())), "make it, or name another file");
  auto const is_special = std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
  if (::access(is_special ? path.c_str() : folder.c_str(), W_OK) != 0)
    fail(fmt::format("{} cannot be written to", twinstep::quoted(folder.string())), "name another file");
}

void print(std::string_view text) {
  errno = 0;
  auto const is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  throw InputError{
      fmt::format("standard output cannot be written ({}); send it to where there is room", std::strerror(errno))};
}

reports::TextStyle standard_output_style() {
  auto style = reports::TextStyle{};
  style.is_terminal = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return style;
}

void complain(std::string_view sentence) {
  // Where nobody can be told, the exit code still tells: no error from here.
  std::fputs(fmt::format("twinstep: {}\n", sentence).c_str(), stderr);
}

void warn(std::string_view sentence) {
  complain(fmt::format("warning: {}", one_line(sentence)));
}

}  // namespace twinstep::app
