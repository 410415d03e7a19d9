#include <chrono>
#include <thread>
#include <unistd.h>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/cpu/gloo/socket.hpp"
#include "validate/cpu/gloo/word_store.hpp"
#include "validate/launch/local_ranks.hpp"

using namespace twinstep;
using namespace twinstep::cpu;
using namespace std::chrono_literals;

namespace {

/// A port that nobody listens at.
std::string free_port() {
  for (auto port = 41'000 + static_cast<int>(::getpid() % 5'000); true; ++port) {
    try {
      auto const socket = listen_at(std::to_string(port));
      return std::to_string(port);
    } catch (InputError const&) {
    }
  }
}

}  // namespace

TEST_CASE("a word left in the store of process 0 is there for all", "[gloo][store]") {
  auto const port = free_port();
  auto const first = open_tcp_store("127.0.0.1", port, true, 1000ms);
  auto const second = open_tcp_store("localhost", port, false, 1000ms);
  second->leave("key", std::string{"a word\0\n", 8});
  CHECK(first->look_up("key") == std::string{"a word\0\n", 8});
  CHECK(second->look_up("other") == std::nullopt);
  auto late = std::jthread{[&] {
    std::this_thread::sleep_for(20ms);
    first->leave("other", "");
  }};
  CHECK(second->look_up("other", 10s) == "");
}

TEST_CASE("a port where somebody else answers is no store", "[gloo][store]") {
  auto const port = free_port();
  auto const other = listen_at(port);
  auto answering = std::jthread{[&] {
    auto const client = other.accept();
    static_cast<void>(client.send("HTTP/1.1 400 Bad Request\r\n\r\n"));
    static_cast<void>(client.receive(17));
  }};
  CHECK_THROWS_WITH(open_tcp_store("127.0.0.1", port, false, 1000ms),
                    Catch::Contains("what answers there is not process 0 of the job"));
  CHECK_THROWS_WITH(open_tcp_store("127.0.0.1", port, true, 1000ms), Catch::Contains("set MASTER_PORT to a free one"));
}

TEST_CASE("processes that meet at an address run like those that meet in a folder", "[gloo][store]") {
  auto const port = free_port();
  auto tracks = std::size_t{0};
  launch::run_local_ranks(3, [&](launch::Launch launch) {
    launch.meeting_place = "127.0.0.1:" + port;
    auto job = GlooJob{launch};
    auto environment = Environment{};
    auto const timeline = job.run(tests::in_place_all_reduce(3, 10), environment);
    if (launch.process == 0) tracks = timeline.tracks.size();
  });
  CHECK(tracks == 3);
}

// The other clock is 5 s ahead. An answer that takes 1 ms there and 3 ms back looks 1 ms early; one of 100 us each way
// is exact and has the smallest round trip.
TEST_CASE("the quickest answer tells how far a clock is ahead", "[gloo][clock]") {
  auto time = 0ns;
  auto question = 0;
  auto const offset = clock_offset([&] { return time; },
                                   [&] {
                                     auto const is_quick = question++ == 7;
                                     time += is_quick ? 100us : 1ms;
                                     auto const answer = time + 5s;
                                     time += is_quick ? 100us : 3ms;
                                     return std::chrono::nanoseconds{answer};
                                   });
  CHECK(offset == 5s);
  CHECK(question == kClockQuestions);
}
