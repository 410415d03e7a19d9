#include "sim/engine/fluid_network.hpp"

#include <map>
#include <vector>

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using engine::FluidNetwork;
using engine::Use;

namespace {

/// A network with a clock: runs until every activity has ended and tells when each did.
class Run {
 public:
  std::uint32_t resource(BytesPerSecond rate) { return network_.add_resource(rate); }

  std::uint32_t start(std::vector<Use> const& uses, Duration least = {}, double flow = 0) {
    auto const activity = network_.start(now_, now_, {uses, flow, least});
    settle();
    return activity;
  }
  void change_least(std::uint32_t activity, std::vector<Use> const& uses, Duration least) {
    network_.change_least(activity, now_, {uses, 0, least});
    settle();
  }
  /// Advances to the next end, and ends that activity.
  Time next_end() {
    auto first = ends_.begin();
    for (auto it = ends_.begin(); it != ends_.end(); ++it)
      if (it->second < first->second) first = it;
    now_ = first->second;
    network_.stop(first->first);
    ends_.erase(first);
    settle();
    return now_;
  }
  void advance_to(Time now) { now_ = now; }
  [[nodiscard]] Time end_of(std::uint32_t activity) const { return ends_.at(activity); }

 private:
  void settle() {
    network_.settle(now_, [this](std::uint32_t activity, Time end) { ends_[activity] = end; });
  }
  FluidNetwork network_;
  std::map<std::uint32_t, Time> ends_;
  Time now_;
};

}  // namespace

TEST_CASE("two flows on one link each get half of it", "[engine][network]") {
  // 100 GB/s. Max-min fairness gives 50 GB/s each until the short one ends at 2 ms; the long one then runs alone:
  // 100 MB at 50 GB/s + 100 MB at 100 GB/s = 2 ms + 1 ms.
  auto run = Run{};
  auto const link = run.resource(100_GBps);
  run.start({{link, 100e6}});
  run.start({{link, 200e6}});
  CHECK(run.next_end() == 2_ms);
  CHECK(run.next_end() == 3_ms);
}

TEST_CASE("an activity with a limit of its own leaves the rest of a link to others", "[engine][network]") {
  // The first moves 10 MB and takes at least 1 ms: 10 GB/s of 100. The second gets the other 90 GB/s: 90 MB in 1 ms.
  auto run = Run{};
  auto const link = run.resource(100_GBps);
  auto const slow = run.start({{link, 10e6}}, 1_ms);
  auto const fast = run.start({{link, 90e6}});
  CHECK(run.end_of(slow) == 1_ms);
  CHECK(run.end_of(fast) == 1_ms);
}

TEST_CASE("two flows share a link by bytes, whatever each of them moves elsewhere", "[engine][network]") {
  // Both move 50 MB over a link of 100 GB/s: each has half of it, and all is over after 1 ms. That the one also moves
  // seven times as much over links of its own, and would be held back there if it were alone, is no reason to give it
  // less here: 350 MB at 360 GB/s take 0.97 ms.
  auto run = Run{};
  auto const shared = run.resource(100_GBps);
  auto const own = run.resource(360_GBps);
  auto const a = run.start({{shared, 50e6}, {own, 350e6}}, {}, 50e6);
  auto const b = run.start({{shared, 50e6}}, {}, 50e6);
  CHECK(run.end_of(a) == 1_ms);
  CHECK(run.end_of(b) == 1_ms);
}

TEST_CASE("four flows that are one activity have four parts of a link that they share with one", "[engine][network]") {
  // 50 GB/s for five flows: 10 GB/s each. 20 MB of each of the four, and 20 MB of the one, pass in 2 ms.
  auto run = Run{};
  auto const link = run.resource(50_GBps);
  auto const four = run.start({{link, 80e6}}, {}, 20e6);
  auto const one = run.start({{link, 20e6}});
  CHECK(run.end_of(four) == 2_ms);
  CHECK(run.end_of(one) == 2_ms);
}

