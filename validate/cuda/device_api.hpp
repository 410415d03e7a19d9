#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/units.hpp"
#include "sim/program/kinds.hpp"
#include "sim/program/operation.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::cuda {

/// A call to the GPU or to the collective library failed. One line: the call and what it said.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a GPU is, as its driver says.
struct DeviceFacts {
  std::string name;
  std::string compute_capability;  ///< "9.0"
  std::int64_t multiprocessors = 0;
  Bytes memory;
  Bytes l2_cache;
};

/// How fast a GPU may run at this moment, and what holds it back.
struct DeviceHealth {
  std::int64_t multiprocessor_clock_mhz = 0;
  std::int64_t memory_clock_mhz = 0;
  std::int64_t temperature_celsius = 0;
  std::vector<std::string> throttled_by;  ///< "power cap", "heat", …; idling is none of these
};

enum class MemoryPlace : std::uint8_t { kDevice, kPinnedHost };

/// What belongs to a device and is given back when it is destroyed. Implementations derive from these.
struct DeviceMemory {
  virtual ~DeviceMemory() = default;
  [[nodiscard]] virtual std::byte* data() const = 0;
};
struct DeviceStream {
  virtual ~DeviceStream() = default;
};
struct DeviceEvent {
  virtual ~DeviceEvent() = default;
};
struct DeviceCommunicator {
  virtual ~DeviceCommunicator() = default;
};

/// One operand of a kernel: elements of one type in the memory of the stream's device.
struct Operand {
  void* memory = nullptr;
  std::int64_t elements = 0;
  DataType type = DataType::kFp32;
  bool is_read = true;
  bool is_written = false;
};

/// A memory-bound kernel with its operands in the order that program::Function documents. Where the function only has
/// a cost, `traffic` bytes move between the operands and the processor, and what is written means nothing; a device may
/// do the same for what transformers compute.
struct Kernel {
  program::Function function{};
  DataType type = DataType::kFp32;  ///< in which it computes
  double scalar = 1;
  std::int64_t elements = 0;
  bool accumulate = false;
  program::RowShape rows = {};
  Bytes traffic = {};
  int launches = 1;  ///< kernels among which the traffic of a function that only has a cost is divided
  program::AdamWSettings adamw = {};
  std::int64_t step = 1;  ///< of AdamW, from 1
  std::span<Operand const> operands;
};

/// One rank's part in one of the five collectives that the library has kernels for: not gather, scatter, all_to_all.
/// `count` is what the library's call names: elements of each rank's share where there are shares, of the whole buffer
/// elsewhere. Shares are equal.
struct CollectiveCall {
  CollectiveKind kind{};
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kFp32;
  void const* send = nullptr;
  void* receive = nullptr;
  std::int64_t count = 0;
  int root = 0;
};

/// The calls to GPUs and to their collective library that measuring makes. Implemented by CUDA, cuBLAS and NCCL, and
/// by a double on host memory for tests.
///
/// What takes a stream is only enqueued. Every call may be made by several threads at once, as long as each device
/// and its streams, events and communicators are used by one thread at a time. All throw DeviceError.
class DeviceApi {
 public:
  DeviceApi() = default;
  DeviceApi(DeviceApi const&) = delete;
  DeviceApi& operator=(DeviceApi const&) = delete;
  virtual ~DeviceApi() = default;

  // The machine.
  [[nodiscard]] virtual int device_count() = 0;  ///< throws twinstep::Absent where there is none
  [[nodiscard]] virtual DeviceFacts facts(int device) = 0;
  /// Nothing where the machine does not tell.
  [[nodiscard]] virtual std::optional<DeviceHealth> health(int device) = 0;
  [[nodiscard]] virtual std::string library_version() = 0;  ///< of the collective library: "2.28.7"

  // The clock of the host thread that drives a device. Only differences mean something.
  [[nodiscard]] virtual Time now(int device) = 0;
  virtual void sleep(int device, Duration duration) = 0;

  // Memory. Its content is whatever was there.
  [[nodiscard]] virtual std::unique_ptr<DeviceMemory> allocate(int device, Bytes size, MemoryPlace place) = 0;

  // Streams and events.
  [[nodiscard]] virtual std::unique_ptr<DeviceStream> make_stream(int device) = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceEvent> make_event(int device) = 0;
  virtual void record(DeviceEvent& event, DeviceStream& stream) = 0;
  /// What comes later on `stream` waits for what `event` recorded last; also of another stream of the device.
  virtual void wait(DeviceStream& stream, DeviceEvent const& event) = 0;
  /// Whether what `event` recorded last has been reached. Also throws what failed on the device since.
  [[nodiscard]] virtual bool has_happened(DeviceEvent const& event) = 0;
  /// Between two events of one device that have happened.
  [[nodiscard]] virtual Duration elapsed(DeviceEvent const& from, DeviceEvent const& to) = 0;

  // Work. Memory is that of the stream's device, pinned host memory, or (for copies) any that it can reach.
  virtual void copy(DeviceStream& stream, void* to, void const* from, Bytes size) = 0;
  virtual void fill_bytes(DeviceStream& stream, void* to, std::uint8_t value, Bytes size) = 0;
  /// Row-major, as program::Gemm says.
  virtual void multiply(DeviceStream& stream, program::Gemm const& gemm, void const* a, void const* b, void* c) = 0;
  virtual void compute(DeviceStream& stream, Kernel const& kernel) = 0;
  /// Keeps the stream busy for `duration`, and nothing else.
  virtual void delay(DeviceStream& stream, Duration duration) = 0;

  // Communication. What stands between begin_group and end_group, on one thread, is one operation; a call outside is
  // one by itself. Joining and splitting return when all ranks have come.
  /// What one process makes and every other needs in order to meet it.
  [[nodiscard]] virtual std::vector<char> make_meeting_id() = 0;
  virtual void begin_group() = 0;
  virtual void end_group() = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceCommunicator> join(int device, int world, int rank,
                                                                 std::vector<char> const& meeting_id) = 0;
  /// The ranks with the same colour, in the order of `place`. Every rank of `communicator` calls it.
  [[nodiscard]] virtual std::unique_ptr<DeviceCommunicator> split(DeviceCommunicator& communicator, int colour,
                                                                  int place) = 0;
  virtual void communicate(DeviceCommunicator& communicator, DeviceStream& stream, CollectiveCall const& call) = 0;
  virtual void send(DeviceCommunicator& communicator, DeviceStream& stream, void const* from, std::int64_t count,
                    DataType type, int peer) = 0;
  virtual void receive(DeviceCommunicator& communicator, DeviceStream& stream, void* to, std::int64_t count,
                       DataType type, int peer) = 0;
  /// Ends what the communicator's rank has in flight, which has failed then. Never throws.
  virtual void abort(DeviceCommunicator& communicator) = 0;
};

}  // namespace twinstep::cuda
