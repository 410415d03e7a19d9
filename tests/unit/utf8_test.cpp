#include "sim/base/utf8.hpp"

#include "sim/base/input_error.hpp"
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

TEST_CASE("what a terminal would obey, and bytes that are no text, are shown by their numbers", "[base]") {
  CHECK(one_line("aµ–𝄞") == "aµ–𝄞");
  CHECK(one_line("a\x1b[31m\n") == "a\\x1b[31m\\x0a");
  CHECK(one_line("\u202eevil\u2028") == "\\u202eevil\\u2028");  // right to left; a new line
  CHECK(one_line("\xc2\x9b") == "\\x9b");                       // the other way to begin an escape
  CHECK(one_line("\xff\xc3(") == "\\xff\\xc3(");                // no UTF-8
  CHECK(one_line("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");         // a slash in too many bytes
  CHECK(one_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");         // half of a surrogate pair
  CHECK(one_line("\xf0\x9d\x84") == "\\xf0\\x9d\\x84");         // cut off
}
