#pragma once

#include <utility>

#include "reports/page/page.hpp"

namespace twinstep::tests {

inline reports::Page page_with(reports::Section section) {
  return {.title = "A page", .sections = {std::move(section)}};
}

}  // namespace twinstep::tests
