#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include "app/sweep/results.hpp"
#include "sim/base/input_error.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::app::sweep;

namespace {

Manifest a_manifest() {
  return {.version = "1.2.3", .sweep = "{\"axes\": {}}", .paths = {"cluster.nodes", "strategy"}, .points = 3};
}

Row a_row(std::int64_t point) {
  auto row = Row{.point = point, .settings = {point * 2, std::string{"{\"name\": \"ddp\"}"}}, .status = Status::kOk};
  row.figures.resize(kFigures.size());
  row.figures[figure_index("step_time_s")] = 0.1 * static_cast<double>(point);
  row.figures[figure_index("world_size")] = std::int64_t{16};
  row.figures[figure_index("memory")] = std::string{"{\"parameters\": 1}"};
  return row;
}

Row a_refusal(std::int64_t point) {
  return {.point = point, .settings = {{}, std::string{"x"}}, .status = Status::kWrongInput, .reason = "no \"x\""};
}

void write_text(std::string const& path, std::string const& text) {
  std::ofstream{path, std::ios::binary} << text;
}

std::string message_of(auto&& action) {
  try {
    action();
  } catch (InputError const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("rows come back from a results file as they were, in the order of their points", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  {
    auto writer = ResultsWriter::create(path, a_manifest());
    for (auto const& row : {a_row(2), a_refusal(1), a_row(0)}) writer.add(row);
    writer.finish();
  }
  auto const results = read_results(path);
  CHECK(results.manifest == a_manifest());
  CHECK(results.is_finished);
  CHECK(results.rows == std::vector{a_row(0), a_refusal(1), a_row(2)});
  CHECK(results.rows[2].number("step_time_s") == 0.2);
  CHECK(results.rows[1].number("step_time_s") == std::nullopt);
  CHECK(results.setting_index("strategy") == std::size_t{1});
  CHECK(results.setting_index("network") == std::nullopt);
}

TEST_CASE("a finished results file stands alone, and can be read where nothing may be written", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  ResultsWriter::create(path, a_manifest()).finish();
  auto names = std::vector<std::string>{};
  for (auto const& entry : std::filesystem::directory_iterator{std::filesystem::path{path}.parent_path()})
    names.push_back(entry.path().filename());
  CHECK(names == std::vector<std::string>{"r.sqlite"});
}

TEST_CASE("what was committed can be read while the sweep goes on, and is there after its end", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  {
    auto writer = ResultsWriter::create(path, a_manifest());
    writer.add(a_row(0));
    writer.commit();
    writer.add(a_row(1));
    auto const meanwhile = read_results(path);
    CHECK_FALSE(meanwhile.is_finished);
    CHECK(meanwhile.rows == std::vector{a_row(0)});
  }
  auto writer = ResultsWriter::resume(path, a_manifest());
  CHECK(writer.points_done() == std::vector<std::int64_t>{0});
  writer.add(a_row(1));
  writer.finish();
  CHECK(read_results(path).rows == std::vector{a_row(0), a_row(1)});
}

TEST_CASE("a results file is not begun twice, and only its own sweep goes on with it", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  ResultsWriter::create(path, a_manifest()).finish();
  auto other = a_manifest();
  other.points = 4;
  other.paths = {"cluster.nodes"};
  auto newer = a_manifest();
  newer.version = "9";
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::create(path, a_manifest())); }),
             Catch::Contains("is there already; go on with it by --resume"));
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, other)); }),
             Catch::Contains("found results of another sweep (3 points over cluster.nodes, strategy), expected this "
                             "one's (4 over cluster.nodes); name another file"));
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, newer)); }),
             Catch::Contains("found results of twinstep 1.2.3, and this is 9"));
}

TEST_CASE("one process at a time writes a results file", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  auto writer = ResultsWriter::create(path, a_manifest());
  // Locks belong to open files: the same process may not open it twice either.
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, a_manifest())); }),
             Catch::Contains("another process writes into it"));
}

TEST_CASE("files of something else and damaged ones are refused and left alone", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  SECTION("text") {
    write_text(path, std::string(5000, 'x'));
    CHECK_THAT(message_of([&] { static_cast<void>(read_results(path)); }), Catch::Contains("file is not a database"));
    CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, a_manifest())); }),
               Catch::Contains("file is not a database; restore a copy"));
    CHECK(std::filesystem::file_size(path) == 5000);
  }
  SECTION("pages overwritten") {
    {
      auto writer = ResultsWriter::create(path, a_manifest());
      for (auto i = 0; i < 1000; ++i) writer.add(a_row(i));
      writer.finish();
    }
    auto file = std::fstream{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(16384);
    file << std::string(65536, '\xee');
    file.close();
    CHECK_THAT(message_of([&] { static_cast<void>(read_results(path)); }),
               Catch::Contains("database disk image is malformed; restore a copy"));
    CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, a_manifest()).points_done()); }),
               Catch::Contains("database disk image is malformed"));
  }
  SECTION("nothing there, and a folder") {
    CHECK_THAT(message_of([&] { static_cast<void>(read_results(path)); }), Catch::Contains("found no such file"));
    CHECK_THAT(message_of([&] { static_cast<void>(read_results(folder.path(""))); }),
               Catch::Contains("found no regular file"));
  }
}

TEST_CASE("a disk that is full ends the sweep with what was committed", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  auto const child = fork();
  if (child == 0) {  // the limit would stay with this process
    std::signal(SIGXFSZ, SIG_IGN);
    auto const limit = rlimit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto const message = message_of([&] {
      auto writer = ResultsWriter::create(path, a_manifest());
      for (auto i = 0; i < 10'000; ++i) {
        writer.add(a_row(i));
        writer.commit();
      }
    });
    _exit(message.find("what was committed is kept: make room, and go on with --resume") == std::string::npos ? 1 : 0);
  }
  auto status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  auto const kept = read_results(path).rows;
  CHECK_FALSE(kept.empty());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i] == a_row(static_cast<std::int64_t>(i)));
}
