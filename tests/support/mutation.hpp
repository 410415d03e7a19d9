#pragma once

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

/// Damage to texts, for tests of what reads them.
namespace twinstep::tests {

/// Texts whose insertion is likelier to do harm than a random byte's.
inline constexpr std::string_view kFragments[] = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "\"",
                                                  ",",
                                                  ":",
                                                  "null",
                                                  "-1",
                                                  "1e99",
                                                  "0",
                                                  "NaN",
                                                  "\\u0000",
                                                  "\xff",
                                                  "{}",
                                                  "[]",
                                                  "9223372036854775808",
                                                  "e",
                                                  " GB",
                                                  "\"profile\": \"dgx-h100\",",
                                                  "1e-400",
                                                  "\xed\xa0\x80"};

inline std::size_t below(std::mt19937_64& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

/// One to four changes: a byte flipped, a piece cut out, the end cut off, a fragment put in, a piece doubled.
inline std::string mutated(std::string text, std::mt19937_64& random) {
  for (auto changes = 1 + below(random, 4); changes > 0 && !text.empty(); --changes) {
    auto const at = below(random, text.size());
    switch (below(random, 5)) {
      case 0: text[at] = static_cast<char>(random() & 0xffU); break;
      case 1: text.erase(at, 1 + below(random, 40)); break;
      case 2:
        if (below(random, 4) == 0) text.resize(at);
        break;
      case 3: text.insert(at, kFragments[below(random, std::size(kFragments))]); break;
      default: text.insert(at, text.substr(below(random, text.size()), below(random, 60))); break;
    }
  }
  return text;
}

}  // namespace twinstep::tests
