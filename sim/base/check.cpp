#include "sim/base/check.hpp"

#include <fmt/core.h>

namespace twinstep {

void fail_check(std::string_view condition, std::string_view sentence, std::source_location where) {
  auto file = std::string_view{where.file_name()};
  if (auto const root = file.rfind("/sim/"); root != std::string_view::npos) file.remove_prefix(root + 1);
  throw InternalError{fmt::format("{}:{}: {} ({} does not hold)", file, where.line(), sentence, condition)};
}

}  // namespace twinstep
