#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include "explore/sweep/database.hpp"
#include "explore/sweep/results.hpp"
#include "sim/base/input_error.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::explore::sweep;

namespace {

Manifest a_manifest() {
  return {.version = "1.2.3",
          .sweep = R"({"axes": {"cluster.nodes": [1, 2]}})",
          .paths = {"cluster.nodes", "strategy"},
          .points = 3};
}

Row a_row(std::int64_t point) {
  auto row = Row{.point = point, .settings = {point * 2, std::string{"{\"name\": \"ddp\"}"}}, .status = Status::kOk};
  for (auto const& figure : kFigures) {
    switch (figure.kind) {
      case Column::Kind::kReal: row.figures.emplace_back(0.1 * static_cast<double>(point)); break;
      case Column::Kind::kText: row.figures.emplace_back("text"); break;
      case Column::Kind::kJson: row.figures.emplace_back("{\"parameters\": 1}"); break;
      default: row.figures.emplace_back(std::int64_t{1});
    }
  }
  row.figures[figure_index("mfu")] = {};
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
  CHECK(results.rows[2].number("mfu") == std::nullopt);
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
  other.sweep = R"({"axes": {"cluster.nodes": [1, 2, 4]}, "--fidelity": "closed"})";
  auto newer = a_manifest();
  newer.version = "9";
  using Catch::Contains;
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::create(path, a_manifest())); }),
             Contains("is there already; resume that sweep"));
  CHECK_THAT(
      message_of([&] { static_cast<void>(ResultsWriter::resume(path, other)); }),
      Contains("found results of another sweep: axes.cluster.nodes is [1, 2], expected [1, 2, 4]; name another"));
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, newer)); }),
             Contains("the version of twinstep is 1.2.3, expected 9"));
}

TEST_CASE("results of another sweep are told by the first thing that differs", "[sweep]") {
  auto const differ = [](std::string const& found, std::string const& wanted) {
    return difference_of({.sweep = found}, {.sweep = wanted});
  };
  CHECK(differ(R"({"base": {"model": {"a": 1, "b": null}}})", R"({"base": {"model": {"a": 2}}})") ==
        "base.model.a is 1, expected 2");
  CHECK(differ(R"({"base": 1})", R"({"base": 1, "constraints": ["a < 2"]})") ==
        R"(constraints is absent, expected ["a < 2"])");
  CHECK(differ(R"({"base": 1, "constraints": ["a < 2"]})", R"({"base": 1})") ==
        R"(constraints is ["a < 2"], expected absent)");
  CHECK(differ(R"({"--fidelity": "folded"})", R"({"--fidelity": "closed"})") ==
        R"(--fidelity is "folded", expected "closed")");
}

TEST_CASE("one process at a time writes a results file", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  auto writer = ResultsWriter::create(path, a_manifest());
  // Locks belong to open files: the same process may not open it twice either.
  CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(path, a_manifest())); }),
             Catch::Contains("another process writes into it"));
}

namespace {

/// Three rows of which point 1 was not simulated.
void write_results(std::string const& path) {
  auto writer = ResultsWriter::create(path, a_manifest());
  for (auto const& row : {a_row(0), a_refusal(1), a_row(2)}) writer.add(row);
  writer.finish();
}

/// What reading and resuming say of a file, which must be the same, and leave it as it is.
std::string refusal_of(std::string const& path) {
  auto const before = tests::read_file(path);
  auto const read = message_of([&] { static_cast<void>(read_results(path)); });
  auto const resumed = message_of([&] { static_cast<void>(ResultsWriter::resume(path, a_manifest())); });
  CHECK(read == resumed);
  CHECK((tests::read_file(path) == before));
  CHECK(std::ranges::count(read, '\n') == 0);
  return read;
}

}  // namespace

