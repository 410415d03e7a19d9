#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/schedule.hpp"
#include "sim/program/kinds.hpp"

namespace twinstep::collectives {

/// One buffer for each rank.
template <class T>
using RankBuffers = std::vector<std::vector<T>>;

/// Runs a schedule on data, one step at a time, so that one can look inside. T is float or double.
template <class T>
class Execution {
 public:
  /// `buffers` are the ranks' working buffers (see Schedule), all of the collective's large side; of an uneven
  /// all_to_all, what each rank sends. What a rank does not contribute may hold anything.
  Execution(Schedule const& schedule, program::Reduction reduction, RankBuffers<T> buffers);

  [[nodiscard]] bool is_done() const { return step_ == schedule_.steps; }
  /// Sends all messages of the next step. Cost O(ranks × lanes + elements sent).
  void run_step();
  void run() {
    while (!is_done()) run_step();
  }

  /// The working buffers of the ranks, then of agents. Of all_to_all: what has been received, one piece for each
  /// sender.
  [[nodiscard]] RankBuffers<T> const& buffers() const { return received_.empty() ? buffers_ : received_; }
  /// `rank` may be an agent: ranks + a.
  [[nodiscard]] std::int64_t sent_elements(std::int64_t rank) const { return sent_[index(rank)]; }
  [[nodiscard]] std::int64_t received_elements(std::int64_t rank) const { return arrived_[index(rank)]; }

 private:
  struct Delivery {
    Message message;
    std::int64_t from = 0;
    std::vector<T> elements;
  };

  static std::size_t index(std::int64_t rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::int64_t begin_of(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t begin_at_sender(std::int64_t from, Message const& message) const;
  [[nodiscard]] std::int64_t begin_at_receiver(std::int64_t from, std::int64_t to) const;
  void prepare_exchange();
  void deliver(Delivery const& delivery);
  void finish();

  Schedule schedule_;
  program::Reduction reduction_;
  std::int64_t elements_ = 0;
  std::int64_t step_ = 0;
  RankBuffers<T> buffers_;
  RankBuffers<T> received_;  // of all_to_all only
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> arrived_;
};

/// Does one collective: from what each rank sends to what each rank receives.
///
/// With S elements cut at chunk_begin into one chunk for each rank, rank r sends, and receives:
///   all_reduce      S elements          S elements, combined
///   reduce_scatter  S elements          chunk r, combined
///   all_gather      chunk r             S elements
///   broadcast       S elements (root)   S elements
///   reduce          S elements          S elements, combined (root)
///   gather          chunk r             S elements (root)
///   scatter         S elements (root)   chunk r
///   all_to_all      S elements          chunk r of every rank, in the order of ranks
///     … uneven      its row of splits   what every rank's split for it says, in the order of ranks
/// Where "(root)" stands, what other ranks send is ignored and what they receive is empty.
template <class T>
[[nodiscard]] RankBuffers<T> run_collective(Schedule const& schedule, program::Reduction reduction,
                                            RankBuffers<T> const& sent);

extern template class Execution<float>;
extern template class Execution<double>;
extern template RankBuffers<float> run_collective(Schedule const&, program::Reduction, RankBuffers<float> const&);
extern template RankBuffers<double> run_collective(Schedule const&, program::Reduction, RankBuffers<double> const&);

}  // namespace twinstep::collectives
