#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "validate/cuda/device_api.hpp"

namespace twinstep::tests {

/// What all streams of a fake machine share: one lock for all of their state.
struct FakeMachine {
  std::mutex mutex;
  std::condition_variable changed;
};

/// A moment on a stream, once it has been reached.
struct FakeMark {
  bool has_happened = false;
  std::string failure;  ///< of the stream before it
  Time time;
};

/// A stream: a thread that runs what it is given in order, on a virtual clock. A task gets the time at which it begins
/// and says when it ends; it begins when the one before it has ended, and not before the host enqueued it.
class FakeStream final : public cuda::DeviceStream {
 public:
  using Task = std::function<Time(Time begin)>;

  FakeStream(FakeMachine& machine, int device, std::string name);
  ~FakeStream() override;

  void enqueue(Time now, Task task);
  /// Waits on the stream's thread until `is_over`, under the machine's lock. Throws DeviceError when the stream ends.
  void wait(std::unique_lock<std::mutex>& lock, std::function<bool()> const& is_over);
  /// What went wrong on the stream; empty while nothing has. Requires the lock.
  [[nodiscard]] std::string const& failure() const { return failure_; }
  [[nodiscard]] FakeMachine& machine() { return machine_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] std::string const& name() const { return name_; }

 private:
  struct Entry {
    Time enqueued;
    Task task;
  };
  void run();
  void run_next(Entry const& entry);

  FakeMachine& machine_;
  int device_;
  std::string name_;
  std::deque<Entry> queue_;
  bool is_ending_ = false;
  std::string failure_;
  Time now_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace twinstep::tests
