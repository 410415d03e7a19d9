#include "tests/support/execution.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace twinstep::collectives {
namespace {

using program::Reduction;

template <class T>
T combine(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kMax: return std::max(a, b);
    case Reduction::kMin: return std::min(a, b);
    case Reduction::kSum:
    case Reduction::kAverage: return a + b;  // an average is divided once, at the end
  }
  return a;
}

/// What leaves a value as it is when combined with it.
template <class T>
T neutral(Reduction reduction) {
  if (reduction == Reduction::kMax) return std::numeric_limits<T>::lowest();
  if (reduction == Reduction::kMin) return std::numeric_limits<T>::max();
  return T{};
}

bool contributes_one_chunk(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
}

bool keeps_one_chunk(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kScatter;
}

bool only_root_sends(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kScatter;
}

bool only_root_receives(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
}

}  // namespace

template <class T>
Execution<T>::Execution(Schedule const& schedule, Reduction reduction, RankBuffers<T> buffers)
    : schedule_{schedule},
      reduction_{reduction},
      buffers_{std::move(buffers)},
      sent_(index(schedule.ranks + schedule.agents)),
      arrived_(index(schedule.ranks + schedule.agents)) {
  TWINSTEP_CHECK(buffers_.size() == index(schedule.ranks), "every rank has a buffer");
  elements_ = static_cast<std::int64_t>(buffers_.front().size());
  for (auto rank = std::int64_t{0}; rank < schedule.ranks; ++rank) {
    auto const expected = schedule_.splits.is_even() ? elements_ : schedule_.splits.sent(rank);
    TWINSTEP_CHECK(buffers_[index(rank)].size() == index(expected),
                   "the buffers of a collective are of one size, or of what its ranks send");
  }
  buffers_.resize(index(schedule.ranks + schedule.agents), std::vector<T>(index(elements_), neutral<T>(reduction)));
  if (schedule_.kind == CollectiveKind::kAllToAll) prepare_exchange();
}

template <class T>
void Execution<T>::run_step() {
  TWINSTEP_CHECK(!is_done(), "a finished collective has no next step");
  auto deliveries = std::vector<Delivery>{};
  for (auto rank = std::int64_t{0}; rank < schedule_.ranks + schedule_.agents; ++rank) {
    for (auto lane = std::int64_t{0}; lane < schedule_.lanes; ++lane) {
      auto const message = schedule_.message(rank, step_, lane);
      if (!message) continue;
      auto const& buffer = buffers_[index(rank)];
      auto const first = buffer.begin() + begin_at_sender(rank, *message);
      auto const count = elements_of(schedule_, rank, *message, elements_);
      deliveries.push_back({*message, rank, {first, first + count}});
    }
  }
  for (auto const& delivery : deliveries) deliver(delivery);
  ++step_;
  if (is_done()) finish();
}

template <class T>
std::int64_t Execution<T>::begin_of(std::int64_t chunk) const {
  return chunk_begin(elements_, schedule_.chunks, chunk);
}

template <class T>
std::int64_t Execution<T>::begin_at_sender(std::int64_t from, Message const& message) const {
  auto const& splits = schedule_.splits;
  return splits.is_even() ? begin_of(message.first_chunk) : splits.begin_at_sender(from, message.to);
}

/// Of all_to_all: a rank receives from each rank a piece as long as its own chunk, or as the sender's split says.
template <class T>
std::int64_t Execution<T>::begin_at_receiver(std::int64_t from, std::int64_t to) const {
  auto const& splits = schedule_.splits;
  return splits.is_even() ? from * (begin_of(to + 1) - begin_of(to)) : splits.begin_at_receiver(from, to);
}

/// A rank's own piece needs no message.
template <class T>
void Execution<T>::prepare_exchange() {
  received_.resize(buffers_.size());
  for (auto rank = std::int64_t{0}; rank < schedule_.ranks; ++rank) {
    auto const own = Message{rank, rank, 1, false};
    auto& received = received_[index(rank)];
    received.resize(index(begin_at_receiver(schedule_.ranks, rank)));
    std::copy_n(buffers_[index(rank)].begin() + begin_at_sender(rank, own),
                elements_of(schedule_, rank, own, elements_), received.begin() + begin_at_receiver(rank, rank));
  }
}

template <class T>
void Execution<T>::deliver(Delivery const& delivery) {
  auto const& [message, from, elements] = delivery;
  auto const count = static_cast<std::int64_t>(elements.size());
  sent_[index(from)] += count;
  arrived_[index(message.to)] += count;
  if (schedule_.kind == CollectiveKind::kAllToAll) {
    std::copy(elements.begin(), elements.end(),
              received_[index(message.to)].begin() + begin_at_receiver(from, message.to));
    return;
  }
  auto const target = buffers_[index(message.to)].begin() + begin_of(message.first_chunk);
  if (!message.is_reduced)
    std::copy(elements.begin(), elements.end(), target);
  else
    std::transform(elements.begin(), elements.end(), target, target,
                   [&](T arriving, T held) { return combine(reduction_, held, arriving); });
}

template <class T>
void Execution<T>::finish() {
  if (reduction_ != Reduction::kAverage || !reduces(schedule_.kind)) return;
  for (auto& buffer : buffers_)
    for (auto& element : buffer) element /= static_cast<T>(schedule_.ranks);
}

template <class T>
RankBuffers<T> run_collective(Schedule const& schedule, Reduction reduction, RankBuffers<T> const& sent) {
  auto const kind = schedule.kind;
  auto const ranks = schedule.ranks;
  TWINSTEP_CHECK(std::cmp_equal(sent.size(), ranks), "every rank takes part in a collective");
  auto const root = static_cast<std::size_t>(schedule.root);
  auto size = static_cast<std::int64_t>(sent[root].size());
  if (contributes_one_chunk(kind)) {
    size = 0;
    for (auto const& part : sent) size += static_cast<std::int64_t>(part.size());
  }

  auto work = RankBuffers<T>(sent.size());
  for (auto rank = std::size_t{0}; rank < sent.size(); ++rank) {
    auto const place = static_cast<std::int64_t>(rank);
    auto const held = schedule.splits.is_even() ? size : schedule.splits.sent(place);
    work[rank].resize(static_cast<std::size_t>(held));
    if (only_root_sends(kind) && rank != root) continue;
    auto const first = contributes_one_chunk(kind) ? chunk_begin(size, ranks, place) : 0;
    auto const last = contributes_one_chunk(kind) ? chunk_begin(size, ranks, place + 1) : held;
    TWINSTEP_CHECK(std::cmp_equal(sent[rank].size(), last - first), "a rank sends what the collective takes from it");
    std::copy(sent[rank].begin(), sent[rank].end(), work[rank].begin() + first);
  }

  auto execution = Execution<T>{schedule, reduction, std::move(work)};
  execution.run();
  auto received = execution.buffers();
  received.resize(sent.size());  // without the agents
  for (auto rank = std::size_t{0}; rank < received.size(); ++rank) {
    if (only_root_receives(kind) && rank != root) received[rank].clear();
    if (!keeps_one_chunk(kind)) continue;
    auto const place = static_cast<std::int64_t>(rank);
    received[rank] = std::vector<T>(received[rank].begin() + chunk_begin(size, ranks, place),
                                    received[rank].begin() + chunk_begin(size, ranks, place + 1));
  }
  return received;
}

template class Execution<float>;
template class Execution<double>;
template RankBuffers<float> run_collective(Schedule const&, Reduction, RankBuffers<float> const&);
template RankBuffers<double> run_collective(Schedule const&, Reduction, RankBuffers<double> const&);

}  // namespace twinstep::collectives