TEST_CASE("a damaged row is named with its column, and the file left alone", "[sweep][bad_input]") {
  auto const [sql, message] = GENERATE(table<std::string, std::string>({
      {"UPDATE points SET status = 'great' WHERE point = 1",
       "row 2, column \"status\": found \"great\", expected one of ok, does not fit, infeasible, wrong input"},
      {"UPDATE points SET status = 'ok' WHERE point = 1",
       "row 2, column \"reason\": found \"no \"x\"\", expected an empty text"},
      {"UPDATE points SET reason = '' WHERE point = 1", "row 2, column \"reason\": found \"\", expected why"},
      {"UPDATE points SET hfu = -0.5 WHERE point = 2",
       "row 3, column \"hfu\": found -0.5, expected a number from 0 on"},
      {"UPDATE points SET hfu = 9e999 WHERE point = 2",
       "row 3, column \"hfu\": found inf, expected a number from 0 on"},
      {"UPDATE points SET hfu = 'x' WHERE point = 2", "row 3, column \"hfu\": found \"x\", expected a number"},
      {"UPDATE points SET step_time_s = NULL WHERE point = 2", "row 3, column \"step_time_s\": found nothing"},
      {"UPDATE points SET events = 1.5 WHERE point = 2",
       "row 3, column \"events\": found 1.5, expected a whole number"},
      {"UPDATE points SET fits = 7 WHERE point = 2", "row 3, column \"fits\": found 7, expected 0 or 1"},
      {"UPDATE points SET memory = NULL WHERE point = 2", "row 3, column \"memory\": found nothing, expected a text"},
      {"UPDATE points SET hfu = 0.1 WHERE point = 1",
       "row 2, column \"hfu\": found 0.1, expected nothing where the status"},
      {"UPDATE points SET point = 7 WHERE point = 2",
       "row 3, column \"point\": found 7, expected a whole number from 0 to 2"},
      {"UPDATE points SET point = -7 WHERE point = 2", "row 1, column \"point\": found -7"},
      {"DELETE FROM points WHERE point = 1", "found 2 rows, expected 3"},
      {"ALTER TABLE points DROP COLUMN mfu", "found a table points of another form"},
      {"ALTER TABLE points ADD COLUMN mfu2", "found a table points of another form"},
      {"ALTER TABLE manifest RENAME COLUMN rows TO count", "found a table manifest of another form"},
      {"DROP TABLE points", "found no table points"},
      {"DROP TABLE points; CREATE VIEW points AS SELECT 1", "found a table points of another form"},
      {"DROP TABLE manifest", "found no table manifest"},
      {"DELETE FROM manifest", "found no row in its table manifest"},
      {"PRAGMA user_version = 99",
       "found results in layout 99, and this twinstep reads layout 3; read them with a newer"},
      {"PRAGMA application_id = 1", "found no results of a sweep"},
  }));
  INFO(sql);
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  write_results(path);
  Database{path, Database::Access::kWrite}.execute(sql);
  CHECK_THAT(refusal_of(path), Catch::Contains(message));
  CHECK(folder.files() == std::vector<std::string>{"r.sqlite"});
}

TEST_CASE("a row that stands there twice is refused", "[sweep][bad_input]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  write_results(path);
  // A table of the same columns that keeps nobody from it.
  Database{path, Database::Access::kWrite}.execute(
      "CREATE TABLE twice AS SELECT * FROM points; INSERT INTO twice SELECT * FROM points WHERE point = 0; "
      "DROP TABLE points; ALTER TABLE twice RENAME TO points");
  CHECK_THAT(refusal_of(path), Catch::Contains("found a table points of another form"));
}

TEST_CASE("a trigger that somebody added does not change what is written", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  ResultsWriter::create(path, a_manifest()).commit();
  Database{path, Database::Access::kWrite}.execute(
      "CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM points; END");
  {
    auto writer = ResultsWriter::resume(path, a_manifest());
    writer.add(a_row(0));
    writer.finish();
  }
  CHECK(read_results(path).rows == std::vector{a_row(0)});
}

