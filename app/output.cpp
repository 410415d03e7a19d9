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
  auto const temporary = fmt::format("{}.{}.tmp", path, getpid());
  auto const give_up = [&](int error) {
    std::remove(temporary.c_str());
    throw InputError{fmt::format("{}: cannot be written ({}); name a file in a folder that you may write to", path,
                                 std::strerror(error))};
  };
  errno = 0;
  {
    auto file = std::ofstream{temporary, std::ios::binary};
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) give_up(errno);
  }
  auto error = std::error_code{};
  std::filesystem::rename(temporary, path, error);
  if (error) give_up(error.value());
}

reports::TextStyle standard_output_style() {
  auto style = reports::TextStyle{};
  style.is_terminal = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return style;
}

void warn(std::string_view sentence) {
  fmt::print(stderr, "twinstep: warning: {}\n", sentence);
}

}  // namespace twinstep::app
