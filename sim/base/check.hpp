#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace twinstep {

/// A broken invariant: our own bug, never reachable from user input. The program reports it and exits with 4.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws `InternalError` with the place and the broken condition.
[[noreturn]] void fail_check(std::string_view condition, std::string_view sentence,
                             std::source_location where = std::source_location::current());

}  // namespace twinstep

/// States an invariant, in every build. `sentence` says what it means; it is evaluated only on failure.
#define TWINSTEP_CHECK(condition, sentence)         \
  do {                                              \
    if (!(condition)) [[unlikely]]                  \
      ::twinstep::fail_check(#condition, sentence); \
  } while (false)
