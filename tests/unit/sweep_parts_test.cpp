#include "explore/sweep/outcome.hpp"
#include "explore/sweep/processes.hpp"
#include "explore/sweep/value.hpp"
#include "explore/sweep/workers.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::explore::sweep;

namespace {

Values values(std::string const& text) {
  return Values{io::parse({"axis", text})};
}

std::vector<std::string> texts(std::string const& range) {
  auto const all = values(range);
  auto list = std::vector<std::string>{};
  for (std::int64_t i = 0; i < all.size(); ++i) list.emplace_back(all.value(i).string());
  return list;
}

std::vector<double> numbers(std::string const& range) {
  auto const all = values(range);
  auto list = std::vector<double>{};
  for (std::int64_t i = 0; i < all.size(); ++i) list.push_back(all.value(i).number());
  return list;
}

}  // namespace

TEST_CASE("a range grows by a factor or a step and includes its end", "[sweep]") {
  CHECK(numbers(R"({"from": 1, "to": 64, "factor": 4})") == std::vector<double>{1, 4, 16, 64});
  CHECK(numbers(R"({"from": 1, "to": 63, "factor": 4})") == std::vector<double>{1, 4, 16});
  CHECK(numbers(R"({"from": 8, "to": 24, "step": 8})") == std::vector<double>{8, 16, 24});
  CHECK(numbers(R"({"from": 0.1, "to": 0.4, "step": 0.1})") == std::vector<double>{0.1, 0.2, 0.3, 0.4});
  CHECK(texts(R"({"from": "100 Gb/s", "to": "800 Gb/s", "factor": 2})") ==
        std::vector<std::string>{"100 Gb/s", "200 Gb/s", "400 Gb/s", "800 Gb/s"});
  CHECK(texts(R"({"from": "1.5 us", "to": "2 us", "step": "0.5 us"})") == std::vector<std::string>{"1.5 us", "2 us"});
}

TEST_CASE("the ends of a range may be in two units of one kind", "[sweep]") {
  CHECK(texts(R"({"from": "400 Gb/s", "to": "1.6 Tb/s", "factor": 2})") ==
        std::vector<std::string>{"400 Gb/s", "800 Gb/s", "1600 Gb/s"});
  CHECK(texts(R"({"from": "512 MiB", "to": "1 GiB", "step": "524288 KiB"})") ==
        std::vector<std::string>{"512 MiB", "1024 MiB"});
}

TEST_CASE("whole numbers of a range stay whole", "[sweep]") {
  CHECK(values(R"({"from": 1, "to": 1000000000, "factor": 10})").value(9).integer() == 1'000'000'000);
}

TEST_CASE("a range of 10^12 values is not listed", "[sweep]") {
  auto const huge = values(R"({"from": 1, "to": 1000000000000, "step": 1})");
  CHECK(huge.size() == 1'000'000'000'000);
  CHECK(huge.value(999'999'999'999).integer() == 1'000'000'000'000);
}

TEST_CASE("a ledger hands out every point that is not done, once", "[sweep]") {
  auto ledger = Ledger{6, {0, 3, 5}};
  CHECK(ledger.size() == 3);
  CHECK(ledger.next() == 1);
  CHECK(ledger.next() == 2);
  CHECK(ledger.next() == 4);
  CHECK(ledger.next() == std::nullopt);
}

TEST_CASE("a ledger that was stopped hands out no more", "[sweep]") {
  auto ledger = Ledger{6, {}};
  CHECK(ledger.next() == 0);
  ledger.stop();
  CHECK(ledger.next() == std::nullopt);
}

TEST_CASE("answers come through a message between processes as they were", "[sweep]") {
  auto row =
      Row{.point = 7, .settings = {{}, std::int64_t{-1}, 0.1, std::string{"x\0y", 3}}, .status = Status::kDoesNotFit};
  row.reason = "why";
  row.figures = {std::string{}, 1e300};
  auto message = std::string{};
  for (auto const& answer : {Answer{row}, Answer{}, Answer{Row{}}}) encode(answer, message);
  CHECK(decode(message) == std::vector<Answer>{row, {}, Row{}});
}

TEST_CASE("progress says how much, how fast and how long", "[sweep]") {
  // 250 of 1000 in 10 s: 25 a second, 750 left take 30 s.
  CHECK(progress_text({250, 1000, 10}, 8) == "[##......]  25 %, 250 of 1,000 points, 25.0 a second, 30 s left");
  CHECK(progress_text({0, 1000, 1}, 0) == "  0 %, 0 of 1,000 points");
  CHECK(progress_text({1, 3601, 1}, 0) == "  0 %, 1 of 3,601 points");  // too early to guess
  CHECK(progress_text({73, 3673, 73}, 0) == "  2 %, 73 of 3,673 points");
  CHECK(progress_text({74, 3674, 74}, 0) == "  2 %, 74 of 3,674 points, 1.0 a second, 60 min left");
  CHECK(progress_text({1, 2, 5, "systems"}, 0) == " 50 %, 1 of 2 systems, 5.000 s each, 5 s left");
  CHECK(progress_text({2, 4, 5}, 0) == " 50 %, 2 of 4 points, 2.500 s each, 5 s left");
}

TEST_CASE("launchers of MPI programs are known by what they set", "[sweep]") {
  auto const with = [](std::string const& name) {
    return [name](std::string const& asked) { return asked == name ? std::optional<std::string>{"3"} : std::nullopt; };
  };
  for (auto const* const name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    CHECK(is_started_by_mpi(with(name)));
    CHECK_FALSE(why_not_together(with(name)));
  }
  CHECK_FALSE(is_started_by_mpi(with("SLURM_NTASKS")));
  CHECK_FALSE(why_not_together(with("SLURM_NTASKS")));  // a batch script
  CHECK(why_not_together(with("SLURM_STEP_NUM_TASKS")));
}
