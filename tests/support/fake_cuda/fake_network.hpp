#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/fake_stream.hpp"
#include "validate/cuda/device_api.hpp"

namespace twinstep::tests {

/// One rank's part in a collective, or one end of a message: then `call.kind` means nothing and `call.root` is the
/// peer.
struct FakePart {
  cuda::CollectiveCall call;
  bool is_message = false;
  bool sends = false;
};

/// A communicator as all of its ranks see it: what has been issued on it meets here, by order of issue.
struct FakeGroup {
  /// Which meeting: the number of a collective, or of a message between two places.
  struct Key {
    int from = -1;
    int to = -1;
    int number = 0;
    auto operator<=>(Key const&) const = default;
  };
  struct Meeting {
    std::vector<std::optional<FakePart>> parts;  ///< by place; of a message sender and receiver
    std::size_t arrived = 0;
    Time begin;  ///< when the last one came
    bool is_over = false;
    Time end;
  };

  explicit FakeGroup(int ranks) : size{ranks} {}
  int size;
  bool is_aborted = false;
  std::map<Key, Meeting> meetings;
  int collectives = 0;  ///< that are over

  /// `place` comes to a meeting; the last one moves the data. A meeting takes 10 us and 1 ns for each byte of its
  /// largest buffer. Requires the machine's lock.
  Meeting& arrive(Key const& key, int place, FakePart const& part, Time now);
};

/// A rank's end of it.
struct FakeCommunicator final : cuda::DeviceCommunicator {
  FakeCommunicator(std::shared_ptr<FakeGroup> shared, int at, int on)
      : group{std::move(shared)}, place{at}, device{on} {}
  /// The meeting of the next call; only the thread of the rank calls it.
  FakeGroup::Key next(FakePart const& part);

  std::shared_ptr<FakeGroup> group;
  int place;
  int device;
  int splits = 0;
  std::map<std::pair<int, int>, int> issued;
};

}  // namespace twinstep::tests
