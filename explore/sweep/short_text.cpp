#include "explore/sweep/short_text.hpp"

#include "sim/base/utf8.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::explore::sweep {

std::string short_text(io::Node const& node) {
  constexpr auto kMost = std::size_t{100};
  auto const text = io::document_line(node);
  if (text.size() <= kMost) return text;
  return std::string{whole_characters(text, kMost)} + "…";
}

}  // namespace twinstep::explore::sweep
