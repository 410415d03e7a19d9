#pragma once

#include <string_view>

namespace twinstep {

/// What this program was built from.
struct Build {
  std::string_view version;  ///< of the release: "0.1.0"
  std::string_view commit;   ///< "3f2a90c1d0aa", with "+" where files differed from it; "" outside a repository
  std::string_view model;    ///< the first 12 digits of a SHA-256 of all code and data that answers rest on
};

[[nodiscard]] Build build();

}  // namespace twinstep
