#include "sim/engine/caching_allocator.hpp"

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using engine::CachingAllocator;

namespace {

constexpr auto kCompute = StreamId{0};
constexpr auto kSide = StreamId{1};

CachingAllocator with_capacity(Bytes capacity) {
  return CachingAllocator{{}, capacity};
}

CachingAllocator expandable(std::optional<Bytes> capacity = {}) {
  return CachingAllocator{{.expandable_segments = true}, capacity};
}

/// Allocates a block that stays.
void take(CachingAllocator& allocator, Bytes size, StreamId stream = kCompute) {
  static_cast<void>(allocator.allocate(size, stream));
}

/// … and one that is free again, in a segment of its own if there was no other place.
void leave_free(CachingAllocator& allocator, Bytes size) {
  allocator.free(allocator.allocate(size, kCompute));
}

}  // namespace

TEST_CASE("a request is rounded up to 512 bytes", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  take(allocator, 1_B);
  CHECK(allocator.allocated() == 512_B);
  take(allocator, 513_B);
  CHECK(allocator.allocated() == 512_B + 1_KiB);
}

TEST_CASE("requests up to 1 MiB share segments of 2 MiB", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  take(allocator, 1_MiB);
  take(allocator, 1_MiB);
  CHECK(allocator.reserved() == 2_MiB);
  take(allocator, 512_B);
  CHECK(allocator.reserved() == 4_MiB);
  CHECK(allocator.segments() == 2);
}

TEST_CASE("requests from 1 to 10 MiB share segments of 20 MiB", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  take(allocator, 9_MiB);
  take(allocator, 9_MiB);
  CHECK(allocator.reserved() == 20_MiB);
  // 2 MiB are left of the first segment.
  take(allocator, 3_MiB);
  CHECK(allocator.reserved() == 40_MiB);
}

TEST_CASE("a request from 10 MiB on gets its own segment, a multiple of 2 MiB", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  take(allocator, 10_MiB);
  CHECK(allocator.reserved() == 10_MiB);
  take(allocator, 11_MiB);
  CHECK(allocator.reserved() == 10_MiB + 12_MiB);
}

TEST_CASE("small requests never use the large pool, nor large ones the small pool", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  leave_free(allocator, 20_MiB);
  take(allocator, 1_MiB);
  CHECK(allocator.reserved() == 20_MiB + 2_MiB);
}

TEST_CASE("a block that one stream frees is not for another stream", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  leave_free(allocator, 20_MiB);
  take(allocator, 20_MiB, kSide);
  CHECK(allocator.reserved() == 40_MiB);
  take(allocator, 20_MiB);
  CHECK(allocator.reserved() == 40_MiB);
}

TEST_CASE("the smallest free block that holds a request is taken", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  auto const large = allocator.allocate(40_MiB, kCompute);
  auto const middle = allocator.allocate(24_MiB, kCompute);
  allocator.free(large);
  allocator.free(middle);
  // 22 MiB go into the 24: then 40 still fit without a new segment.
  take(allocator, 22_MiB);
  take(allocator, 40_MiB);
  CHECK(allocator.reserved() == 64_MiB);
}

TEST_CASE("of free blocks that are as small, the one of the lowest address is taken", "[engine][allocator]") {
  // Two segments, 9 and 11 MiB each; the 11 are free. Another 11 go into the first segment, so the second is whole
  // again when its 9 are freed, and holds 20.
  auto allocator = CachingAllocator{{}};
  take(allocator, 9_MiB);
  auto const first_rest = allocator.allocate(11_MiB, kCompute);
  auto const second = allocator.allocate(9_MiB, kCompute);
  auto const second_rest = allocator.allocate(11_MiB, kCompute);
  CHECK(allocator.reserved() == 40_MiB);
  allocator.free(second_rest);
  allocator.free(first_rest);
  take(allocator, 11_MiB);
  allocator.free(second);
  take(allocator, 20_MiB);
  CHECK(allocator.reserved() == 40_MiB);
}

TEST_CASE("in the small pool a remainder of 512 bytes is cut off", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  take(allocator, 1_MiB);
  take(allocator, 1_MiB - 512_B);
  CHECK(allocator.allocated() == 2_MiB - 512_B);
  take(allocator, 512_B);
  CHECK(allocator.reserved() == 2_MiB);
}

