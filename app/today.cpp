#include "app/today.hpp"

#include <chrono>

#include <fmt/chrono.h>

namespace twinstep::app {

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
}

}  // namespace twinstep::app
