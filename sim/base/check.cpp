#include "sim/base/check.hpp"

#include <fmt/core.h>

namespace twinstep {

void fail_check(std::string_view condition, std::string_view sentence, std::string_view file, int line) {
  throw InternalError{fmt::format("{}:{}: {} ({} does not hold)", file, line, sentence, condition)};
}

}  // namespace twinstep
