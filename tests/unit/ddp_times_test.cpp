#include "validate/records/ddp_times.hpp"

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "validate/records/gzip.hpp"

using namespace twinstep;
using namespace twinstep::records;

namespace {

StepTimes read_one_run(std::string const& text) {
  auto const runs = read_step_times({{"run.csv", text}});
  REQUIRE(runs.size() == 1);
  return runs.front();
}

}  // namespace

TEST_CASE("a step is as long as its slowest rank, without the warm-up", "[records][step-times]") {
  // Slowest ranks: 0.9, 0.20, 0.22, 0.21, 0.24. The median is 0.22: 0.9 is beyond 1.2 x 0.22 and the others are not.
  auto const run = read_one_run(
      "rank,step,time_ms\n0,0,900\n1,0,850\n0,1,200\n1,1,190\n0,2,210\n1,2,220\n0,3,210\n1,3,205\n0,4,240\n1,4,200\n");
  CHECK(run.ranks == 2);
  CHECK(run.warm_up == 1);
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].count() == Approx(0.2));
  CHECK(run.steps[1].count() == Approx(0.22));
  // Sorted 0.20, 0.21, 0.22, 0.24: the median lies half-way between 0.21 and 0.22.
  CHECK(percentile(run.steps, 0.5).count() == Approx(0.215));
  CHECK(percentile(run.steps, 0.9).count() == Approx(0.234));  // 2.7 of three steps: 0.22 + 0.7 x 0.02
}

TEST_CASE("files of ranks, units by their titles, comments and other columns", "[records][step-times]") {
  auto const runs =
      read_step_times({{"rank0.csv", "# A run\nIteration, loss, Step time (us)\n1, 2.5, 100\n2, 2.4, 110\n"},
                       {"rank1.csv", "step,time_s\r\n1,0.000120\r\n\r\n2,0.000105\r\n"}});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].ranks == 2);
  CHECK(runs[0].steps.at(0).count() == Approx(120e-6));
  CHECK(runs[0].steps.at(1).count() == Approx(110e-6));
}

TEST_CASE("PyTorch's DDP benchmark is read from its JSON", "[records][step-times]") {
  // pytorch/pytorch benchmarks/distributed/ddp/benchmark.py: the measurements of the ranks stand behind each other.
  auto const runs = read_step_times({{"ddp.json", R"({"pytorch_version": "1.4.0", "distributed_backend": "nccl",
    "bucket_size": 25, "benchmark_results": [{"model": "resnet50", "batch_size": 32, "result": [
      {"ranks": [0], "measurements": [0.10, 0.12]},
      {"ranks": [0, 1], "measurements": [0.20, 0.21, 0.25, 0.19]}]}]})"}});
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].ranks == 2);
  CHECK(runs[1].micro_batch == 32);
  CHECK(runs[1].steps.at(0).count() == Approx(0.25));
  CHECK(runs[1].steps.at(1).count() == Approx(0.21));
  CHECK(runs[1].warm_up == 0);
}

TEST_CASE("PyTorch's DDP benchmark is read from what it prints", "[records][step-times]") {
  auto const runs =
      read_step_times({{"ddp.txt",
                        "PyTorch distributed benchmark suite\n\nBenchmark: resnet50 with batch size 32\n\n"
                        "                            sec/iter    ex/sec      sec/iter    ex/sec\n"
                        "   1 GPUs --   no ddp:  p50:  0.097s     329/s  p75:  0.097s     329/s  p90:  0.098s  "
                        "   328/s  p95:  0.098s     328/s\n"
                        "  16 GPUs --    2M/8G:  p50:  0.114s     281/s  p75:  0.115s     279/s  p90:  0.117s  "
                        "   274/s  p95:  0.119s     270/s\n"}});
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].model == "resnet50");
  CHECK(runs[1].ranks == 16);
  auto const record = io::parse({"r", step_records_json(runs)}).elements().at(1);
  CHECK(record.at("measurement").string() == "step");
  CHECK(record.at("parallelism").at("dp").integer() == 16);
  CHECK(record.at("measured").at("step_time_s").number() == 0.114);
  CHECK(record.at("measured").at("step_time_p90_s").number() == 0.117);
  CHECK_FALSE(record.at("measured").find("step_time_p10_s").has_value());
}

TEST_CASE("a table that cannot be read is refused with its line", "[records][step-times]") {
  auto const refuse = [](std::string const& text, std::string const& what) {
    CHECK_THROWS_WITH(read_one_run(text), Catch::Contains(what));
  };
  refuse("", "run.csv: found no line");
  refuse("step,time\n1,2\n", "run.csv:1: found the columns \"step,time\", expected \"step\" and a time with its unit");
  refuse("step,time_s\n", "found no row below the header");
  refuse("step,time_s\n1,x\n", "run.csv:2: found \"x\", expected a time");
  refuse("step,time_s\n1\n", "run.csv:2: found \"\", expected a time");
  refuse("step,time_s\n1,nan\n", "found the time nan, expected one above zero");
  refuse("step,time_s\n1,-1\n", "found the time -1");
  refuse("step,time_s\n1,0\n", "found the time 0");
  refuse("step,time_s\n1,1\n1,1\n", "run.csv:3: found step 1 of rank 0 a second time");
  refuse("rank,step,time_s\n0,1,1\n1,1,1\n0,2,1\n", "found step 2 of 1 ranks, expected it of all 2");
  refuse("{\"name\": \"h100\"}", "run.csv:1:1: found JSON without \"benchmark_results\"");
  CHECK_THROWS_WITH(read_step_times({{"d.json", R"({"benchmark_results": [{"model": "m", "batch_size": 1, "result": [
                      {"ranks": [0, 1], "measurements": [0.1, 0.2, 0.3]}]}]})"}}),
                    Catch::Contains("found 3 measurements of 2 ranks"));
}

TEST_CASE("gzip files are read, and damaged ones refused", "[records][gzip]") {
  // printf 'step,time_s\n1,2\n' | gzip -n
  constexpr unsigned char kZipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x2b, 0x2e,
                                       0x49, 0x2d, 0xd0, 0x29, 0xc9, 0xcc, 0x4d, 0x8d, 0x2f, 0xe6, 0x32, 0xd4,
                                       0x31, 0xe2, 0x02, 0x00, 0x90, 0x5d, 0x54, 0x09, 0x10, 0x00, 0x00, 0x00};
  auto const zipped = std::string{std::begin(kZipped), std::end(kZipped)};
  auto const text = std::string{"step,time_s\n1,2\n"};
  CHECK(unzipped("a.gz", zipped) == text);
  CHECK(unzipped("a.gz", zipped + zipped) == text + text);  // files that were joined
  for (std::size_t length = 2; length < zipped.size(); ++length)
    CHECK_THROWS_WITH(unzipped("a.gz", zipped.substr(0, length)), Catch::Contains("cut off"));
  CHECK_THROWS_WITH(unzipped("a.gz", zipped + "more"), Catch::Contains("damaged"));
  CHECK(unzipped("a.csv", "step,time_s\n") == "step,time_s\n");
  CHECK_THROWS_WITH(unzipped("a.gz", "\x1f\x8bgarbage that is none"), Catch::Contains("a.gz: found damaged gzip data"));
}
