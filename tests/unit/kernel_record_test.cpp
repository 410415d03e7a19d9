#include "validate/records/kernel_record.hpp"

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

namespace {

std::vector<validate::KernelRecord> read(std::string const& text) {
  return validate::read_kernel_records(io::parse({"kernels.json", "[" + text + "]"}));
}

}  // namespace

TEST_CASE("kernel records become work with times", "[calibrate]") {
  auto const records = read(R"(
    {"measurement": "gemm", "device": "D", "dtype": "bf16", "m": 4096, "n": 2048, "k": 1024, "time_us": 190,
     "low_us": 189, "high_us": 193, "repetitions": 50, "backend": "nccl", "beside": "all_reduce"},
    {"measurement": "attention", "device": "D", "dtype": "fp16", "batch": 2, "heads": 32, "kv_heads": 8,
     "query_length": 512, "key_length": 512, "head_size": 128, "causal": true, "backward": true, "time_us": 300},
    {"measurement": "elementwise", "device": "D", "elements": 1000, "bytes_per_element": 6, "time_us": 5},
    {"measurement": "copy", "device": "D", "direction": "host_to_device", "bytes": 1000000, "time_us": 40},
    {"measurement": "launch", "device": "D", "launches": 100, "time_us": 500})");
  REQUIRE(records.size() == 5);
  auto const& gemm = std::get<program::Gemm>(*records[0].work);
  CHECK(gemm.n == 2048);
  CHECK(records[0].time.count() == Approx(190e-6));
  CHECK(records[0].repetitions == 50);
  CHECK(records[0].beside == "all_reduce");
  CHECK(std::get<program::Attention>(*records[1].work).backward);
  CHECK(records[1].low == records[1].time);
  CHECK(std::get<program::Elementwise>(*records[2].work).bytes_per_element == 6);
  CHECK(std::get<program::Copy>(*records[3].work).direction == program::CopyDirection::kHostToDevice);
  CHECK_FALSE(records[4].work);
  CHECK(records[4].launches == 100);
}

TEST_CASE("kernel records that cannot be are refused at their place", "[calibrate]") {
  auto const refused = [](std::string const& members, std::string const& part) {
    CHECK_THROWS_WITH(read(R"({"device": "D", "dtype": "bf16", "m": 1, "n": 1, "k": 1, )" + members + "}"),
                      Catch::Contains(part));
  };
  refused(R"("measurement": "gem", "time_us": 1)", "did you mean \"gemm\"?");
  refused(R"("measurement": "gemm", "time_us": 0)", "expected a time above 0");
  refused(R"("measurement": "gemm", "time_us": 5, "low_us": 6)", "does not lie between");
  refused(R"("measurement": "launch", "time_us": 5)", "launches");
}
