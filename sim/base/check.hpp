#pragma once

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
[[noreturn]] void fail_check(std::string_view condition, std::string_view sentence, std::string_view file, int line);

}  // namespace twinstep

/// States an invariant, in every build. `sentence` says what it means; it is evaluated only on failure.
#define TWINSTEP_CHECK(condition, sentence)                             \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::twinstep::fail_check(#condition, sentence, __FILE__, __LINE__); \
  } while (false)

/// Stands where the program cannot come.
#define TWINSTEP_UNREACHABLE(sentence) ::twinstep::fail_check("unreachable", sentence, __FILE__, __LINE__)
