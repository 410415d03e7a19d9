#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using engine::EventKind;
using engine::EventQueue;

TEST_CASE("events come in the order of time, and of insertion at one moment", "[engine][queue]") {
  auto queue = EventQueue{};
  queue.add(5_us, EventKind::kOperationEnds, 1);
  queue.add(3_us, EventKind::kOperationEnds, 2);
  queue.add(5_us, EventKind::kOperationEnds, 3);
  CHECK(queue.take()->subject == 2);
  CHECK_FALSE(queue.has_more_now());
  queue.add(5_us, EventKind::kOperationEnds, 4);
  CHECK(queue.take()->subject == 1);
  CHECK(queue.has_more_now());
  CHECK(queue.take()->subject == 3);
  CHECK(queue.take()->subject == 4);
  CHECK(queue.take() == nullptr);
}

TEST_CASE("a queue of random events is a stable sort by time", "[engine][queue]") {
  auto random = std::mt19937_64{7};
  auto queue = EventQueue{};
  auto expected = std::vector<std::pair<Time, std::uint32_t>>{};
  auto taken = expected;
  auto now = Time{};
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    // Few distinct moments, near and far.
    auto const time = now + Duration{static_cast<std::int64_t>((random() % 20) << (random() % 30))};
    queue.add(time, EventKind::kLatencyOver, i);
    expected.emplace_back(time, i);
    if (random() % 3 != 0) continue;
    auto const* const event = queue.take();
    now = event->time;
    taken.emplace_back(event->time, event->subject);
  }
  while (auto const* const event = queue.take()) taken.emplace_back(event->time, event->subject);
  std::ranges::stable_sort(expected, {}, [](auto const& each) { return each.first; });
  CHECK(taken == expected);
}
