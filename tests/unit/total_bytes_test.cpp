#include "sim/base/total_bytes.hpp"

#include "tests/support/catch.hpp"

using namespace twinstep;

TEST_CASE("a total of all ranks goes on where 63 bits end", "[base]") {
  // 16,384 ranks that send 3 TB in each of 512 micro-batches: 2.5e19 bytes.
  auto const one = TotalBytes{Bytes{3'000'000'000'000} * 16'384};
  auto const all = one * 512;
  CHECK(static_cast<double>(all.count()) == Approx(3e12 * 16384 * 512));
  CHECK_FALSE(all.bytes().has_value());
  CHECK(one.bytes() == Bytes{49'152'000'000'000'000});
  CHECK(TotalBytes::about(0x1p64).count() == static_cast<TotalBytes::Count>(1) << 64);
  CHECK(one < all);
}
