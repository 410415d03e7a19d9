#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/kinds.hpp"

namespace twinstep::cuda {

/// What was asked for needs something that this machine or this build lacks: a GPU, its driver, NCCL. One line that
/// begins with "found no …" and ends with the way out; the program exits with 3.
class Absent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call to the GPU or to the collective library failed. One line: the call and what it said.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The ranks of a communicator that one process drives: [first_rank, first_rank + local_ranks), on the devices from
/// first_device on.
struct Ranks {
  int world = 1;
  int local_ranks = 1;
  int first_rank = 0;
  int first_device = 0;
};

/// One rank's part in a collective of fp32 elements that are summed or moved. Device pointers; `count` is what the
/// library's call names: elements of each rank's share where there are shares, of the whole buffer elsewhere.
struct CollectiveCall {
  program::CollectiveKind kind{};
  void const* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  int root = 0;
};

/// The dozen calls that a benchmark of collectives makes, each for one of this process's ranks (counted from 0, not
/// from Ranks::first_rank). Implemented by CUDA and NCCL, and by a fake on host memory for tests.
class DeviceApi {
 public:
  DeviceApi() = default;
  DeviceApi(DeviceApi const&) = delete;
  DeviceApi& operator=(DeviceApi const&) = delete;
  virtual ~DeviceApi() = default;

  // The machine. Needs no communicator.
  [[nodiscard]] virtual int device_count() = 0;  ///< throws Absent where there is none
  [[nodiscard]] virtual std::string device_name(int device) = 0;
  [[nodiscard]] virtual std::string library_version() = 0;  ///< "2.28.7"
  /// What one process makes and every other needs in order to meet it.
  [[nodiscard]] virtual std::vector<char> make_meeting_id() = 0;

  /// Makes the communicator, and a stream for each local rank. `meeting_id` may be empty where one process has all
  /// ranks.
  virtual void connect(Ranks const& ranks, std::vector<char> const& meeting_id) = 0;

  // Memory.
  [[nodiscard]] virtual void* allocate(int rank, Bytes size) = 0;
  virtual void release(int rank, void* memory) = 0;
  virtual void upload(int rank, void* to, std::span<float const> from) = 0;
  virtual void download(int rank, std::span<float> to, void const* from) = 0;

  // The stream of a rank. What stands between begin_group and end_group is launched together.
  virtual void begin_group() = 0;
  virtual void end_group() = 0;
  virtual void launch(int rank, CollectiveCall const& call) = 0;
  virtual void start_clock(int rank) = 0;
  virtual void stop_clock(int rank) = 0;
  /// Waits for everything on the stream.
  virtual void wait(int rank) = 0;
  /// Between the start and the stop, which have both been reached.
  [[nodiscard]] virtual Duration elapsed(int rank) = 0;
};

}  // namespace twinstep::cuda
