#include "tests/support/fake_nccl/fake_device.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"

namespace twinstep::tests {

using cuda::CollectiveCall;
using program::CollectiveKind;

namespace {

using Values = std::vector<float>;

bool needs_shares(CollectiveKind kind, bool is_sender) {
  if (kind == CollectiveKind::kAllToAll) return true;
  if (is_sender) return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kScatter;
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
}

/// Element `i` of the sum of all ranks' buffers.
float sum_at(std::vector<Values> const& sent, std::size_t i) {
  return std::accumulate(sent.begin(), sent.end(), 0.0F,
                         [&](float sum, Values const& values) { return sum + values[i]; });
}

/// What rank `rank` has in the end, straight from MPI's definitions.
Values result_of(CollectiveCall const& call, std::vector<Values> const& sent, std::size_t rank) {
  auto const n = sent.size();
  auto const count = call.count;
  auto const root = static_cast<std::size_t>(call.root);
  auto result = Values{};
  switch (call.kind) {
    case CollectiveKind::kReduce:
      if (rank != root) return {};
      [[fallthrough]];
    case CollectiveKind::kAllReduce:
      for (std::size_t i = 0; i < count; ++i) result.push_back(sum_at(sent, i));
      break;
    case CollectiveKind::kReduceScatter:
      for (std::size_t i = 0; i < count; ++i) result.push_back(sum_at(sent, rank * count + i));
      break;
    case CollectiveKind::kBroadcast: result = sent[root]; break;
    case CollectiveKind::kGather:
      if (rank != root) return {};
      [[fallthrough]];
    case CollectiveKind::kAllGather:
      for (auto const& values : sent) result.insert(result.end(), values.begin(), values.end());
      break;
    case CollectiveKind::kScatter:
      for (std::size_t i = 0; i < count; ++i) result.push_back(sent[root][rank * count + i]);
      break;
    case CollectiveKind::kAllToAll:
      for (std::size_t from = 0; from < n; ++from)
        for (std::size_t i = 0; i < count; ++i) result.push_back(sent[from][rank * count + i]);
      break;
  }
  return result;
}

}  // namespace

void FakeDevice::connect(cuda::Ranks const& ranks, std::vector<char> const& /*meeting_id*/) {
  TWINSTEP_CHECK(ranks.local_ranks == ranks.world, "the fake has one process");
  world_ = static_cast<std::size_t>(ranks.world);
  starts_.resize(world_);
  stops_.resize(world_);
}

void* FakeDevice::allocate(int /*rank*/, Bytes size) {
  auto values = std::make_unique<Values>(static_cast<std::size_t>(size.count()) / sizeof(float));
  auto* const memory = values->data();
  memory_.emplace(memory, std::move(values));
  return memory;
}

void FakeDevice::release(int /*rank*/, void* memory) {
  TWINSTEP_CHECK(memory_.erase(memory) == 1, "what is released was allocated");
}

void FakeDevice::upload(int /*rank*/, void* to, std::span<float const> from) {
  std::ranges::copy(from, static_cast<float*>(to));
}

void FakeDevice::download(int /*rank*/, std::span<float> to, void const* from) {
  std::copy_n(static_cast<float const*>(from), to.size(), to.begin());
}

void FakeDevice::begin_group() {
  is_in_group_ = true;
}

void FakeDevice::launch(int rank, CollectiveCall const& call) {
  TWINSTEP_CHECK(is_in_group_ && calls_.emplace(rank, call).second, "each rank launches once in a group");
}

void FakeDevice::end_group() {
  TWINSTEP_CHECK(calls_.size() == world_, "a group has all ranks");
  auto sent = std::vector<Values>{};
  auto largest = std::size_t{0};
  for (auto const& [rank, call] : calls_) {
    auto const size = call.count * (needs_shares(call.kind, true) ? world_ : 1);
    auto const* const begin = static_cast<float const*>(call.send);
    sent.emplace_back(begin, begin + size);
    largest =
        std::max(largest, call.count * (needs_shares(call.kind, true) || needs_shares(call.kind, false) ? world_ : 1));
  }
  for (auto const& [rank, call] : calls_) {
    auto result = result_of(call, sent, static_cast<std::size_t>(rank));
    if (rank == broken_rank_ && !result.empty()) result.back() += 1;
    std::ranges::copy(result, static_cast<float*>(call.receive));
  }
  ++collectives_;
  now_ += Duration{10'000'000} + Duration{1'000} * static_cast<std::int64_t>(largest * sizeof(float));
  calls_.clear();
  is_in_group_ = false;
}

Duration FakeDevice::elapsed(int rank) {
  return stops_[static_cast<std::size_t>(rank)] - starts_[static_cast<std::size_t>(rank)];
}

}  // namespace twinstep::tests
