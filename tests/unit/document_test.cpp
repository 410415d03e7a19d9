#include "sim/io/document.hpp"

#include <cmath>
#include <filesystem>
#include <string>

#include "sim/io/document_text.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/maker.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/settings.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using io::Node;

namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

Node read(std::string text) {
  return io::parse({"s.json", std::move(text)});
}

template <class Act>
std::string error_of(Act act) {
  try {
    static_cast<void>(act());
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

std::string parse_error(std::string text) {
  return error_of([&] { return static_cast<void>(read(std::move(text))); });
}

}  // namespace

template <>
struct twinstep::EnumNames<Colour> {
  static constexpr std::array<std::string_view, 2> values{"red", "green"};
};

TEST_CASE("a document gives back what was written, in the order of the file", "[io][document]") {
  auto const node = read(R"({"b": [1, 2.5, -3], "a": {"t": true, "n": null, "s": "x\ny \u00e9"}, "e": {}})");
  auto const members = node.members();
  REQUIRE(members.size() == 3);
  CHECK(members[0].first == "b");
  CHECK(members[1].first == "a");
  CHECK(node.at("b").elements().at(0).integer() == 1);
  CHECK(node.at("b").elements().at(1).number() == 2.5);
  CHECK(node.at("b").elements().at(2).integer() == -3);
  CHECK(node.at("a").at("t").boolean());
  CHECK(node.at("a").at("s").string() == "x\ny \u00e9");
  CHECK(node.at("a").has("n"));
  CHECK_FALSE(node.at("a").find("n"));
  CHECK(node.at("e").members().empty());
  CHECK(read("7").integer() == 7);
  CHECK(read("\xef\xbb\xbf[1]").elements().size() == 1);
}

TEST_CASE("a node outlives the variable that its document came in", "[io][document]") {
  auto const inner = read(R"({"a": {"b": "text"}})").at("a").at("b");
  CHECK(inner.string() == "text");
  CHECK(inner.path() == "/a/b");
}

TEST_CASE("an error points at the line and column where the value begins", "[io][document]") {
  // Line 2 is `  "ü": [1,` and the 2 stands alone on line 3: column 3.
  auto const node = read("{\n  \"\u00fc\": [1,\n  2], \"x\" : true}");
  CHECK(error_of([&] { return node.at("\u00fc").elements().at(1).fail("found 2, expected 3", "count again"); }) ==
        "s.json:3:3: /\u00fc/1: found 2, expected 3; count again");
  // Behind `  2], "x" : ` stand 12 characters.
  CHECK(error_of([&] { return node.at("x").fail("found it", ""); }) == "s.json:3:13: /x: found it");
  // Columns count characters: `[ "ü",` has the second element as its seventh, and eighth byte.
  CHECK(error_of([] { return read("[ \"\u00fc\",7]").elements().at(1).fail("no", ""); }) == "s.json:1:7: /1: no");
}

TEST_CASE("a path writes slashes and tildes of keys as JSON pointers do", "[io][document]") {
  CHECK(read(R"({"a/b": {"c~d": 1}})").at("a/b").at("c~d").path() == "/a~1b/c~0d");
}

TEST_CASE("a value of the wrong type is refused with what was found and expected", "[io][document]") {
  auto const node = read(R"({"n": 3, "s": "16", "f": 1.5, "l": [1]})");
  CHECK(error_of([&] { return node.at("n").string(); }) == "s.json:1:7: /n: found 3, expected text in double quotes");
  CHECK(error_of([&] { return node.at("s").integer(); }) ==
        "s.json:1:15: /s: found \"16\", expected a whole number without quotes");
  CHECK(error_of([&] { return node.at("f").integer(); }) ==
        "s.json:1:26: /f: found 1.5, expected a whole number of at most 9007199254740992");
  CHECK(error_of([&] { return node.at("l").members(); }) ==
        "s.json:1:36: /l: found an array, expected an object in braces");
  CHECK(error_of([&] { return node.elements(); }) == "s.json:1:1: found an object, expected an array in brackets");
  CHECK(error_of([&] { return node.at("n").boolean(); }) ==
        "s.json:1:7: /n: found 3, expected true or false, without quotes");
  CHECK(error_of([&] { return node.at("s").number(); }) ==
        "s.json:1:15: /s: found \"16\", expected a number without quotes");
  CHECK(error_of([&] { return node.at("n").integer_from(4); }) ==
        "s.json:1:7: /n: found 3, expected a whole number of at least 4; raise it");
  CHECK(read("1e6").integer() == 1'000'000);
  CHECK_THAT(error_of([] { return read("18446744073709551615").integer(); }),
             Catch::Contains("expected a whole number"));
}

TEST_CASE("a missing key is named, and the key that may be meant", "[io][document]") {
  auto const node = read(R"({"fabrik": 1, "z": null})");
  CHECK(error_of([&] { return static_cast<void>(node.at("fabric")); }) ==
        "s.json:1:1: found no \"fabric\" in this object, expected it; add it, or is \"fabrik\" meant to be it?");
  CHECK(error_of([&] { return static_cast<void>(node.at("gpu")); }) ==
        "s.json:1:1: found no \"gpu\" in this object, expected it; add it");
  CHECK(error_of([&] { return static_cast<void>(node.at("z")); }) ==
        "s.json:1:20: /z: found null, expected a value; give it one");
}

TEST_CASE("an unknown key is refused with the nearest known one", "[io][document]") {
  auto const node = read(R"({"$schema": "x", "comment": "y", "a": {"nodess": 3}})");
  node.allow_only({"a"});
  CHECK(error_of([&] {
          node.at("a").allow_only({"nodes", "gpu"});
        }) == "s.json:1:40: /a: found the unknown key \"nodess\"; did you mean \"nodes\"?");
  CHECK(error_of([&] {
          node.at("a").allow_only({"x", "y"});
        }) == "s.json:1:40: /a: found the unknown key \"nodess\"; known: x, y");
}

TEST_CASE("a word outside an enumeration is refused with the words that it has", "[io][document]") {
  CHECK(read("\"green\"").word<Colour>() == Colour::kGreen);
  CHECK(error_of([] { return read("\"gren\"").word<Colour>(); }) ==
        "s.json:1:1: found \"gren\", expected one of red, green; did you mean \"green\"?");
}

TEST_CASE("a quantity needs its unit, and its dimension is checked", "[io][document]") {
  auto const node = read(R"({"m": "80 GB", "r": "450 Gb/s", "n": 450, "t": "1.9 us", "f": "989 TFLOP/s"})");
  CHECK(node.at("m").bytes() == 80_GB);
  CHECK(node.at("r").bandwidth() == BytesPerSecond{56.25e9});
  CHECK(node.at("t").duration() == 1900_ns);
  CHECK(node.at("f").flop_rate() == 989_TFLOPS);
  CHECK(error_of([&] { return static_cast<void>(node.at("r").bytes()); }) ==
        "s.json:1:21: /r: \"450 Gb/s\" is a rate (56.25 GB/s), expected a memory size such as \"80 GB\" or \"80 GiB\"");
  CHECK(error_of([&] { return static_cast<void>(node.at("n").bandwidth()); }) ==
        "s.json:1:38: /n: 450 has no unit, expected a bandwidth such as \"450 GB/s\" or \"400 Gb/s\"");
  CHECK(error_of([&] { return static_cast<void>(node.bytes()); }) ==
        "s.json:1:1: found an object, expected a memory size such as \"80 GB\" or \"80 GiB\"");
}

TEST_CASE("text that is not one JSON document is refused with what was found and expected", "[io][document]") {
  CHECK(parse_error("") == "s.json:1:1: found an empty text, expected a JSON document; write at least {}");
  CHECK(parse_error(" \n ") == "s.json:1:1: found an empty text, expected a JSON document; write at least {}");
  CHECK(parse_error("{\"a\": 1") ==
        "s.json:1:8: found the end of the text, expected \",\" or \"}\" after the member; "
        "the text is cut short, or a bracket is not closed");
  CHECK(parse_error("[1, 2") ==
        "s.json:1:6: found the end of the text, expected \",\" or \"]\" after the element; "
        "the text is cut short, or a bracket is not closed");
  CHECK(parse_error("{} {}") ==
        "s.json:1:4: found \"{\", expected nothing after the document; remove it, and keep one document in a file");
  CHECK(parse_error("{\"a\": 1,\n}") ==
        "s.json:2:1: found \"}\", expected a key in double quotes; remove the comma before it, or complete the list");
  CHECK(parse_error("[1, ]") ==
        "s.json:1:5: found \"]\", expected a value; remove the comma before it, or complete the list");
  CHECK(parse_error("{\"a\" 1}") ==
        "s.json:1:6: found \"1\", expected \":\" after the key; add what is missing before it");
  CHECK(parse_error("{\"a\": 1 \"b\": 2}") ==
        "s.json:1:9: found \"\"b\"\", expected \",\" or \"}\" after the member; add what is missing before it");
  CHECK_THAT(parse_error("{a: 1}"), Catch::Contains("s.json:1:2: found \"a\", expected a key in double quotes"));
  CHECK_THAT(parse_error("{'a': 1}"), Catch::Contains("expected a key in double quotes"));
}

TEST_CASE("NaN, Infinity, comments and numbers beyond 64 bits are no JSON", "[io][document]") {
  auto const hint = Catch::Contains("JSON has no comments, NaN or Infinity, and quotes are double");
  CHECK_THAT(parse_error("[NaN]"), hint && Catch::Contains("s.json:1:2: found \"NaN\", expected a value"));
  CHECK_THAT(parse_error("[Infinity]"), hint);
  CHECK_THAT(parse_error("[1] // one"), hint);
  CHECK(parse_error("[-Infinity]") == "s.json:1:2: found \"-Infinity\", expected a number; complete its digits");
  CHECK(parse_error("[1, 1e999]") ==
        "s.json:1:5: found the number \"1e999\", expected one that fits in 64 bits; write it smaller");
}

TEST_CASE("strings must be closed UTF-8", "[io][document]") {
  CHECK(parse_error("[\"a\xff\"]") ==
        "s.json:1:4: found bytes that are not UTF-8, expected UTF-8 text; save the file as UTF-8");
  CHECK_THAT(parse_error("[\"abc"), Catch::Contains("found a string without its end"));
  CHECK_THAT(parse_error("[\"a\nb\"]"), Catch::Contains("found a line break or control character in a string"));
  CHECK_THAT(parse_error("[\"\\q\"]"), Catch::Contains("found a malformed escape in a string"));
}

TEST_CASE("numbers have the value that they say, whole ones without loss", "[io][document]") {
  CHECK(read("9223372036854775807").integer() == 9223372036854775807);  // the largest of 64 bits
  CHECK(read("-0").integer() == 0);
  CHECK(read("18446744073709551615").number() == 0x1p64);  // 2^64 - 1 lies between doubles; 2^64 is the nearest
  CHECK(read("-12.5e-1").number() == -1.25);
  CHECK(read("1E+3").integer() == 1000);
  CHECK(read("1e-999").number() == 0);  // nearer to zero than any double above it
  for (auto const* const half : {"[1.]", "[-]", "[1e]", "[.5]", "[+1]", "[0x10]", "[01]"}) {
    CAPTURE(half);
    CHECK_FALSE(parse_error(half).empty());
  }
  CHECK_THAT(parse_error("[450GB]"), Catch::Contains("s.json:1:2: found \"450GB\", expected"));
  CHECK(parse_error("[1.5e]") == "s.json:1:2: found \"1.5e\", expected a number; complete its digits");
}

TEST_CASE("escapes stand for characters, pairs of surrogates for one", "[io][document]") {
  CHECK(read(R"("\"\\\/\b\f\n\r\t")").string() == "\"\\/\b\f\n\r\t");
  // U+0041, U+00E9, U+20AC and U+1F600: one to four bytes of UTF-8.
  CHECK(read(R"("\u0041\u00e9\u20AC\ud83d\ude00")").string() == "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  for (auto const* const text : {R"(["\ud83d"])", R"(["\ud83dx"])", R"(["\ud83d\u0041"])", R"(["\ude00"])",
                                 R"(["\u12g4"])", R"(["\u12)", "[\"\\"}) {
    CAPTURE(text);
    CHECK_THAT(parse_error(text), Catch::Contains("found a malformed escape in a string"));
  }
}

