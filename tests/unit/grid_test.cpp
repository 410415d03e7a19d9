#include "sim/program/grid.hpp"

#include "sim/base/check.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::program;

namespace {

constexpr auto kPipeline = AxisId{0};
constexpr auto kData = AxisId{1};
constexpr auto kTensor = AxisId{2};

Grid two_three_four() {
  return Grid{{{"pipeline", 2}, {"data", 3}, {"tensor", 4}}};
}

AxisSet subset(int bits) {
  auto set = AxisSet{};
  if ((bits & 1) != 0) set.insert(kPipeline);
  if ((bits & 2) != 0) set.insert(kData);
  if ((bits & 4) != 0) set.insert(kTensor);
  return set;
}

GridAxes named(Grids const& grids, std::vector<std::string_view> const& axes) {
  return grids.find(axes).value();
}

}  // namespace

TEST_CASE("ranks count up along the last axis first", "[program][grid]") {
  // rank = 12 p + 4 d + t. Rank 23 = 12 * 1 + 4 * 2 + 3 is the last of 24.
  auto const grid = two_three_four();
  CHECK(grid.world_size() == 24);
  CHECK(grid.stride(kPipeline) == 12);
  CHECK(grid.stride(kData) == 4);
  CHECK(grid.stride(kTensor) == 1);
  CHECK(grid.coordinate(RankId{17}, kPipeline) == 1);  // 17 = 12 + 4 + 1
  CHECK(grid.coordinate(RankId{17}, kData) == 1);
  CHECK(grid.coordinate(RankId{17}, kTensor) == 1);
}

TEST_CASE("a place in a group counts row-major over the group's axes", "[program][grid]") {
  auto const grid = two_three_four();
  // Rank 23 is (1, 2, 3): over pipeline and tensor it is at 1 * 4 + 3, over data and tensor at 2 * 4 + 3.
  CHECK(grid.index_in_group(RankId{23}, {kPipeline, kTensor}) == 7);
  CHECK(grid.index_in_group(RankId{23}, {kData, kTensor}) == 11);
  CHECK(grid.index_in_group(RankId{23}, {}) == 0);
  // Place 5 over pipeline and tensor is (1, ., 1): with rank 8's data coordinate 2 that is 12 + 8 + 1.
  CHECK(grid.rank_in_group(RankId{8}, {kPipeline, kTensor}, 5) == RankId{21});
}

TEST_CASE("place and rank are inverse for every rank and every set of axes", "[program][grid]") {
  auto const grid = two_three_four();
  for (int bits = 0; bits < 8; ++bits) {
    auto const axes = subset(bits);
    for (std::size_t rank = 0; rank < 24; ++rank) {
      CHECK(grid.rank_in_group(RankId{rank}, axes, grid.index_in_group(RankId{rank}, axes)) == RankId{rank});
      for (std::int64_t place = 0; place < grid.size(axes); ++place) {
        auto const member = grid.rank_in_group(RankId{rank}, axes, place);
        CHECK(grid.index_in_group(member, axes) == place);
        CHECK(grid.rank_in_group(member, axes, grid.index_in_group(RankId{rank}, axes)) == RankId{rank});
      }
    }
  }
}

TEST_CASE("axes are found by the names that strategies give them", "[program][grid]") {
  auto const grid = two_three_four();
  CHECK(grid.find("tensor") == kTensor);
  CHECK_FALSE(grid.find("expert").exists());
  CHECK(grid.along({"pipeline", "tensor"}) == AxisSet{kPipeline, kTensor});
  CHECK_THROWS_AS(grid.along({"expert"}), InternalError);
}

TEST_CASE("a grid refuses empty and repeated axes, and places outside a group", "[program][grid]") {
  CHECK_THROWS_AS((Grid{{{"data", 0}}}), InternalError);
  CHECK_THROWS_AS((Grid{{{"data", 2}, {"data", 2}}}), InternalError);
  CHECK_THROWS_AS(two_three_four().rank_in_group(RankId{0}, {kData}, 3), InternalError);
}

TEST_CASE("experts folded over data and tensor ranks are axes of a second grid", "[program][grid]") {
  // 8 ranks: rank = 4 p + 2 d + t, and with experts over data and tensor rank = 4 q + e.
  auto const grids = Grids{{Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, "dense"},
                            Grid{{{"expert_pipeline", 2}, {"expert", 4}}, "experts"}}};
  auto const experts = named(grids, {"expert"});
  CHECK(experts.grid == GridId{1});
  CHECK(named(grids, {"data", "tensor"}).grid == GridId{0});
  CHECK(grids.size(experts) == 4);
  CHECK(grids.index_in_group(RankId{6}, experts) == 2);
  CHECK(grids.rank_in_group(RankId{6}, experts, 3) == RankId{7});
  // No grid has axes of both.
  CHECK_FALSE(grids.find(std::vector<std::string_view>{"data", "expert"}).has_value());
}

TEST_CASE("an axis of any nested grid is a run of axes of the common one", "[program][grid]") {
  // Strides 4, 2, 1 and 4, 1: the common grid is 2 x 2 x 2, and the experts' axis is its last two.
  auto const grids = Grids{{Grid{{{"expert_pipeline", 2}, {"expert", 4}}, "experts"},
                            Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, "dense"}}};
  REQUIRE(grids.are_nested());
  CHECK(grids.common().size(AxisSet{AxisId{0}, AxisId{1}, AxisId{2}}) == 8);
  CHECK(grids.common_axes(named(grids, {"expert"})) == AxisSet{AxisId{1}, AxisId{2}});
  CHECK(grids.common_axes(named(grids, {"data"})) == AxisSet{AxisId{1}});
  CHECK(grids.common_axes(named(grids, {"expert_pipeline"})) == grids.common_axes(named(grids, {"pipeline"})));
}

TEST_CASE("grids that cut ranks across each other have one common axis, over all of them", "[program][grid]") {
  // 6 ranks as 2 x 3 (strides 3, 1) and as 3 x 2 (strides 2, 1): 3 is no multiple of 2.
  auto const grids =
      Grids{{Grid{{{"data", 2}, {"tensor", 3}}, "dense"}, Grid{{{"rest", 3}, {"expert", 2}}, "experts"}}};
  CHECK_FALSE(grids.are_nested());
  CHECK(grids.common().size(AxisId{0}) == 6);
  CHECK(grids.common_axes(named(grids, {"expert"})) == AxisSet{AxisId{0}});
}

TEST_CASE("grids of one program are over the same ranks and have different names", "[program][grid]") {
  CHECK_THROWS_AS((Grids{{Grid{{{"data", 4}}, "a"}, Grid{{{"expert", 2}}, "b"}}}), InternalError);
  CHECK_THROWS_AS((Grids{{Grid{{{"data", 4}}, "a"}, Grid{{{"expert", 4}}, "a"}}}), InternalError);
  CHECK_THROWS_AS(Grids{std::vector<Grid>{}}, InternalError);
}
