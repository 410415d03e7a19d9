#include "validate/cpu/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::cpu {
namespace {

using program::Collective;
using program::Reduction;

Collective const& collective_of(Member const& member) {
  return std::get<Collective>(*member.part);
}

std::string what(Member const& member) {
  auto const& c = collective_of(member);
  return fmt::format("{} {} of {} {} elements{} on rank {}", name_of(c.kind), quoted(member.operation), member.elements,
                     name_of(c.type), member.root != 0 ? fmt::format(" with root {}", member.root) : "",
                     member.rank.index());
}

void require_agreement(std::span<Member const> members, std::string const& meeting) {
  auto const& first = members.front();
  auto const& a = collective_of(first);
  for (auto const& member : members) {
    auto const& b = collective_of(member);
    auto const same_size = member.elements == first.elements || a.kind == CollectiveKind::kAllToAll;
    if (a.kind == b.kind && a.reduction == b.reduction && a.type == b.type && same_size && member.root == first.root)
      continue;
    throw InputError{
        fmt::format("{}: {} meets {}; all ranks of a communicator issue the same collectives in the same "
                    "order",
                    meeting, what(first), what(member))};
  }
  TWINSTEP_CHECK(first.root >= 0 && first.root < static_cast<std::int64_t>(members.size()), "a root is a place");
}

void require_size(Member const& member, Numbers region, std::size_t expected, std::string_view side,
                  std::string const& meeting) {
  auto const type = std::visit([](auto const& part) { return part.type; }, *member.part);
  if (region.size() == expected && region.type() == type) return;
  throw InputError{fmt::format("{}: {} on rank {} {} {} elements of {}, but its region has {} of {}", meeting,
                               quoted(member.operation), member.rank.index(), side, expected, name_of(type),
                               region.size(), name_of(region.type()))};
}

/// One collective in progress: n members, N elements on the large side, cut into one chunk for each member.
class Exchange {
 public:
  Exchange(std::span<Member const> members, std::string const& meeting)
      : members_{members},
        meeting_{meeting},
        kind_{collective_of(members.front()).kind},
        elements_{members.front().elements},
        root_{static_cast<std::size_t>(members.front().root)} {}

  Bytes run() {
    using enum CollectiveKind;
    if (members_.size() == 1) return keep();
    auto const n = static_cast<std::int64_t>(members_.size());
    switch (kind_) {
      case kAllReduce: reduce(), deliver_all(); return bytes(2 * (n - 1) * elements_);
      case kAllGather: concatenate(), deliver_all(); return bytes((n - 1) * elements_);
      case kReduceScatter: reduce(), deliver_chunks(); return bytes((n - 1) * elements_);
      case kBroadcast: take_from_root(), deliver_all(); return bytes((n - 1) * elements_);
      case kReduce: reduce(), deliver(root_, 0, size()); return bytes((n - 1) * elements_);
      case kGather: concatenate(), deliver(root_, 0, size()); return bytes(elements_ - count(begin(root_), root_));
      case kScatter: take_from_root(), deliver_chunks(); return bytes(elements_ - count(begin(root_), root_));
      case kAllToAll: return exchange_all_to_all();
    }
    TWINSTEP_UNREACHABLE("a collective is one of eight");
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(elements_); }
  [[nodiscard]] std::size_t begin(std::size_t place) const { return begin(elements_, place); }
  [[nodiscard]] std::size_t begin(std::int64_t elements, std::size_t place) const {
    return static_cast<std::size_t>(
        chunk_begin(elements, static_cast<std::int64_t>(members_.size()), static_cast<std::int64_t>(place)));
  }
  [[nodiscard]] std::int64_t count(std::size_t first, std::size_t place) const {
    return static_cast<std::int64_t>(begin(place + 1) - first);
  }
  [[nodiscard]] Bytes bytes(std::int64_t elements) const {
    return size_of(collective_of(members_.front()).type) * elements;
  }

  /// Alone, a member receives what it sends, whatever the collective.
  Bytes keep() {
    auto const& member = members_.front();
    require_size(member, member.sent, size(), "sends", meeting_);
    require_size(member, member.received, size(), "receives", meeting_);
    if (size() > 0) std::memmove(member.received.memory(), member.sent.memory(), member.sent.bytes());
    return {};
  }