TEST_CASE("bytes that no encoder of UTF-8 writes are refused", "[io][document]") {
  // A lone continuation, "/" in two bytes and in three, half of a surrogate pair, beyond U+10FFFF, and cut off.
  for (auto const* const bytes : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    CHECK_THAT(parse_error("[\"" + std::string{bytes} + "\"]"), Catch::Contains("found bytes that are not UTF-8"));
    CHECK_THAT(parse_error("[" + std::string{bytes} + "]"), Catch::Contains("found bytes that are not UTF-8"));
  }
  CHECK(read("\"\xf4\x8f\xbf\xbf\"").string() == "\xf4\x8f\xbf\xbf");  // U+10FFFF, the last
}

TEST_CASE("a byte order mark before a document is passed over", "[io][document]") {
  CHECK(read("\xef\xbb\xbf{}").is(Node::Type::kObject));
}

TEST_CASE("a key that stands twice in an object is refused where it stands again", "[io][document]") {
  CHECK(parse_error("{\"a\": 1,\n \"b\": 2, \"a\": 3}") ==
        "s.json:2:10: found the key \"a\" a second time, expected it once; remove one of the two");
}

TEST_CASE("brackets may nest 128 deep; ten megabytes of them are refused at once", "[io][document]") {
  CHECK(read(std::string(128, '[') + std::string(128, ']')).is(Node::Type::kArray));
  CHECK(parse_error(std::string(129, '[') + std::string(129, ']')) ==
        "s.json:1:129: found brackets nested more than 128 deep, expected fewer; no file of ours nests so deep");
  CHECK_THAT(parse_error(std::string(10'000'000, '[')), Catch::Contains("nested more than 128 deep"));
}

