#include "sim/base/units.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;

TEST_CASE("a transfer is rounded up to whole picoseconds and never ends early", "[base]") {
  // 1 byte at 900 GB/s takes 1.11 ps.
  CHECK(transfer_time(1_B, 900_GBps) == 2_ps);
  // 64 MiB at 450 GB/s: 67,108,864 / 450e9 s = 149,130,808.9 ps.
  CHECK(transfer_time(64_MiB, 450_GBps) == 149'130'809_ps);
  CHECK(transfer_time(0_B, 1_GBps) == 0_ps);
}

TEST_CASE("decimal and binary sizes differ", "[base]") {
  CHECK(80_GB == Bytes{80'000'000'000});
  CHECK(80_GiB == Bytes{85'899'345'920});
}

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("quantities of different dimensions do not mix", "[base]") {
  STATIC_REQUIRE(Addable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, Duration>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::int64_t, Bytes>);
}

TEST_CASE("chunks cover the whole and differ by at most one element", "[base]") {
  for (std::int64_t parts = 1; parts <= 9; ++parts) {
    for (std::int64_t total : {0, 1, 7, 10, 64, 1000003}) {
      CHECK(chunk_begin(total, parts, 0) == 0);
      CHECK(chunk_begin(total, parts, parts) == total);
      for (std::int64_t i = 0; i < parts; ++i) {
        auto const size = chunk_begin(total, parts, i + 1) - chunk_begin(total, parts, i);
        CHECK((size == total / parts || size == total / parts + 1));
      }
    }
  }
}

TEST_CASE("a duration beyond the simulated clock is refused", "[base]") {
  CHECK_THROWS_AS(to_duration(Seconds{1e7}), BeyondRange);
  CHECK_THROWS_AS(to_duration(Seconds{-1.0}), InternalError);
}

TEST_CASE("sums and products that leave 63 bits are refused, they do not wrap", "[base]") {
  auto const longest = Duration{std::numeric_limits<std::int64_t>::max()};
  CHECK(longest + 0_ps == longest);
  CHECK_THROWS_AS(longest + 1_ps, BeyondRange);
  CHECK_THROWS_AS(-1 * longest - 2_ps, BeyondRange);
  CHECK_THROWS_AS(Bytes{std::int64_t{1} << 32} * (std::int64_t{1} << 31), BeyondRange);
  CHECK(Bytes{std::int64_t{1} << 32} * (std::int64_t{1} << 30) == Bytes{std::int64_t{1} << 62});
}

TEST_CASE("bytes computed in floating point round up, and beyond 63 bits are refused", "[base]") {
  CHECK(to_bytes(0) == 0_B);
  CHECK(to_bytes(1.25) == 2_B);
  CHECK_THROWS_AS(to_bytes(0x1p63), BeyondRange);
  CHECK_THROWS_AS(to_bytes(1e300), BeyondRange);
}

TEST_CASE("what is quoted in a message is one line of whole characters", "[base]") {
  CHECK(quoted("a\nb") == "\"a\\x0ab\"");
  CHECK(quoted("\xc2\x85") == "\"\\x85\"");
  // 59 letters and half of an é: the é goes.
  CHECK(quoted(std::string(59, 'x') + "\xc3\xa9") == "\"" + std::string(59, 'x') + "…\"");
}

TEST_CASE("of names that differ in case alone, the one with fewer other letters is meant", "[base]") {
  CHECK(nearest_name("kb/s", {"KB/s", "Kb/s"}) == "Kb/s");
  CHECK(nearest_name("gb", {"GB", "Gb"}) == "Gb");
  CHECK(nearest_name("GBPS", {"GB/s", "GBps"}) == "GBps");
}
