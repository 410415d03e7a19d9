#include "strategies/import/megatron_layout.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

namespace twinstep::strategies {
namespace {

constexpr std::size_t kLongest = 100'000;  ///< letters of a layout, and layers of a model

/// The number of "*3" at `at`, which moves behind it; 1 where there is none.
std::size_t times(io::Node const& layout, std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return 1;
  auto number = std::size_t{0};
  auto const [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  if (error != std::errc{} || number > kLongest)
    layout.fail(fmt::format("found no number after {}", quoted(text.substr(0, at + 1))), "write how many, as \"t*3\"");
  at = static_cast<std::size_t>(end - text.data());
  return number;
}

/// Without multiplications; groups do not nest.
std::string unrolled(io::Node const& layout, std::string_view text) {
  auto result = std::string{};
  for (auto at = std::size_t{0}; at < text.size();) {
    auto unit = std::string{text[at]};
    if (unit == "(") {
      auto const end = text.find(')', at);
      auto const inside = text.substr(at + 1, end - at - 1);
      if (end == std::string_view::npos || inside.find('(') != std::string_view::npos)
        layout.fail("found a group that does not end before the next", "close it");
      unit = unrolled(layout, inside);
      at = end;
    }
    auto const count = times(layout, text, ++at);
    if (result.size() + unit.size() * count > kLongest)
      layout.fail("found more layers than any model has", "write fewer");
    for (auto i = std::size_t{0}; i < count; ++i) result += unit;
  }
  return result;
}

[[noreturn]] void refuse_letter(io::Node const& layout, char letter) {
  if (letter == 'm') layout.fail("found multi-token prediction, which is not modelled", "leave out \"m\"");
  if (letter == 'E') layout.fail("found an embedding that does not begin the first stage", "begin with \"E\"");
  if (letter == 'L') layout.fail("found a loss that does not end the last stage", "end with \"L\"");
  layout.fail(fmt::format("found {} in a layout, expected E, t, L and |", quoted(std::string_view{&letter, 1})),
              "write it as \"Et*8|t*8|t*8|t*8L\"");
}

}  // namespace

std::vector<std::int64_t> layers_of_layout(io::Node const& layout) {
  auto text = std::string{layout.string()};
  std::erase(text, ',');
  text = unrolled(layout, text);
  auto layers = std::vector<std::int64_t>{0};
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    auto const is_end = i == 0 || i + 1 == text.size();
    if (text[i] == 't')
      ++layers.back();
    else if (text[i] == '|')
      layers.push_back(0);
    else if (!is_end || text[i] != (i == 0 ? 'E' : 'L'))
      refuse_letter(layout, text[i]);
  }
  return layers;
}

}  // namespace twinstep::strategies