TEST_CASE("a file that is missing or a directory is refused by name", "[io][document]") {
  CHECK(error_of([] { return static_cast<void>(io::parse_file("no/such.json")); }) ==
        "no/such.json: found no such file, expected a JSON file; check the path");
  auto const folder = std::filesystem::temp_directory_path().string();
  CHECK(error_of([&] { return static_cast<void>(io::parse_file(folder)); }) ==
        folder + ": found a directory, expected a JSON file; name a file in it");
}

TEST_CASE("merging replaces members of objects and keeps the place of each value", "[io][document]") {
  auto const base = read(R"({"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 3})");
  auto const patch = io::parse({"p.json", R"({"a": {"y": 5, "z": 6}, "b": [9]})"});
  auto const merged = io::merge(base, patch);
  CHECK(merged.at("a").at("x").integer() == 1);
  CHECK(merged.at("a").at("y").integer() == 5);
  CHECK(merged.at("a").at("z").integer() == 6);
  CHECK(merged.at("b").elements().size() == 1);
  CHECK(merged.at("c").integer() == 3);
  CHECK(error_of([&] { return merged.at("a").at("x").fail("no", ""); }) == "s.json:1:13: /a/x: no");
  CHECK(error_of([&] { return merged.at("a").at("y").fail("no", ""); }) == "p.json:1:13: /a/y: no");
}