TEST_CASE("a flow held back elsewhere does not hold back its neighbours", "[engine][network]") {
  // The classic: A on links 1 and 2, B on 1, C on 2. Link 1 has 10 GB/s, link 2 has 100 GB/s.
  // Link 1 fills first: A = B = 5 GB/s. C gets 100 - 5 = 95 GB/s.
  auto run = Run{};
  auto const one = run.resource(10_GBps);
  auto const two = run.resource(100_GBps);
  auto const a = run.start({{one, 5e6}, {two, 5e6}});
  auto const b = run.start({{one, 5e6}});
  auto const c = run.start({{two, 95e6}});
  CHECK(run.end_of(a) == 1_ms);
  CHECK(run.end_of(b) == 1_ms);
  CHECK(run.end_of(c) == 1_ms);
}

TEST_CASE("a flow that loads a resource lightly takes little of it", "[engine][network]") {
  // A puts 100 MB on a 100 GB/s NIC and 50 MB on memory (1,000 GB/s); B puts 950 MB on memory alone. A's rate is 100
  // GB/s, of memory it takes 50 GB/s, and B has 950 GB/s: both end at 1 ms.
  auto run = Run{};
  auto const nic = run.resource(100_GBps);
  auto const memory = run.resource(1000_GBps);
  auto const a = run.start({{nic, 100e6}, {memory, 50e6}});
  auto const b = run.start({{memory, 950e6}});
  CHECK(run.end_of(a) == 1_ms);
  CHECK(run.end_of(b) == 1_ms);
}

TEST_CASE("what starts elsewhere leaves a flow alone", "[engine][network]") {
  auto run = Run{};
  auto const one = run.resource(100_GBps);
  auto const two = run.resource(100_GBps);
  auto const a = run.start({{one, 100e6}});
  run.advance_to(333_us);
  auto const b = run.start({{two, 100e6}});
  CHECK(run.end_of(a) == 1_ms);
  CHECK(run.end_of(b) == 1333_us);
}

TEST_CASE("a flow that joins late slows the others from then on", "[engine][network]") {
  // A alone moves 40 MB in 400 us at 100 GB/s; then B joins. 60 MB of A at 50 GB/s: 1,200 us more.
  // B has moved 60 MB by then, and its last 40 MB run at 100 GB/s: 400 us more.
  auto run = Run{};
  auto const link = run.resource(100_GBps);
  run.start({{link, 100e6}});
  run.advance_to(400_us);
  run.start({{link, 100e6}});
  CHECK(run.next_end() == 1600_us);
  CHECK(run.next_end() == 2000_us);
}

TEST_CASE("an activity that gets another least time goes on with what is left of it", "[engine][network]") {
  // It would take 1 ms; after 500 us the half that is left takes half of 2 ms: until 1,500 us. After 1,000 us, when 3/4
  // of it are done, the last quarter takes a quarter of 1 ms: until 1,250 us.
  auto run = Run{};
  auto const uses = std::vector<Use>{{run.resource(100_GBps), 1e6}};
  auto const activity = run.start(uses, 1_ms);
  run.advance_to(500_us);
  run.change_least(activity, uses, 2_ms);
  CHECK(run.end_of(activity) == 1500_us);
  run.advance_to(1_ms);
  run.change_least(activity, uses, 1_ms);
  CHECK(run.next_end() == 1250_us);
}

TEST_CASE("what an activity takes less of, others have from then on", "[engine][network]") {
  // The first takes 40 MB in 1 ms, 40 of 100 GB/s, so the second has 60 GB/s and moves 30 MB by 500 us. From then on
  // the first would take 2 ms: 20 GB/s for the 20 MB that are left, until 1,500 us. The second has 80 GB/s for its
  // other 80 MB: until 1,500 us too. Then the first changes to 100 GB/s of its own, at 1 ms with 10 MB left: both share
  // the link at 50 GB/s, until 1,200 us, and the second moves its last 30 MB at 100 GB/s: until 1,500 us.
  auto run = Run{};
  auto const link = run.resource(100_GBps);
  auto const first = run.start({{link, 40e6}}, 1_ms);
  auto const second = run.start({{link, 110e6}});
  run.advance_to(500_us);
  run.change_least(first, {{link, 40e6}}, 2_ms);
  CHECK(run.end_of(first) == 1500_us);
  CHECK(run.end_of(second) == 1500_us);
  run.advance_to(1_ms);
  run.change_least(first, {{link, 40e6}}, {});
  CHECK(run.next_end() == 1200_us);
  CHECK(run.next_end() == 1500_us);
}
