#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "sim/base/input_error.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/launch/local_ranks.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using namespace std::chrono_literals;

namespace {

constexpr auto kShort = cpu::GlooOptions{.to_come = 1000ms, .in_a_step = 1000ms, .interface = {}};

/// What `ranks` processes that run `body` fail with.
std::string failure_of(int ranks, std::function<void(launch::Launch const&)> const& body) {
  try {
    launch::run_local_ranks(ranks, body);
  } catch (InputError const& error) {
    return error.what();
  }
  return "";
}

void run(cpu::GlooJob& job, program::StepProgram const& program) {
  auto environment = cpu::Environment{};
  static_cast<void>(job.run(program, environment));
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) != -1;
}

}  // namespace

TEST_CASE("a killed rank is named, and nothing is left behind", "[gloo][failures]") {
  auto const message = failure_of(3, [](launch::Launch const& launch) {
    auto job = cpu::GlooJob{launch};
    if (launch.process == 1) ::raise(SIGKILL);
    run(job, in_place_all_reduce(3, 1000));
  });
  CHECK(message == "rank 1 was killed by signal 9 (Killed)");
  CHECK_FALSE(has_children());
}

TEST_CASE("the folder where ranks meet goes with a rank 0 that a signal ends", "[gloo][failures]") {
  for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGKILL}) {
    auto const folder = Scratch{};
    auto const caller = ::fork();
    if (caller == 0) {
      ::setenv("TMPDIR", folder.path("").c_str(), 1);
      ::signal(signal, SIG_DFL);
      launch::run_local_ranks(3, [&](launch::Launch const& launch) {
        auto job = cpu::GlooJob{launch};
        if (launch.process == 0 && !folder.files().empty()) ::raise(signal);
        run(job, in_place_all_reduce(3, 1000));  // the others are there until rank 0 is not
      });
      ::_exit(0);
    }
    auto status = 0;
    REQUIRE(::waitpid(caller, &status, 0) == caller);
    REQUIRE(WIFSIGNALED(status));
    for (auto const give_up = std::chrono::steady_clock::now() + 60s;
         !folder.files().empty() && std::chrono::steady_clock::now() < give_up;)
      std::this_thread::sleep_for(1ms);
    CHECK(folder.files().empty());
  }
}

TEST_CASE("the others hear from the network who died", "[gloo][failures]") {
  auto const folder = Scratch{};
  static_cast<void>(failure_of(3, [&](launch::Launch const& launch) {
    try {
      auto job = cpu::GlooJob{launch};  // the others may still be at it when rank 1 dies
      if (launch.process == 1) ::raise(SIGKILL);
      run(job, in_place_all_reduce(3, 1000));
    } catch (InputError const& error) {
      folder.write(std::to_string(launch.process), error.what());
    }
  }));
  for (auto const* rank : {"0", "2"}) {
    auto const message = read_file(folder.path(rank));
    CHECK_THAT(message, Catch::StartsWith("rank 1 ("));
    CHECK_THAT(message, Catch::EndsWith(", 127.0.0.1) died: its connection is closed"));
  }
}

TEST_CASE("a rank that never comes is named", "[gloo][failures]") {
  auto const message = failure_of(3, [](launch::Launch const& launch) {
    if (launch.process == 2) return;
    auto const job = cpu::GlooJob{launch, kShort};
  });
  CHECK_THAT(message, Catch::StartsWith("rank 2 did not come to "));
  CHECK_THAT(message, Catch::Contains("within 1 s; start all 3 processes"));
}

TEST_CASE("a rank that is silent in a step is named, with what waits for it", "[gloo][failures]") {
  auto const message = failure_of(3, [](launch::Launch const& launch) {
    auto job = cpu::GlooJob{launch, kShort};
    run(job, in_place_all_reduce(3, 10));
    if (launch.process == 2) std::this_thread::sleep_for(4s);
    run(job, in_place_all_reduce(3, 10));
  });
  CHECK_THAT(message, Catch::StartsWith("no sign of rank 2 ("));
  CHECK_THAT(message, Catch::Contains("for 1 s, while rank 0 waits for rank 2 ("));
}

TEST_CASE("the reason of a rank that fails by itself reaches the others", "[gloo][failures]") {
  auto const folder = Scratch{};
  auto const message = failure_of(2, [&](launch::Launch const& launch) {
    auto job = cpu::GlooJob{launch};
    auto environment = cpu::Environment{[&](program::FreshBuffer const& buffer, std::span<double>) {
      if (buffer.rank == RankId{1}) throw InputError{"numbers.txt: cannot be read"};
    }};
    try {
      static_cast<void>(job.run(one_collective(CollectiveKind::kAllReduce, 2, 10), environment));
    } catch (InputError const& error) {
      folder.write(std::to_string(launch.process), error.what());
      throw;
    }
  });
  CHECK_THAT(message, Catch::Contains("rank 1 failed: numbers.txt: cannot be read"));
  CHECK(read_file(folder.path("1")) == "numbers.txt: cannot be read");
}

TEST_CASE("a program for another number of ranks is refused before anything runs", "[gloo][failures]") {
  CHECK(failure_of(2, [](launch::Launch const& launch) {
          auto job = cpu::GlooJob{launch};
          run(job, in_place_all_reduce(3, 10));
        }) == "the program is for 3 ranks, but 2 processes run it; start 3");
}

TEST_CASE("a place to meet that is none is refused", "[gloo][failures]") {
  auto const join = [](std::string place, int process = 1) {
    auto const launch =
        launch::Launch{.process = process, .processes = 2, .local_process = 0, .job = "", .meeting_place = place};
    auto const job = cpu::GlooJob{launch, kShort};
  };
  auto const folder = Scratch{};
  CHECK_THROWS_WITH(join(""), Catch::StartsWith("MASTER_ADDR is not set"));
  CHECK_THROWS_WITH(join(folder.path("nothing")), Catch::Contains("there is no such folder"));
  CHECK_THROWS_WITH(join("127.0.0.1:1"), Catch::StartsWith("127.0.0.1:1: nobody answers within 1 s"));
  folder.write("here.1", "node7\n10.0.0.7\nclock\nnode\n");
  CHECK_THROWS_WITH(join(folder.path("")), Catch::Contains("rank 1 is there already"));
}