  /// whole_ = the members' whole regions, combined.
  void reduce() {
    auto const reduction = collective_of(members_.front()).reduction;
    for (auto const& member : members_) {
      require_size(member, member.sent, size(), "sends", meeting_);
      if (&member == &members_.front()) {
        append(member.sent);
        continue;
      }
      for (std::size_t i = 0; i < size(); ++i) whole_[i] = combine(reduction, whole_[i], member.sent[i]);
    }
    if (reduction == Reduction::kAverage)
      for (auto& value : whole_) value /= static_cast<double>(members_.size());
  }

  /// NaN, the mark of what was never written, survives every reduction.
  static double combine(Reduction reduction, double a, double b) {
    if (reduction == Reduction::kSum || reduction == Reduction::kAverage) return a + b;
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return reduction == Reduction::kMax ? std::max(a, b) : std::min(a, b);
  }

  /// whole_ = the members' chunks, one after another.
  void concatenate() {
    for (std::size_t place = 0; place < members_.size(); ++place) {
      require_size(members_[place], members_[place].sent, begin(place + 1) - begin(place), "sends", meeting_);
      append(members_[place].sent);
    }
  }

  void take_from_root() {
    require_size(members_[root_], members_[root_].sent, size(), "sends", meeting_);
    append(members_[root_].sent);
  }

  void append(Numbers numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) whole_.push_back(numbers[i]);
  }

  void deliver(std::size_t place, std::size_t first, std::size_t expected) {
    auto const& member = members_[place];
    require_size(member, member.received, expected, "receives", meeting_);
    for (std::size_t i = 0; i < expected; ++i) member.received.set(i, whole_[first + i]);
  }
  void deliver_all() {
    for (std::size_t place = 0; place < members_.size(); ++place) deliver(place, 0, size());
  }
  void deliver_chunks() {
    for (std::size_t place = 0; place < members_.size(); ++place)
      deliver(place, begin(place), begin(place + 1) - begin(place));
  }

  /// Chunk r of what place s sends goes to place r, which receives the chunks in the order of s. Ranks may send
  /// different amounts.
  Bytes exchange_all_to_all() {
    auto sent = std::int64_t{0};
    auto sizes = std::vector<std::size_t>(members_.size());
    for (auto const& member : members_)
      require_size(member, member.sent, static_cast<std::size_t>(member.elements), "sends", meeting_);
    for (std::size_t to = 0; to < members_.size(); ++to) {
      for (std::size_t from = 0; from < members_.size(); ++from) {
        auto const first = begin(members_[from].elements, to);
        auto const chunk = members_[from].sent.part(first, begin(members_[from].elements, to + 1) - first);
        append(chunk);
        sizes[to] += chunk.size();
        if (from != to) sent += static_cast<std::int64_t>(chunk.size());
      }
    }
    auto first = std::size_t{0};
    for (std::size_t to = 0; to < members_.size(); ++to) {
      deliver(to, first, sizes[to]);
      first += sizes[to];
    }
    return bytes(sent);
  }

  std::span<Member const> members_;
  std::string const& meeting_;
  CollectiveKind kind_;
  std::int64_t elements_;
  std::size_t root_;
  std::vector<double> whole_;
};

}  // namespace

Bytes exchange(std::span<Member const> members, std::string const& meeting) {
  require_agreement(members, meeting);
  return Exchange{members, meeting}.run();
}

Bytes pass_message(Member const& sender, Member const& receiver, std::string const& meeting) {
  auto const type = std::get<program::PointToPoint>(*sender.part).type;
  auto const expected = std::get<program::PointToPoint>(*receiver.part).type;
  if (sender.elements != receiver.elements || type != expected)
    throw InputError{fmt::format("{}: {} sends {} elements of {}, but {} receives {} of {}", meeting,
                                 quoted(sender.operation), sender.elements, name_of(type), quoted(receiver.operation),
                                 receiver.elements, name_of(expected))};
  auto const count = static_cast<std::size_t>(sender.elements);
  require_size(sender, sender.sent, count, "sends", meeting);
  require_size(receiver, receiver.received, count, "receives", meeting);
  for (std::size_t i = 0; i < count; ++i) receiver.received.set(i, sender.sent[i]);
  return sender.rank == receiver.rank ? Bytes{} : size_of(type) * sender.elements;
}

}  // namespace twinstep::cpu
