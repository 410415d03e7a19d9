#include "app/sweep/short_text.hpp"

#include "sim/io/document_text.hpp"

namespace twinstep::app::sweep {

std::string short_text(io::Node const& node) {
  constexpr auto kMost = std::size_t{100};
  auto const text = io::document_line(node);
  if (text.size() <= kMost) return text;
  auto end = kMost;
  while ((static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;  // no part of a UTF-8 character
  return text.substr(0, end) + "…";
}

}  // namespace twinstep::app::sweep