TEST_CASE("an object of indices is merged into an array", "[io][document]") {
  auto const base = read(R"({"levels": [{"n": 1, "k": 2}, {"n": 3}]})");
  auto const merged = io::merge(base, read(R"({"levels": {"0": {"n": 7}}})"));
  CHECK(merged.at("levels").elements().at(0).at("n").integer() == 7);
  CHECK(merged.at("levels").elements().at(0).at("k").integer() == 2);
  CHECK(merged.at("levels").elements().at(1).at("n").integer() == 3);
  CHECK(error_of([&] { return io::merge(base, read(R"({"levels": {"2": {"n": 7}}})")); }) ==
        "s.json:1:18: /levels: found the index 2, expected one below 2; the array has no more elements");
}

TEST_CASE("a setting replaces one value at a dotted path and makes objects on the way", "[io][document]") {
  auto const base = read(R"({"cluster": {"nodes": 4, "levels": [{"n": 1}]}, "name": "x", "n": null})");
  CHECK(tests::with_setting(base, "cluster.nodes=16").at("cluster").at("nodes").integer() == 16);
  CHECK(tests::with_setting(base, "cluster.gpu.memory=141 GB").at("cluster").at("gpu").at("memory").bytes() == 141_GB);
  CHECK(tests::with_setting(base, "cluster.gpu.memory=\"141 GB\"").at("cluster").at("gpu").at("memory").bytes() ==
        141_GB);
  CHECK(
      tests::with_setting(base, "cluster.levels.0.n=5").at("cluster").at("levels").elements().at(0).at("n").integer() ==
      5);
  CHECK(tests::with_setting(base, "n.a=1").at("n").at("a").integer() == 1);
  CHECK(tests::with_setting(base, "name=a=b").at("name").string() == "a=b");
  CHECK(base.at("cluster").at("nodes").integer() == 4);
}

TEST_CASE("a setting below a name keeps the name as its profile", "[io][document]") {
  auto const node = tests::with_setting(read(R"({"cluster": "dgx"})"), "cluster.nodes=2").at("cluster");
  CHECK(node.at("profile").string() == "dgx");
  CHECK(node.at("nodes").integer() == 2);
}

TEST_CASE("an error in a set value points at its setting", "[io][document]") {
  auto const node = tests::with_setting(read("{}"), "cluster.nodes=many");
  CHECK(error_of([&] { return node.at("cluster").at("nodes").integer(); }) ==
        "--set cluster.nodes=many: /cluster/nodes: found \"many\", expected a whole number without quotes");
}

