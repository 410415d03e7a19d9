#include "sim/program/races.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

/// Two streams and one buffer of 100 numbers on `ranks` ranks.
struct TwoStreams {
  explicit TwoStreams(std::int64_t ranks = 1) : builder{Grid{{{"data", ranks}}}} {
    left = role.stream("left");
    right = role.stream("right");
    buffer = role.buffer(fp32(builder.name("shared"), 100, true));
  }
  OpId kernel(StreamId stream, char const* name, Access access) {
    return role.add(stream, builder.name(name), Elementwise{}, {access});
  }
  Region region(RankValue offset, RankValue elements) const { return {buffer, offset, elements}; }
  std::vector<std::string> races() { return find_races(std::move(builder).finish()); }

  ProgramBuilder builder;
  RoleBuilder& role = builder.role("main");
  StreamId left, right;
  BufferId buffer;
};

}  // namespace

TEST_CASE("a program whose streams wait for each other has no races", "[program][races]") {
  CHECK(find_races(four_ranks()).empty());
}

TEST_CASE("two streams that write one buffer without order race", "[program][races]") {
  auto program = TwoStreams{};
  program.kernel(program.left, "first", writes(program.region(0, 100)));
  program.kernel(program.right, "second", writes(program.region(40, 20)));
  auto const races = program.races();
  REQUIRE(races.size() == 1);
  CHECK(races[0] ==
        "role \"main\": first (op 0, left) writes buffer \"shared\" while second (op 1, right) writes its elements "
        "[40, 60): nothing orders them");
}

TEST_CASE("a forgotten wait before a collective is a race", "[program][races]") {
  auto program = four_ranks();
  program.roles[0].operations[3].waits.count = 0;
  auto const races = find_races(program);
  // The reduce-scatter may read the gradient before it is there; the gather may write the weight during the product.
  REQUIRE(races.size() == 2);
  CHECK_THAT(races[0],
             Catch::Contains("layer.0/multiply (op 1, compute) reads buffer \"weight\" while layer.0/gather"));
  CHECK_THAT(races[1], Catch::Contains("layer.0/differentiate (op 2, compute) writes buffer \"gradient\" while "
                                       "layer.0/scatter (op 3, comm) reads"));
}

TEST_CASE("two reads never race", "[program][races]") {
  auto program = TwoStreams{};
  program.kernel(program.left, "first", reads(program.region(0, 100)));
  program.kernel(program.right, "second", reads(program.region(0, 100)));
  CHECK(program.races().empty());
}

TEST_CASE("a read and a write race in either order of issue", "[program][races]") {
  auto read_first = TwoStreams{};
  read_first.kernel(read_first.left, "read", reads(read_first.region(0, 10)));
  read_first.kernel(read_first.right, "write", writes(read_first.region(9, 10)));
  CHECK(read_first.races().size() == 1);
  auto write_first = TwoStreams{};
  write_first.kernel(write_first.left, "write", writes(write_first.region(9, 10)));
  write_first.kernel(write_first.right, "read", reads(write_first.region(0, 10)));
  CHECK(write_first.races().size() == 1);
}

TEST_CASE("regions that only touch do not race", "[program][races]") {
  auto program = TwoStreams{};
  program.kernel(program.left, "lower", writes(program.region(0, 50)));
  program.kernel(program.right, "upper", writes(program.region(50, 50)));
  program.kernel(program.right, "nothing", writes(program.region(20, 0)));
  CHECK(program.races().empty());
}

TEST_CASE("order passes through a chain of streams", "[program][races]") {
  auto program = TwoStreams{};
  auto const third = program.role.stream("third");
  auto const first = program.kernel(program.left, "first", writes(program.region(0, 100)));
  program.role.wait(third, first);
  auto const link = program.role.add(third, program.builder.name("link"), Delay{}, {});
  program.role.wait(program.right, link);
  program.kernel(program.right, "second", writes(program.region(0, 100)));
  CHECK(program.races().empty());
}

TEST_CASE("a wait orders what was issued before it, and nothing later", "[program][races]") {
  auto program = TwoStreams{};
  auto const first = program.kernel(program.left, "first", writes(program.region(0, 10)));
  program.kernel(program.left, "later", writes(program.region(0, 10)));
  program.role.wait(program.right, first);
  program.kernel(program.right, "second", writes(program.region(0, 10)));
  auto const races = program.races();
  REQUIRE(races.size() == 1);
  CHECK_THAT(races[0], Catch::Contains("later (op 1, left)") && Catch::Contains("second (op 2, right)"));
}

TEST_CASE("what the host waited for comes before everything issued later", "[program][races]") {
  auto program = TwoStreams{};
  auto const first = program.kernel(program.left, "first", writes(program.region(0, 100)));
  program.role.host(program.builder.name("synchronise"), std::vector{first});
  program.kernel(program.right, "second", writes(program.region(0, 100)));
  CHECK(program.races().empty());
}

TEST_CASE("a host operation that waits for something else orders nothing", "[program][races]") {
  auto program = TwoStreams{};
  auto const other = program.role.add(program.left, program.builder.name("other"), Delay{}, {});
  program.kernel(program.left, "first", writes(program.region(0, 100)));
  program.role.host(program.builder.name("synchronise"), std::vector{other});
  program.kernel(program.right, "second", writes(program.region(0, 100)));
  CHECK(program.races().size() == 1);
}

TEST_CASE("an earlier write under a later one is still seen in the part that it alone covers", "[program][races]") {
  auto program = TwoStreams{};
  program.kernel(program.left, "wide", writes(program.region(0, 100)));
  program.kernel(program.left, "narrow", writes(program.region(0, 10)));
  program.kernel(program.right, "reader", reads(program.region(0, 20)));
  auto const races = program.races();
  REQUIRE(races.size() == 2);
  CHECK_THAT(races[0], Catch::Contains("narrow"));
  CHECK_THAT(races[1], Catch::Contains("wide"));
}

TEST_CASE("regions that differ between ranks are compared on ranks where they overlap", "[program][races]") {
  // Rank i writes [10 i, 10 i + 10) on one stream while the other reads [25, 30): only rank 2 of four overlaps.
  auto program = TwoStreams{4};
  auto const by_place = program.builder.variation({program.builder.along({"data"}), 10, {}});
  program.kernel(program.left, "own", writes(program.region({0, by_place}, 10)));
  program.kernel(program.right, "fixed", reads(program.region(25, 5)));
  auto const races = program.races();
  REQUIRE(races.size() == 1);
  CHECK_THAT(races[0], Catch::Contains("[25, 30)"));
}

TEST_CASE("operands of one operation do not race with each other", "[program][races]") {
  auto program = TwoStreams{};
  auto const data = program.builder.communicator("data", {"data"});
  program.role.add(program.left, program.builder.name("reduce"), fp32_collective(CollectiveKind::kAllReduce, data, 100),
                   program.region(0, 100), program.region(0, 100));
  CHECK(program.races().empty());
}

TEST_CASE("a race that shows in many pieces is said once", "[program][races]") {
  auto program = TwoStreams{};
  for (std::int64_t i = 0; i < 10; ++i) program.kernel(program.left, "piece", writes(program.region(10 * i, 10)));
  program.kernel(program.left, "all", writes(program.region(0, 100)));
  program.kernel(program.right, "reader", reads(program.region(0, 100)));
  CHECK(program.races().size() == 1);
}
