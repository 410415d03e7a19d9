#include "sim/io/quantity.hpp"

#include <string>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::io;

namespace {

template <class Read>
std::string error_of(Read read, std::string_view text) {
  try {
    read(text);
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("sizes are decimal with KB and binary with KiB", "[io][quantity]") {
  CHECK(read_bytes("0 B") == 0_B);
  CHECK(read_bytes("512 B") == 512_B);
  CHECK(read_bytes("80 GB") == 80_GB);
  CHECK(read_bytes("80 GiB") == 80_GiB);
  CHECK(read_bytes("80GiB") == 80_GiB);
  CHECK(read_bytes(" 1.5 KB ") == 1500_B);
  CHECK(read_bytes("0.1 KB") == 100_B);
  CHECK(read_bytes("2 TB") == 2000_GB);
  CHECK(read_bytes("1 TiB") == 1024_GiB);
  CHECK(read_bytes("1e3 MB") == 1_GB);
  // 2^53 + 1, where doubles no longer tell neighbours apart.
  CHECK(read_bytes("9007199254740993 B") == Bytes{9007199254740993});
}

TEST_CASE("a small b is a bit and a large B is a byte", "[io][quantity]") {
  CHECK(read_bandwidth("450 GB/s") == 450_GBps);
  CHECK(read_bandwidth("400 Gb/s") == 50_GBps);
  CHECK(read_bandwidth("400 Gbit/s") == 50_GBps);
  CHECK(read_bandwidth("400 Gbps") == 50_GBps);
  CHECK(read_bandwidth("3.2 Tb/s") == 400_GBps);
  CHECK(read_bandwidth("1 KiB/s") == BytesPerSecond{1024});
}

TEST_CASE("times are whole picoseconds, rounded up", "[io][quantity]") {
  CHECK(read_duration("1.9 us") == 1900_ns);
  CHECK(read_duration("1.9 \u00b5s") == 1900_ns);
  CHECK(read_duration("20 ms") == 20_ms);
  CHECK(read_duration("2 min") == Duration{120'000'000'000'000});
  CHECK(read_duration("1 h") == Duration{3'600'000'000'000'000});
  CHECK(read_duration("0.5 ps") == 1_ps);
}

TEST_CASE("arithmetic rates can be written with FLOP/s and FLOPS", "[io][quantity]") {
  CHECK(read_flop_rate("989 TFLOP/s") == 989_TFLOPS);
  CHECK(read_flop_rate("1.979 PFLOPS") == 1979_TFLOPS);
  CHECK(read_flop_rate("19500 GFLOP/s") == FlopsPerSecond{19.5e12});
}

TEST_CASE("a quantity of another dimension is refused and bits are converted to show a confusion", "[io][quantity]") {
  CHECK(error_of(read_bytes, "450 Gb/s") ==
        R"("450 Gb/s" is a rate (56.25 GB/s), expected a memory size such as "80 GB" or "80 GiB")");
  CHECK(error_of(read_bandwidth, "80 GB") ==
        R"("80 GB" is a size, expected a bandwidth such as "450 GB/s" or "400 Gb/s")");
  CHECK(error_of(read_duration, "989 TFLOP/s") ==
        R"("989 TFLOP/s" is an arithmetic rate, expected a time such as "1.9 us" or "20 ms")");
  CHECK(error_of(read_flop_rate, "2 s") == R"("2 s" is a time, expected an arithmetic rate such as "989 TFLOP/s")");
}

TEST_CASE("a missing or unknown unit is refused with the units that are known", "[io][quantity]") {
  CHECK(error_of(read_bandwidth, "450") ==
        R"("450" has no unit, expected a bandwidth such as "450 GB/s" or "400 Gb/s")");
  CHECK(error_of(read_bandwidth, "450 GB/sec") ==
        R"("450 GB/sec" has the unknown unit "GB/sec", expected a bandwidth such as "450 GB/s" or "400 Gb/s"; )"
        R"(did you mean "GB/s"?)");
  CHECK(error_of(read_duration, "3 fortnights") ==
        "\"3 fortnights\" has the unknown unit \"fortnights\", expected a time such as \"1.9 us\" or \"20 ms\"; "
        "known: ps, ns, us, \u00b5s, \u03bcs, ms, s, min, h");
}

TEST_CASE("a text without a number is no quantity", "[io][quantity]") {
  for (auto const* text : {"fast", "", " ", "GB", "inf GB", "nan GB", "-inf GB", "+5 GB", "--5 GB"}) {
    CAPTURE(text);
    CHECK_THAT(error_of(read_bytes, text), Catch::Contains("is not a number with a unit, expected a memory size"));
  }
}

TEST_CASE("negative quantities and rates of zero are refused", "[io][quantity]") {
  CHECK(error_of(read_bytes, "-1 GB") == R"("-1 GB" is negative, expected a memory size such as "80 GB" or "80 GiB")");
  CHECK_THAT(error_of(read_duration, "-1 us"), Catch::Contains("is negative"));
  CHECK_THAT(error_of(read_bandwidth, "-1 GB/s"), Catch::Contains("is negative"));
  CHECK(error_of(read_bandwidth, "0 GB/s") ==
        R"("0 GB/s" is zero, expected a bandwidth such as "450 GB/s" or "400 Gb/s")");
  CHECK_THAT(error_of(read_flop_rate, "0.0 TFLOP/s"), Catch::Contains("is zero"));
}

TEST_CASE("what 63 bits cannot hold is refused", "[io][quantity]") {
  // 2^63 = 9,223,372,036,854,775,808 bytes is one too many.
  CHECK(read_bytes("9223372036854775807 B") == Bytes{9223372036854775807});
  CHECK_THAT(error_of(read_bytes, "9223372036854775808 B"), Catch::Contains("does not fit in 63 bits of bytes"));
  CHECK_THAT(error_of(read_bytes, "10000 PB"), Catch::Contains("does not fit in 63 bits of bytes"));
  CHECK_THAT(error_of(read_bytes, "1e30 GB"), Catch::Contains("does not fit in 63 bits of bytes"));
  CHECK_THAT(error_of(read_bytes, "1e999 GB"), Catch::Contains("is too large or too small a number"));
  // 2^63 ps is 106.75 days, 2562 hours.
  CHECK(read_duration("2562 h").count() > 0);
  CHECK_THAT(error_of(read_duration, "2563 h"), Catch::Contains("is longer than the simulated clock runs, 106 days"));
  CHECK_THAT(error_of(read_bandwidth, "1e308 TB/s"), Catch::Contains("is too large or too small a number"));
}

TEST_CASE("part of a byte is refused", "[io][quantity]") {
  CHECK(error_of(read_bytes, "0.5 B") ==
        R"("0.5 B" is not a whole number of bytes, expected a memory size such as "80 GB" or "80 GiB")");
}

TEST_CASE("a quantity is written in the unit that makes it shortest and exact", "[io][quantity]") {
  CHECK(quantity_text(80_GB) == "80 GB");
  CHECK(quantity_text(80_GiB) == "80 GiB");
  CHECK(quantity_text(1_B) == "1 B");
  CHECK(quantity_text(1900_ns) == "1.9 us");
  CHECK(quantity_text(0_ps) == "0 ps");
  CHECK(quantity_text(450_GBps) == "450 GB/s");
  CHECK(quantity_text(989_TFLOPS) == "989 TFLOP/s");
}

TEST_CASE("every quantity reads back as it was written", "[io][quantity]") {
  for (std::int64_t value = 1; value > 0 && value < std::int64_t{1} << 62; value = value * 3 + 1) {
    CAPTURE(value);
    CHECK(read_bytes(quantity_text(Bytes{value})) == Bytes{value});
    CHECK(read_duration(quantity_text(Duration{value})) == Duration{value});
    auto const rate = static_cast<double>(value) / 7.0;
    CHECK(read_bandwidth(quantity_text(BytesPerSecond{rate})) == BytesPerSecond{rate});
    CHECK(read_flop_rate(quantity_text(FlopsPerSecond{rate})) == FlopsPerSecond{rate});
  }
}