TEST_CASE("a setting that cannot be applied is refused by its own text", "[io][document]") {
  auto const base = read(R"({"a": {"b": 1}, "l": [1, 2]})");
  auto const error = [&](std::string_view setting) {
    return error_of([&] { return static_cast<void>(tests::with_setting(base, setting)); });
  };
  CHECK(error("a.b") == "--set a.b: found no \"=\", expected path=value; write it like cluster.nodes=16");
  CHECK(error("=3") ==
        "--set =3: found an empty name in the path, expected names with dots between them; "
        "write it like cluster.nodes=16");
  CHECK_THAT(error("a..b=3"), Catch::Contains("found an empty name in the path"));
  CHECK(error("a.b.c=3") == "--set a.b.c=3: found 1 above \"c\", expected an object there; shorten the path");
  CHECK(error("l.2=3") == "--set l.2=3: found \"2\" as an index, expected one below 2; elements are counted from 0");
  CHECK_THAT(error("a.b={\"x\":"), Catch::Contains("--set a.b={\"x\":: found the end of the text"));
}

TEST_CASE("members can be set and removed", "[io][document]") {
  auto const base = read(R"({"a": 1, "b": 2})");
  CHECK(io::with_member(base, "a", read("5")).at("a").integer() == 5);
  CHECK(io::with_member(base, "c", read("7")).at("c").integer() == 7);
  CHECK_FALSE(io::without_member(base, "a").has("a"));
}

TEST_CASE("a document that was never a text is written like one that was, and says whose it is", "[io][document]") {
  auto const make = io::Maker{"the maker"};
  auto const node =
      make.object({{"a", make.array({make.number(1.5), make.number(std::int64_t{2}), make.null(), make.fact(true)})},
                   {"b", make.object({{"value", make.text("1 us")}, {"source", make.text("x")}})}});
  auto const line = std::string{R"({"a": [1.5, 2, null, true], "b": {"value": "1 us", "source": "x"}})"};
  CHECK(io::document_line(node) == line);
  CHECK(io::document_text(node) == line + "\n");
  // A number with its source stays on one line, all else has lines of its own.
  CHECK(io::document_lines(node) ==
        "{\n  \"a\": [\n    1.5,\n    2,\n    null,\n    true\n  ],\n"
        "  \"b\": {\"value\": \"1 us\", \"source\": \"x\"}\n}\n");
  CHECK(io::document_lines(make.object({{"a", make.array({})}})) == "{\n  \"a\": [\n  ]\n}\n");
  CHECK_THAT(error_of([&] { return node.at("a").integer(); }), Catch::StartsWith("the maker: /a: found an array"));
}

TEST_CASE("a JSON string escapes what JSON escapes and reads back", "[io][document]") {
  CHECK(io::json_string("a\"b\\c\n") == R"("a\"b\\c\n")");
  CHECK(read(io::json_string("tab\tbell\x07 \u00e9")).string() == "tab\tbell\x07 \u00e9");
}

TEST_CASE("files of other programs may be Hjson, and hold Python's numbers", "[io][document]") {
  auto const foreign = [](std::string text) { return io::parse({"ds.json", std::move(text)}, io::Dialect::kForeign); };
  auto const node = foreign(R"(# a comment
    a: 5e8,   // numbers may be followed by one
    b: no quotes, to the end of the line
    /* several
       lines */ 'c': [1, 2,
      3
    ],
    d: {"nan": NaN, "high": Infinity, "low": -Infinity},
    e: '''two
lines''')");
  CHECK(node.at("a").integer() == 500'000'000);
  CHECK(node.at("b").string() == "no quotes, to the end of the line");
  CHECK(node.at("c").elements().size() == 3);
  CHECK(std::isnan(node.at("d").at("nan").number()));
  CHECK(std::isinf(node.at("d").at("low").number()));
  CHECK(node.at("e").string() == "two\nlines");
  CHECK(foreign(R"({"a": true, "b": null,})").at("a").boolean());
  CHECK_THAT(error_of([&] { return foreign(R"({"a": /* for ever)"); }), Catch::Contains("a comment without its end"));
  CHECK_THAT(error_of([&] { return foreign(R"({"a": 1)"); }), Catch::Contains("the end of the text"));
  CHECK_THAT(error_of([&] { return foreign(R"([1, 2}])"); }), Catch::Contains("found \"}\""));
  CHECK_THAT(parse_error(R"({"a": 1,})"), Catch::Contains("s.json:1:9"));  // ours are JSON
}
