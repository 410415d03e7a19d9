#include "app/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::app {

void write_file(std::string const& path, std::string_view text) {
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
  errno = 0;
  {
    auto file = std::ofstream{written, std::ios::binary};
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) give_up(errno);
  }
  if (!is_replaced) return;
  std::filesystem::rename(written, target, error);
  if (error) give_up(error.value());
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
