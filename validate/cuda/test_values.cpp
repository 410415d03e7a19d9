#include "validate/cuda/test_values.hpp"

#include "sim/base/check.hpp"

namespace twinstep::cuda {

namespace {
constexpr int kRoot = 0;
}

TestValues::TestValues(CollectiveKind kind, int world, std::size_t count)
    : kind_{kind}, world_{world}, count_{count}, sums_(kPeriod) {
  for (int rank = 0; rank < world; ++rank)
    for (std::size_t i = 0; i < kPeriod; ++i) sums_[i] += sent(rank, i);
}

float TestValues::received(int rank, std::size_t i) const {
  auto const share = static_cast<int>(i / count_);           // of what is cut in shares: whose
  auto const at = i % count_;                                // … and where in it
  auto const own = static_cast<std::size_t>(rank) * count_;  // where this rank's share begins on the large side
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce: return sums_[i % kPeriod];
    case CollectiveKind::kBroadcast: return sent(kRoot, i);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return sent(share, at);
    case CollectiveKind::kReduceScatter: return sums_[(own + i) % kPeriod];
    case CollectiveKind::kScatter: return sent(kRoot, own + i);
    case CollectiveKind::kAllToAll: return sent(share, own + at);
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

std::size_t TestValues::sends(int rank) const {
  auto const all = count_ * static_cast<std::size_t>(world_);
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return count_;
    case CollectiveKind::kBroadcast: return rank == kRoot ? count_ : 0;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return all;
    case CollectiveKind::kScatter: return rank == kRoot ? all : 0;
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

std::size_t TestValues::receives(int rank) const {
  auto const all = count_ * static_cast<std::size_t>(world_);
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter: return count_;
    case CollectiveKind::kReduce: return rank == kRoot ? count_ : 0;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return all;
    case CollectiveKind::kGather: return rank == kRoot ? all : 0;
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

}  // namespace twinstep::cuda
