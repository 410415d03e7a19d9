#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// The ranks that this process drives: [first_rank, first_rank + local_ranks), on the devices from first_device on.
struct Ranks {
  int world = 1;
  int local_ranks = 1;
  int first_rank = 0;
  int first_device = 0;

  [[nodiscard]] int device_of(int local) const { return first_device + local; }
  [[nodiscard]] int rank_of(int local) const { return first_rank + local; }
};

/// The ranks of this process, joined with all ranks of the job.
struct Connection {
  /// By rank of the world: which group, and where in it; and which one of several communicators of the same groups.
  using Key = std::tuple<std::vector<int>, std::vector<int>, int>;

  Ranks ranks;
  std::vector<std::unique_ptr<DeviceCommunicator>> worlds;                      ///< by local rank
  std::vector<std::map<Key, std::unique_ptr<DeviceCommunicator>>> splits = {};  ///< by local rank; made when needed
};

/// Returns when all ranks of the job have come. `meeting_id` may be empty where this process has all of them. Throws
/// DeviceError where they have not come after `patience`; then threads are left behind, and the process had better end.
[[nodiscard]] Connection connect(DeviceApi& device, Ranks const& ranks, std::vector<char> const& meeting_id,
                                 Seconds patience = Seconds{60});

/// The communicator that puts ranks of one colour together, split off the world when it is first asked for. Making one
/// takes as long as meeting all ranks does, so they are kept. All ranks ask for the same ones in the same order.
[[nodiscard]] DeviceCommunicator& communicator_of(DeviceApi& device, Connection& connection, int local,
                                                  std::vector<int> const& colours, std::vector<int> const& places,
                                                  int ordinal);

}  // namespace twinstep::cuda
