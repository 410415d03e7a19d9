#include "sim/base/utf8.hpp"

#include "tests/support/catch.hpp"

using namespace twinstep;

TEST_CASE("texts are measured and cut by characters, whatever bytes these take", "[base]") {
  // One byte, two, three and four.
  constexpr auto kText = std::string_view{"aµ–𝄞"};
  CHECK(character_count(kText) == 4);
  CHECK(character_begin(kText, 0) == 0);
  CHECK(character_begin(kText, 2) == 3);
  CHECK(character_begin(kText, 4) == kText.size());
  CHECK(whole_characters(kText, 10) == kText);
  CHECK(whole_characters(kText, 9) == "aµ–");
  CHECK(whole_characters(kText, 5) == "aµ");
  CHECK(whole_characters(kText, 0).empty());
  CHECK(whole_characters("\x80\x80\x80", 2).empty());  // no beginning at all
}
