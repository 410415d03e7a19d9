#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/fake_network.hpp"
#include "validate/cuda/device_api.hpp"

namespace twinstep::tests {

/// One call to the collective library, in a group that is still open.
struct FakeCall {
  std::shared_ptr<FakeGroup> group;
  int place = 0;
  FakeStream* stream = nullptr;
  std::string name;
  FakePart part;
  FakeGroup::Key key;
};

/// GPUs and a collective library that are not there, for tests of what enqueues work on them. Streams are threads, so
/// what is not ordered really runs in any order; memory is the host's; arithmetic is done in double and rounded once.
///
/// Time is virtual, so a program always takes the same: a kernel takes 1 us, a copy 1 us and 1 ns for each byte, a
/// delay what it says, a collective what FakeGroup says; enqueuing costs the host nothing. It never produces a
/// measurement.
class FakeDevice final : public cuda::DeviceApi {
 public:
  explicit FakeDevice(int devices);
  ~FakeDevice() override;

  // What goes wrong from now on.
  /// Every collective leaves one wrong element in what `device` receives.
  void break_device(int device) { broken_device_ = device; }
  /// Communications of `device` never begin, but for the next `allowed` ones.
  void hang_device(int device, int allowed = 0) {
    allowed_ = allowed;
    hanging_device_ = device;
  }
  /// Calls of this name fail: at once, or later on their stream.
  void fail_at_once(std::string call) { failing_at_once_ = std::move(call); }
  void fail_later(std::string call) { failing_later_ = std::move(call); }

  // What has happened.
  [[nodiscard]] int collectives() const;
  [[nodiscard]] int live_allocations() const { return *live_allocations_; }
  /// What was enqueued on `device`, in order: "stream 1: wait for event 4". Streams and events count up as they are
  /// made.
  [[nodiscard]] std::vector<std::string> const& log(int device) const { return at(device).log; }

  int device_count() override { return static_cast<int>(devices_.size()); }
  cuda::DeviceFacts facts(int device) override;
  std::optional<cuda::DeviceHealth> health(int device) override { return at(device).health; }
  void set_health(int device, cuda::DeviceHealth health) { at(device).health = std::move(health); }
  std::string library_version() override { return "0.0.1"; }
  Time now(int device) override { return at(device).host; }
  void sleep(int device, Duration duration) override { at(device).host += duration; }
  std::unique_ptr<cuda::DeviceMemory> allocate(int device, Bytes size, cuda::MemoryPlace place) override;
  std::unique_ptr<cuda::DeviceStream> make_stream(int device) override;
  std::unique_ptr<cuda::DeviceEvent> make_event(int device) override;
  void record(cuda::DeviceEvent& event, cuda::DeviceStream& stream) override;
  void wait(cuda::DeviceStream& stream, cuda::DeviceEvent const& event) override;
  bool has_happened(cuda::DeviceEvent const& event) override;
  Duration elapsed(cuda::DeviceEvent const& from, cuda::DeviceEvent const& to) override;
  void copy(cuda::DeviceStream& stream, void* to, void const* from, Bytes size) override;
  void fill_bytes(cuda::DeviceStream& stream, void* to, std::uint8_t value, Bytes size) override;
  void multiply(cuda::DeviceStream& stream, program::Gemm const& gemm, void const* a, void const* b, void* c) override;
  void compute(cuda::DeviceStream& stream, cuda::Kernel const& kernel) override;
  void delay(cuda::DeviceStream& stream, Duration duration) override;
  std::vector<char> make_meeting_id() override;
  void begin_group() override;
  void end_group() override;
  std::unique_ptr<cuda::DeviceCommunicator> join(int device, int world, int rank,
                                                 std::vector<char> const& meeting_id) override;
  std::unique_ptr<cuda::DeviceCommunicator> split(cuda::DeviceCommunicator& communicator, int colour,
                                                  int place) override;
  void communicate(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream,
                   cuda::CollectiveCall const& call) override;
  void send(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, void const* from, std::int64_t count,
            DataType type, int peer) override;
  void receive(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, void* to, std::int64_t count,
               DataType type, int peer) override;
  void abort(cuda::DeviceCommunicator& communicator) override;

 private:
  /// Used by the thread that drives the device.
  struct Device {
    Time host;
    int streams = 0;
    int events = 0;
    std::optional<cuda::DeviceHealth> health;
    std::vector<std::string> log;
  };
  struct World {
    std::shared_ptr<FakeGroup> group;
    int arrived = 0;
  };
  /// What ranks that split a communicator agree on.
  struct Split {
    int arrived = 0;
    std::map<int, std::shared_ptr<FakeGroup>> groups;  // by colour
  };
  [[nodiscard]] Device& at(int device) { return devices_[static_cast<std::size_t>(device)]; }
  [[nodiscard]] Device const& at(int device) const { return devices_[static_cast<std::size_t>(device)]; }
  void enqueue(cuda::DeviceStream& stream, std::string const& call, FakeStream::Task task);
  void add_call(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, std::string name,
                FakePart const& part);
  [[nodiscard]] Time meet(FakeStream& stream, std::vector<FakeCall> const& calls, Time begin);

  FakeMachine machine_;
  std::vector<Device> devices_;
  std::atomic<int> broken_device_ = -1;
  std::atomic<int> hanging_device_ = -1;
  int allowed_ = 0;  // of its communications; guarded by the machine
  std::string failing_at_once_;
  std::string failing_later_;
  std::shared_ptr<std::atomic<int>> live_allocations_ = std::make_shared<std::atomic<int>>(0);
  int meeting_ids_ = 0;
  int waiting_ = 0;  // threads in join
  bool is_ending_ = false;
  std::vector<std::shared_ptr<FakeGroup>> groups_;
  std::map<std::vector<char>, World> worlds_;
  std::map<std::pair<FakeGroup*, int>, Split> splits_;
};

}  // namespace twinstep::tests
