#include <cstdint>
#include <random>
#include <string>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/timeline_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mutation.hpp"
#include "validate/records/ddp_times.hpp"
#include "validate/records/gzip.hpp"
#include "validate/records/kineto.hpp"
#include "validate/records/nccl_tests.hpp"

using namespace twinstep;
using namespace twinstep::records;
using namespace twinstep::tests;

namespace {

std::string text_of_fixture(std::string const& name) {
  return io::read_text(TWINSTEP_FIXTURES "/" + name);
}

/// Reads `rounds` damaged copies: each is read, or refused with one line. Anything else thrown fails the test.
template <class Read>
void fuzz(std::string const& original, std::uint64_t seed, int rounds, Read read) {
  auto random = std::mt19937_64{seed};
  for (auto round = 0; round < rounds; ++round) {
    auto const text = mutated(original, random);
    try {
      read(text);
    } catch (InputError const& error) {
      CHECK(std::string_view{error.what()}.find('\n') == std::string_view::npos);
      CHECK(std::string_view{error.what()}.size() > 10);
    }
  }
}

void read_logs(std::string const& text) {
  auto const logs = read_nccl_tests("fuzz.log", text);
  CHECK_FALSE(logs.empty());
  static_cast<void>(io::parse({"records", records_json("fuzz.log", logs)}));
}

}  // namespace

TEST_CASE("a damaged log of nccl-tests becomes records or one line", "[fuzz]") {
  fuzz(text_of_fixture("nccl_tests.log"), 1, 200, read_logs);
  fuzz(text_of_fixture("nccl_tests.json"), 2, 200, read_logs);
}

TEST_CASE("a damaged trace becomes a timeline that reads back, or one line", "[fuzz]") {
  fuzz(text_of_fixture("kineto/rank0.json"), 3, 150, [](std::string const& text) {
    auto const timeline = kineto_timeline({read_kineto_trace(io::parse({"fuzz.json", text}))});
    CHECK(io::read_timeline(io::parse({"again.json", io::to_json(timeline)})) == timeline);
  });
}

TEST_CASE("damaged step times become records or one line", "[fuzz]") {
  auto const read = [](std::string const& text) {
    static_cast<void>(io::parse({"records", step_records_json(read_step_times({{"fuzz.csv", text}}))}));
  };
  fuzz("rank,step,time_ms\n0,1,900\n1,1,850\n0,2,200\n1,2,190\n0,3,210\n1,3,220\n", 4, 1000, read);
  fuzz(R"({"benchmark_results": [{"model": "m", "batch_size": 1, "result": [
            {"ranks": [0, 1], "measurements": [0.1, 0.2, 0.3, 0.2]}]}]})",
       5, 500, read);
  fuzz("Benchmark: m with batch size 32\n  16 GPUs --  2M/8G:  p50:  0.114s  281/s  p90:  0.117s  274/s\n", 6, 500,
       read);
}

TEST_CASE("a damaged gzip file is read or refused with one line", "[fuzz]") {
  // printf 'step,time_s\n1,2\n' | gzip -n
  constexpr unsigned char kZipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x2b, 0x2e,
                                       0x49, 0x2d, 0xd0, 0x29, 0xc9, 0xcc, 0x4d, 0x8d, 0x2f, 0xe6, 0x32, 0xd4,
                                       0x31, 0xe2, 0x02, 0x00, 0x90, 0x5d, 0x54, 0x09, 0x10, 0x00, 0x00, 0x00};
  fuzz({std::begin(kZipped), std::end(kZipped)}, 7, 1000,
       [](std::string const& text) { static_cast<void>(unzipped("fuzz.gz", text)); });
}

TEST_CASE("a line of ten million characters is read in a moment", "[fuzz]") {
  CHECK_THROWS_AS(read_nccl_tests("huge.log", std::string(10'000'000, '1')), InputError);
  CHECK_THROWS_AS(read_step_times({{"huge.csv", std::string(10'000'000, ',')}}), InputError);
}
