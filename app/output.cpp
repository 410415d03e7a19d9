#include "app/output.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

[[noreturn]] void fail_to_print(int reason) {
  throw InputError{
      fmt::format("standard output cannot be written ({}); send it to where there is room", std::strerror(reason))};
}

}  // namespace

void check_printable() {
  if (::write(STDOUT_FILENO, "", 0) < 0) fail_to_print(errno);  // a full device complains of nothing, too
}

void print(std::string_view text) {
  errno = 0;
  auto const is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  fail_to_print(errno);
}

reports::TextStyle standard_output_style() {
  auto style = reports::TextStyle{};
  auto const says = [](char const* name) {
    auto const* const value = std::getenv(name);
    return std::string_view{value == nullptr ? "" : value};
  };
  auto const can_show = isatty(STDOUT_FILENO) != 0 && says("TERM") != "dumb";
  auto const is_forced = !says("CLICOLOR_FORCE").empty() && says("CLICOLOR_FORCE") != "0";
  style.is_terminal = says("NO_COLOR").empty() && (can_show || is_forced);
  return style;
}

void complain(std::string_view sentence) {
  // Where nobody can be told, the exit code still tells: no error from here.
  std::fputs(fmt::format("twinstep: {}\n", one_line(sentence)).c_str(), stderr);
}

void warn(std::string_view sentence) {
  complain(fmt::format("warning: {}", sentence));
}

void tell_written(std::string const& path) {
  auto error = std::error_code{};
  auto const bytes = std::filesystem::file_size(path, error);  // of a pipe there is none
  if (!error)
    complain(fmt::format("wrote {}, {}", one_line(path),
                         reports::traffic_text(TotalBytes::about(static_cast<double>(bytes)))));
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
}

}  // namespace twinstep::app
