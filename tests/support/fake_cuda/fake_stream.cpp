#include "tests/support/fake_cuda/fake_stream.hpp"

#include <algorithm>

namespace twinstep::tests {

FakeStream::FakeStream(FakeMachine& machine, int device, std::string name)
    : machine_{machine}, device_{device}, name_{std::move(name)}, thread_{[this] { run(); }} {}

FakeStream::~FakeStream() {
  auto const lock = std::scoped_lock{machine_.mutex};
  is_ending_ = true;
  machine_.changed.notify_all();
}

void FakeStream::enqueue(Time now, Task task) {
  auto const lock = std::scoped_lock{machine_.mutex};
  queue_.push_back({now, std::move(task)});
  machine_.changed.notify_all();
}

void FakeStream::wait(std::unique_lock<std::mutex>& lock, std::function<bool()> const& is_over) {
  machine_.changed.wait(lock, [&] { return is_over() || (is_ending_ && queue_.empty()); });
  if (!is_over()) throw cuda::DeviceError{"the stream ended"};
}

void FakeStream::run() {
  while (true) {
    auto next = Entry{};
    {
      auto lock = std::unique_lock{machine_.mutex};
      machine_.changed.wait(lock, [&] { return !queue_.empty() || is_ending_; });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    run_next(next);
  }
}

/// After a failure everything is still run, so that marks are set: they look at the failure.
void FakeStream::run_next(Entry const& entry) {
  auto end = std::max(now_, entry.enqueued);
  auto failure = std::string{};
  try {
    end = entry.task(end);
  } catch (cuda::DeviceError const& error) {
    failure = error.what();
  }
  auto const lock = std::scoped_lock{machine_.mutex};
  now_ = end;
  if (failure_.empty()) failure_ = failure;
  machine_.changed.notify_all();
}

}  // namespace twinstep::tests
