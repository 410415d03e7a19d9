#include "validate/cuda/collective_calls.hpp"

#include "sim/base/check.hpp"

namespace twinstep::cuda {
namespace {

/// One request on its way to the library.
class Lowering {
 public:
  Lowering(DeviceApi& device, DeviceCommunicator& communicator, DeviceStream& stream, CollectiveRequest const& request)
      : device_{device}, communicator_{communicator}, stream_{stream}, request_{request} {}

  void run() const {
    auto const has_equal_parts = request_.elements % request_.size == 0;
    switch (request_.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kReduce:
        return call(request_.kind, request_.send, request_.receive, request_.elements, request_.root);
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        if (has_equal_parts)
          return call(request_.kind, request_.send, request_.receive, request_.elements / request_.size, 0);
        return part_by_part();
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter:
      case CollectiveKind::kAllToAll: return send_and_receive();
    }
    TWINSTEP_UNREACHABLE("a collective has a kind");
  }

 private:
  [[nodiscard]] std::int64_t begin(int place) const { return chunk_begin(request_.elements, request_.size, place); }
  [[nodiscard]] std::int64_t count(int place) const { return begin(place + 1) - begin(place); }
  [[nodiscard]] std::size_t offset(std::int64_t elements) const {
    return static_cast<std::size_t>((size_of(request_.type) * elements).count());
  }
  [[nodiscard]] void const* sent(std::int64_t first) const {
    return static_cast<std::byte const*>(request_.send) + offset(first);
  }
  [[nodiscard]] void* received(std::int64_t first) const {
    return static_cast<std::byte*>(request_.receive) + offset(first);
  }

  void call(CollectiveKind kind, void const* send, void* receive, std::int64_t elements, int root) const {
    if (elements == 0) return;
    device_.communicate(communicator_, stream_,
                        {.kind = kind,
                         .reduction = request_.reduction,
                         .type = request_.type,
                         .send = send,
                         .receive = receive,
                         .count = elements,
                         .root = root});
  }
  void send(void const* from, std::int64_t elements, int peer) const {
    if (elements > 0) device_.send(communicator_, stream_, from, elements, request_.type, peer);
  }
  void receive(void* to, std::int64_t elements, int peer) const {
    if (elements > 0) device_.receive(communicator_, stream_, to, elements, request_.type, peer);
  }

  void part_by_part() const {
    device_.begin_group();
    for (int place = 0; place < request_.size; ++place) {
      if (request_.kind == CollectiveKind::kAllGather)
        call(CollectiveKind::kBroadcast, request_.send, received(begin(place)), count(place), place);
      else
        call(CollectiveKind::kReduce, sent(begin(place)), request_.receive, count(place), place);
    }
    device_.end_group();
  }

  void send_and_receive() const {
    device_.begin_group();
    if (request_.kind == CollectiveKind::kAllToAll) exchange_all();
    if (request_.kind == CollectiveKind::kGather) send(request_.send, count(request_.place), request_.root);
    for (int peer = 0; request_.place == request_.root && peer < request_.size; ++peer) {
      if (request_.kind == CollectiveKind::kGather) receive(received(begin(peer)), count(peer), peer);
      if (request_.kind == CollectiveKind::kScatter) send(sent(begin(peer)), count(peer), peer);
    }
    if (request_.kind == CollectiveKind::kScatter) receive(request_.receive, count(request_.place), request_.root);
    device_.end_group();
  }

  /// Chunk r of what place s sends goes to place r, which receives the chunks in the order of s.
  void exchange_all() const {
    auto first = std::int64_t{0};
    for (int peer = 0; peer < request_.size; ++peer) {
      send(sent(begin(peer)), count(peer), peer);
      auto const theirs =
          request_.elements_of.empty() ? request_.elements : request_.elements_of[static_cast<std::size_t>(peer)];
      auto const elements =
          chunk_begin(theirs, request_.size, request_.place + 1) - chunk_begin(theirs, request_.size, request_.place);
      receive(received(first), elements, peer);
      first += elements;
    }
  }

  DeviceApi& device_;
  DeviceCommunicator& communicator_;
  DeviceStream& stream_;
  CollectiveRequest const& request_;
};

}  // namespace

void communicate(DeviceApi& device, DeviceCommunicator& communicator, DeviceStream& stream,
                 CollectiveRequest const& request) {
  Lowering{device, communicator, stream, request}.run();
}

}  // namespace twinstep::cuda