TEST_CASE("files of something else, cut ones and overwritten ones are refused and left alone", "[sweep][bad_input]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  SECTION("text") {
    write_text(path, std::string(5000, 'x'));
    CHECK_THAT(refusal_of(path), Catch::Contains("file is not a database; restore a copy"));
  }
  SECTION("nothing in it") {
    write_text(path, "");
    CHECK_THAT(refusal_of(path), Catch::Contains("found an empty file, expected results of a sweep"));
  }
  SECTION("cut anywhere") {
    write_results(path);
    auto const size = std::filesystem::file_size(path);
    for (auto const kept : {size - 1, size - 4096, size / 2, std::uintmax_t{1000}, std::uintmax_t{50}}) {
      INFO(kept);
      std::filesystem::resize_file(path, kept);
      CHECK_THAT(refusal_of(path), Catch::Contains("restore a copy, or name another file"));
    }
  }
  SECTION("pages of it") {
    {
      auto manifest = a_manifest();
      manifest.points = 1000;
      auto writer = ResultsWriter::create(path, manifest);
      for (auto i = 0; i < 1000; ++i) writer.add(a_row(i));
      writer.finish();
    }
    auto file = std::fstream{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(16384);
    file << std::string(65536, '\xee');
    file.close();
    CHECK_THAT(refusal_of(path), Catch::Contains("restore a copy"));
  }
}

TEST_CASE("what is no file is not read, and nothing waits for it", "[sweep][bad_input]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  using Catch::Contains;
  CHECK_THAT(message_of([&] { static_cast<void>(read_results(path)); }), Contains("found no such file"));
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  for (auto const& each : {path, folder.path(""), std::string{"/dev/zero"}}) {
    CHECK_THAT(message_of([&] { static_cast<void>(read_results(each)); }), Contains("found no regular file"));
    CHECK_THAT(message_of([&] { static_cast<void>(ResultsWriter::resume(each, a_manifest())); }),
               Contains("found no regular file"));
  }
}

TEST_CASE("a file whose writer ended in the middle of a write is read again once it was resumed", "[sweep]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  write_results(path);
  auto const child = fork();
  if (child == 0) {
    // More than the cache holds: pages of an open transaction go to the file, the old ones to its journal.
    auto file = Database{path, Database::Access::kWrite};
    file.execute(
        "PRAGMA cache_size = 1; BEGIN; CREATE TABLE other (x); INSERT INTO other VALUES (randomblob(1000000))");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  REQUIRE(std::filesystem::exists(path + "-journal"));
  CHECK_THAT(message_of([&] { static_cast<void>(read_results(path)); }),
             Catch::Contains("its writer ended in the middle of a write: resume that sweep first"));
  CHECK(ResultsWriter::resume(path, a_manifest()).points_done().size() == 3);
  CHECK(read_results(path).rows.size() == 3);
}

TEST_CASE("a file that is taken away while it is written is missed", "[sweep][bad_input]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  auto writer = ResultsWriter::create(path, a_manifest());
  writer.add(a_row(0));
  std::filesystem::remove(path);
  SECTION("removed") {}
  SECTION("replaced") {
    write_text(path, "something else");
  }
  CHECK_THAT(message_of([&] { writer.finish(); }), Catch::Contains("was removed or replaced while the sweep wrote"));
}

TEST_CASE("what another file left beside does not get into a new one", "[sweep][bad_input]") {
  auto const folder = tests::Scratch{};
  auto const path = folder.path("r.sqlite");
  {
    auto writer = ResultsWriter::create(path, a_manifest());
    writer.add(a_row(0));
    writer.commit();
    std::filesystem::copy_file(path + "-wal", folder.path("old-wal"));
  }
  std::filesystem::remove(path);
  std::filesystem::copy_file(folder.path("old-wal"), path + "-wal");
  CHECK(ResultsWriter::resume(path, a_manifest()).points_done().empty());
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
      auto manifest = a_manifest();
      manifest.points = 10'000;
      auto writer = ResultsWriter::create(path, manifest);
      for (auto i = 0; i < 10'000; ++i) {
        writer.add(a_row(i));
        writer.commit();
      }
    });
    _exit(message.find("what was committed is kept: make room, and resume the sweep") == std::string::npos ? 1 : 0);
  }
  auto status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  auto const kept = read_results(path).rows;
  CHECK_FALSE(kept.empty());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i] == a_row(static_cast<std::int64_t>(i)));
}
