#include "sim/program/mesh.hpp"

#include "sim/base/check.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::program;

namespace {

Mesh two_three_four() {
  return Mesh{{{Axis::kPipeline, 2}, {Axis::kData, 3}, {Axis::kTensor, 4}}};
}

AxisSet subset(int bits) {
  auto set = AxisSet{};
  if ((bits & 1) != 0) set.insert(Axis::kPipeline);
  if ((bits & 2) != 0) set.insert(Axis::kData);
  if ((bits & 4) != 0) set.insert(Axis::kTensor);
  return set;
}

}  // namespace

TEST_CASE("ranks count up along the last axis first", "[program][mesh]") {
  // rank = 12 p + 4 d + t. Rank 23 = 12 * 1 + 4 * 2 + 3 is the last of 24.
  auto const mesh = two_three_four();
  CHECK(mesh.world_size() == 24);
  CHECK(mesh.stride(Axis::kPipeline) == 12);
  CHECK(mesh.stride(Axis::kData) == 4);
  CHECK(mesh.stride(Axis::kTensor) == 1);
  CHECK(mesh.coordinate(RankId{17}, Axis::kPipeline) == 1);  // 17 = 12 + 4 + 1
  CHECK(mesh.coordinate(RankId{17}, Axis::kData) == 1);
  CHECK(mesh.coordinate(RankId{17}, Axis::kTensor) == 1);
}

TEST_CASE("a place in a group counts row-major over the group's axes", "[program][mesh]") {
  auto const mesh = two_three_four();
  // Rank 23 is (1, 2, 3): over pipeline and tensor it is at 1 * 4 + 3, over data and tensor at 2 * 4 + 3.
  CHECK(mesh.index_in_group(RankId{23}, {Axis::kPipeline, Axis::kTensor}) == 7);
  CHECK(mesh.index_in_group(RankId{23}, {Axis::kData, Axis::kTensor}) == 11);
  CHECK(mesh.index_in_group(RankId{23}, {}) == 0);
  // Place 5 over pipeline and tensor is (1, ., 1): with rank 8's data coordinate 2 that is 12 + 8 + 1.
  CHECK(mesh.rank_in_group(RankId{8}, {Axis::kPipeline, Axis::kTensor}, 5) == RankId{21});
}

TEST_CASE("place and rank are inverse for every rank and every set of axes", "[program][mesh]") {
  auto const mesh = two_three_four();
  for (int bits = 0; bits < 8; ++bits) {
    auto const axes = subset(bits);
    for (std::size_t rank = 0; rank < 24; ++rank) {
      CHECK(mesh.rank_in_group(RankId{rank}, axes, mesh.index_in_group(RankId{rank}, axes)) == RankId{rank});
      for (std::int64_t place = 0; place < mesh.size(axes); ++place) {
        auto const member = mesh.rank_in_group(RankId{rank}, axes, place);
        CHECK(mesh.index_in_group(member, axes) == place);
        CHECK(mesh.rank_in_group(member, axes, mesh.index_in_group(RankId{rank}, axes)) == RankId{rank});
      }
    }
  }
}

TEST_CASE("an axis that is not listed has one place", "[program][mesh]") {
  auto const mesh = two_three_four();
  CHECK(mesh.size(Axis::kExpert) == 1);
  CHECK(mesh.coordinate(RankId{23}, Axis::kExpert) == 0);
  CHECK(mesh.size(AxisSet{Axis::kData, Axis::kExpert}) == 3);
}

TEST_CASE("a mesh refuses empty and repeated axes, and places outside a group", "[program][mesh]") {
  CHECK_THROWS_AS((Mesh{{{Axis::kData, 0}}}), InternalError);
  CHECK_THROWS_AS((Mesh{{{Axis::kData, 2}, {Axis::kData, 2}}}), InternalError);
  CHECK_THROWS_AS(two_three_four().rank_in_group(RankId{0}, {Axis::kData}, 3), InternalError);
}
