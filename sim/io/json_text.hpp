#pragma once

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace twinstep::io {

/// JSON as it grows, for documents whose every line is laid out by hand: what their writers share.
class JsonText {
 protected:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }
  /// Writes items, each by `write`, with commas and `separator` between them.
  template <class Items, class Write>
  void list(Items const& items, char const* separator, Write const& write) {
    auto is_first = true;
    for (auto const& item : items) {
      if (!std::exchange(is_first, false)) put(",{}", separator);
      write(item);
    }
  }

  std::string out_;
};

}  // namespace twinstep::io