TEST_CASE("in the large pool only a remainder above 1 MiB is cut off", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  // A segment of 12 MiB for 11: the MiB that is left stays part of the block.
  take(allocator, 11_MiB);
  CHECK(allocator.allocated() == 12_MiB);
  // 12 MiB for 11 MiB less 512 B: 1 MiB and 512 B are a block of their own.
  take(allocator, 11_MiB - 512_B);
  CHECK(allocator.allocated() == 12_MiB + 11_MiB - 512_B);
}

TEST_CASE("a block that is freed joins its free neighbours on both sides", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  auto const left = allocator.allocate(6_MiB, kCompute);
  auto const middle = allocator.allocate(6_MiB, kCompute);
  auto const right = allocator.allocate(8_MiB, kCompute);
  CHECK(allocator.reserved() == 20_MiB);
  allocator.free(left);
  allocator.free(right);
  allocator.free(middle);
  take(allocator, 20_MiB);
  CHECK(allocator.reserved() == 20_MiB);
}

TEST_CASE("free blocks that are not neighbours do not add up: fragmentation", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  auto const left = allocator.allocate(6_MiB, kCompute);
  take(allocator, 6_MiB);
  auto const right = allocator.allocate(8_MiB, kCompute);
  allocator.free(left);
  allocator.free(right);
  // 14 MiB are free, 8 in one piece.
  take(allocator, 14_MiB);
  CHECK(allocator.reserved() == 34_MiB);
  CHECK(allocator.allocated() == 20_MiB);
}

TEST_CASE("without memory for a segment the free ones are given back and the request is tried again",
          "[engine][allocator]") {
  auto allocator = with_capacity(100_MiB);
  leave_free(allocator, 60_MiB);
  take(allocator, 80_MiB);
  CHECK(allocator.reserved() == 80_MiB);
  CHECK(allocator.retries() == 1);
}

TEST_CASE("a segment of which a part is used is not given back, and what then does not fit exceeds the capacity",
          "[engine][allocator]") {
  auto allocator = with_capacity(100_MiB);
  auto const whole = allocator.allocate(60_MiB, kCompute);
  allocator.free(whole);
  take(allocator, 10_MiB);
  // 10 MiB are used, but the other 50 are in their segment.
  take(allocator, 80_MiB);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.reserved() == 140_MiB);
}

TEST_CASE("a block that waits for an event is not reused before", "[engine][allocator]") {
  auto allocator = CachingAllocator{{}};
  auto const block = allocator.allocate(20_MiB, kCompute);
  allocator.free_after_event(block);
  take(allocator, 20_MiB);
  CHECK(allocator.reserved() == 40_MiB);
  allocator.free(block);
  take(allocator, 20_MiB);
  CHECK(allocator.reserved() == 40_MiB);
}

TEST_CASE("a retry waits for the events of blocks that are let go", "[engine][allocator]") {
  auto allocator = with_capacity(30_MiB);
  allocator.free_after_event(allocator.allocate(20_MiB, kSide));
  take(allocator, 20_MiB);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.reserved() == 20_MiB);
}

TEST_CASE("blocks above the split limit are not cut, and not for requests below it", "[engine][allocator]") {
  auto allocator = CachingAllocator{{.max_split = 32_MiB}};
  leave_free(allocator, 40_MiB);
  take(allocator, 16_MiB);
  CHECK(allocator.reserved() == 56_MiB);
  take(allocator, 36_MiB);
  CHECK(allocator.reserved() == 56_MiB);
  CHECK(allocator.allocated() == 56_MiB);
}

TEST_CASE("a block above the split limit is not for a request 20 MiB smaller", "[engine][allocator]") {
  auto allocator = CachingAllocator{{.max_split = 32_MiB}};
  leave_free(allocator, 60_MiB);
  take(allocator, 40_MiB);
  CHECK(allocator.reserved() == 100_MiB);
}

TEST_CASE("with a split limit, blocks above it are given back before the whole cache, which is no retry",
          "[engine][allocator]") {
  auto allocator = CachingAllocator{{.max_split = 32_MiB}, 100_MiB};
  auto const large = allocator.allocate(60_MiB, kCompute);
  auto const small = allocator.allocate(16_MiB, kCompute);
  allocator.free(large);
  allocator.free(small);
  // The 60 are too large for 36. Without them there is room: 16 + 36.
  take(allocator, 36_MiB);
  CHECK(allocator.reserved() == 52_MiB);
  CHECK(allocator.retries() == 0);
}

