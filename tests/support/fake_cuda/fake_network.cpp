#include "tests/support/fake_cuda/fake_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/base/check.hpp"
#include "validate/cuda/elements.hpp"

namespace twinstep::tests {

using cuda::CollectiveCall;
using program::Reduction;

namespace {

std::size_t bytes_of(CollectiveCall const& call, std::size_t shares) {
  return static_cast<std::size_t>((size_of(call.type) * call.count).count()) * shares;
}

double combine(Reduction reduction, double a, double b) {
  if (reduction == Reduction::kMax) return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  if (reduction == Reduction::kMin) return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  return a + b;
}

/// One collective in progress, straight from MPI's definitions: everything is read before anything is written, sums
/// are taken in double in the order of places and rounded once.
class Exchange {
 public:
  explicit Exchange(std::vector<std::optional<FakePart>> const& parts) : parts_{parts} {}

  void run() {
    auto const& call = parts_.front()->call;
    auto const n = parts_.size();
    for (auto const& part : parts_)
      TWINSTEP_CHECK(part->call.kind == call.kind && part->call.count == call.count, "ranks issue the same collective");
    switch (call.kind) {
      case CollectiveKind::kAllReduce: return deliver_all(reduced(1), 1);
      case CollectiveKind::kReduce: return deliver(root(), reduced(1), 0);
      case CollectiveKind::kReduceScatter: return deliver_shares(reduced(n));
      case CollectiveKind::kBroadcast: return deliver_all(sent(root(), 1), 1);
      case CollectiveKind::kAllGather: return deliver_all(gathered(), n);
      default: TWINSTEP_UNREACHABLE("the library has five collectives");
    }
  }

 private:
  using Raw = std::vector<std::byte>;
  [[nodiscard]] std::size_t root() const { return static_cast<std::size_t>(parts_.front()->call.root); }
  [[nodiscard]] Raw sent(std::size_t place, std::size_t shares) const {
    auto const& call = parts_[place]->call;
    auto const* const begin = static_cast<std::byte const*>(call.send);
    return {begin, begin + bytes_of(call, shares)};
  }
  [[nodiscard]] Raw gathered() const {
    auto all = Raw{};
    for (std::size_t place = 0; place < parts_.size(); ++place) {
      auto const one = sent(place, 1);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  [[nodiscard]] Raw reduced(std::size_t shares) const {
    auto const& call = parts_.front()->call;
    auto sum = std::vector<double>(static_cast<std::size_t>(call.count) * shares);
    auto next = sum;
    for (std::size_t place = 0; place < parts_.size(); ++place) {
      cuda::decode(sent(place, shares).data(), call.type, next);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = place == 0 ? next[i] : combine(call.reduction, sum[i], next[i]);
    }
    if (call.reduction == Reduction::kAverage)
      for (auto& value : sum) value /= static_cast<double>(parts_.size());
    auto raw = Raw(bytes_of(call, shares));
    cuda::encode(sum, call.type, raw.data());
    return raw;
  }

  /// Share `share` of `values`, or all of them where there is one.
  void deliver(std::size_t place, Raw const& values, std::size_t first, std::size_t shares = 1) const {
    auto const size = bytes_of(parts_[place]->call, shares);
    if (size > 0) std::memcpy(parts_[place]->call.receive, values.data() + first * size, size);
  }
  void deliver_all(Raw const& values, std::size_t shares) const {
    for (std::size_t place = 0; place < parts_.size(); ++place) deliver(place, values, 0, shares);
  }
  void deliver_shares(Raw const& values) const {
    for (std::size_t place = 0; place < parts_.size(); ++place) deliver(place, values, place);
  }

  std::vector<std::optional<FakePart>> const& parts_;
};

void pass_message(FakePart const& sender, FakePart const& receiver) {
  TWINSTEP_CHECK(sender.call.count == receiver.call.count && sender.call.type == receiver.call.type,
                 "both ends of a message agree on its size");
  if (auto const size = bytes_of(sender.call, 1); size > 0) std::memcpy(receiver.call.receive, sender.call.send, size);
}

}  // namespace

FakeGroup::Meeting& FakeGroup::arrive(Key const& key, int place, FakePart const& part, Time now) {
  auto& meeting = meetings[key];
  meeting.parts.resize(part.is_message ? 2 : static_cast<std::size_t>(size));
  auto const seat = part.is_message ? (part.sends ? 0U : 1U) : static_cast<std::size_t>(place);
  TWINSTEP_CHECK(!meeting.parts[seat], "a rank comes to a meeting once");
  meeting.parts[seat] = part;
  meeting.begin = std::max(meeting.begin, now);
  if (++meeting.arrived < meeting.parts.size()) return meeting;
  auto const has_shares = !part.is_message && twinstep::has_shares(part.call.kind);
  if (part.is_message) {
    pass_message(*meeting.parts[0], *meeting.parts[1]);
  } else {
    Exchange{meeting.parts}.run();
    ++collectives;
  }
  auto const bytes = static_cast<std::int64_t>(bytes_of(part.call, has_shares ? static_cast<std::size_t>(size) : 1));
  meeting.end = meeting.begin + Duration{10'000'000} + Duration{1'000} * bytes;
  meeting.is_over = true;
  return meeting;
}

FakeGroup::Key FakeCommunicator::next(FakePart const& part) {
  auto const peer = part.call.root;
  auto const pair = !part.is_message ? std::pair{-1, -1} : part.sends ? std::pair{place, peer} : std::pair{peer, place};
  // A message to itself is issued at both ends.
  auto const counter = part.is_message && !part.sends ? std::pair{pair.first, -2 - pair.second} : pair;
  return {pair.first, pair.second, issued[counter]++};
}

}  // namespace twinstep::tests
