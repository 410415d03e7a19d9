#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/read_step.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using validate::StepQuantity;

TEST_CASE("a step record keeps what its source measured, in the source's unit", "[steps]") {
  auto const record = read_step(foundry_record());
  CHECK(record.problem.empty());
  CHECK(record.is_trusted());
  CHECK_FALSE(record.is_compiled);
  REQUIRE(record.measurements.size() == 1);  // FLOP/s have no one convention and do not count
  CHECK(record.measurements[0].quantity == StepQuantity::kTokenRate);
  CHECK(record.measurements[0].value == 2199);
  CHECK(record.measurements[0].unit == "tokens/s/GPU");
}

TEST_CASE("time comes before throughput, throughput before what was derived; memory is a measurement of its own",
          "[steps]") {
  auto const measured = [](std::string const& members) {
    return read_step(changed(foundry_record(), R"("tokens_per_s_per_gpu": 2199, "tflops_per_gpu": 414)", members))
        .measurements;
  };
  CHECK(measured(R"("step_time_s": 7.5, "tokens_per_s_per_gpu": 2199)")[0].quantity == StepQuantity::kStepTime);
  auto const memory = measured(R"("step_time_s": 7.5, "peak_memory_GiB": 62)");
  REQUIRE(memory.size() == 2);
  CHECK(memory[1].unit_size == 1024.0 * 1024 * 1024);
  auto const derived = measured(R"("tflops_per_gpu": 414)");
  REQUIRE(derived.size() == 1);
  CHECK(derived[0].value == 7.45066);
  CHECK_THAT(derived[0].note, Catch::Contains("derived"));
}

TEST_CASE("records that their collector doubts are not trusted", "[steps]") {
  CHECK_FALSE(read_step(changed(foundry_record(), R"("high")", R"("low")")).is_trusted());
  CHECK_FALSE(
      read_step(changed(foundry_record(), R"("confidence": "high")", R"("flags": ["slow"], "confidence": "high")"))
          .is_trusted());
}

TEST_CASE("a record with a missing or impossible member is kept with its problem", "[steps]") {
  auto const problem = [](std::string const& from, std::string const& to) {
    auto const record = read_step(changed(foundry_record(), from, to));
    CHECK(record.id == "mpt-30b-n128");
    return record.problem;
  };
  CHECK_THAT(problem(R"("parallelism")", R"("parallel")"), Catch::Contains("parallelism"));
  CHECK_THAT(problem(R"("layers": 48)", R"("layers": "48")"), Catch::Contains("/0/model/layers"));
  CHECK_THAT(problem(R"("micro_batch": 8)", R"("micro_batch": 0)"), Catch::Contains("/0/micro_batch"));
  CHECK_THAT(problem(R"("layers": 48)", R"("layers": 1000000)"), Catch::Contains("expected at most 10000"));
  CHECK_THAT(problem(R"("seq_len": 2048)", R"("seq_len": 4611686018427387904)"), Catch::Contains("/0/model/seq_len"));
  CHECK_THAT(problem("2199", "-1"), Catch::Contains("expected a number above 0"));
}

TEST_CASE("a file of something else than steps is refused as a whole", "[steps]") {
  auto const read = [](std::string const& text) {
    return validate::read_step_records(io::parse({"steps.json", text}));
  };
  CHECK_THROWS_AS(read("{}"), InputError);
  CHECK_THROWS_AS(read("[]"), InputError);
  CHECK_THROWS_WITH(read(R"([{"collective": "all_reduce", "rows": []}])"), Catch::Contains("validate collectives"));
  CHECK_THROWS_AS(read(R"([{"measurement": "gemm", "measured": {}}])"), InputError);
}