TEST_CASE("an expandable segment grows by pages of 20 MiB, 2 MiB for small requests", "[engine][allocator]") {
  auto allocator = expandable();
  take(allocator, 24_MiB);
  CHECK(allocator.reserved() == 40_MiB);
  take(allocator, 36_MiB);
  CHECK(allocator.reserved() == 60_MiB);
  CHECK(allocator.segments() == 1);
  take(allocator, 1_KiB);
  CHECK(allocator.reserved() == 62_MiB);
  CHECK(allocator.segments() == 2);
}

TEST_CASE("expandable segments cut off every remainder", "[engine][allocator]") {
  auto allocator = expandable();
  take(allocator, 20_MiB - 512_B);
  CHECK(allocator.allocated() == 20_MiB - 512_B);
}

TEST_CASE("a free block at the end of an expandable segment grows into a larger one", "[engine][allocator]") {
  // Fixed segments would need 40 + 60; here the free 40 grow by 20.
  auto allocator = expandable();
  leave_free(allocator, 40_MiB);
  take(allocator, 60_MiB);
  CHECK(allocator.reserved() == 60_MiB);
}

TEST_CASE("a block that can grow counts as large as it can get", "[engine][allocator]") {
  // Free: 40 MiB between two blocks, and 20 at the end. 20 MiB go into the 40, whose rest does not hold the next 40;
  // these take the 20 at the end and a page more.
  auto allocator = expandable();
  auto const between = allocator.allocate(40_MiB, kCompute);
  take(allocator, 20_MiB);
  auto const end = allocator.allocate(20_MiB, kCompute);
  allocator.free(between);
  allocator.free(end);
  take(allocator, 20_MiB);
  take(allocator, 40_MiB);
  CHECK(allocator.reserved() == 100_MiB);
}

TEST_CASE("without memory for a page, pages that are wholly free are given back", "[engine][allocator]") {
  // Pages 0 to 20 and 20 to 40; from 30 on they are used, so one page comes back, and 80 more fit.
  auto allocator = expandable(100_MiB);
  auto const first = allocator.allocate(30_MiB, kCompute);
  take(allocator, 10_MiB);
  allocator.free(first);
  take(allocator, 80_MiB, kSide);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.reserved() == 100_MiB);
}

TEST_CASE("new pages fill the holes of an expandable segment before its end", "[engine][allocator]") {
  // Pages 0, 1 and 2; the other stream's 60 MiB make page 0 a hole. When these are gone, 20 MiB fill the hole: together
  // with page 1 it then holds 40.
  auto allocator = expandable(100_MiB);
  auto const page_0 = allocator.allocate(20_MiB, kCompute);
  auto const page_1 = allocator.allocate(20_MiB, kCompute);
  take(allocator, 20_MiB);
  allocator.free(page_0);
  auto const other = allocator.allocate(60_MiB, kSide);
  CHECK(allocator.reserved() == 100_MiB);
  allocator.free(other);
  auto const hole = allocator.allocate(20_MiB, kCompute);
  CHECK(allocator.reserved() == 60_MiB);
  CHECK(allocator.retries() == 2);
  allocator.free(hole);
  allocator.free(page_1);
  take(allocator, 40_MiB);
  CHECK(allocator.reserved() == 60_MiB);
}

TEST_CASE("requests that are freed in any order leave one block for each segment", "[engine][allocator]") {
  // 2 to 13 MiB, freed with a stride that is prime to 12. Segments: 20 for 2 to 6, 20 for 7 and 8, 20 for 9 and 10 (in
  // the 11 that are left), 12 for 11, 12, 14 for 13. As one segment: 90 MiB on 5 pages.
  auto const allocate_and_free = [](CachingAllocator& allocator) {
    auto blocks = std::vector<CachingAllocator::Block>{};
    for (auto mib = 2; mib <= 13; ++mib) blocks.push_back(allocator.allocate(1_MiB * mib, kCompute));
    for (auto i = std::size_t{0}; i < blocks.size(); ++i) allocator.free(blocks[i * 5 % blocks.size()]);
    CHECK(allocator.allocated() == 0_B);
  };
  auto fixed = CachingAllocator{{}};
  allocate_and_free(fixed);
  CHECK(fixed.reserved() == 98_MiB);
  for (auto const segment : {20_MiB, 20_MiB, 20_MiB, 12_MiB, 12_MiB, 14_MiB}) take(fixed, segment);
  CHECK(fixed.reserved() == 98_MiB);

  auto growing = expandable();
  allocate_and_free(growing);
  take(growing, 100_MiB);
  CHECK(growing.reserved() == 100_MiB);
}
