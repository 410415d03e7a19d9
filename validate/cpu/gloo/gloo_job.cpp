#include "validate/cpu/gloo/gloo_job.hpp"

#include <algorithm>
#include <cstring>
#include <gloo/config.h>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/program/matching.hpp"
#include "validate/cpu/gloo/gloo_transport.hpp"
#include "validate/cpu/gloo/peers.hpp"
#include "validate/cpu/rank_record.hpp"
#include "validate/cpu/step_threads.hpp"
#include "validate/cpu/supported.hpp"

namespace twinstep::cpu {
namespace {

/// Plain values as bytes, for another process of the same program, and back.
template <class T>
requires std::is_trivially_copyable_v<T> std::string packed(T const& value) {
  auto bytes = std::string(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
requires std::is_trivially_copyable_v<T> std::string packed(std::vector<T> const& values) {
  auto bytes = std::string(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Requires bytes of so many whole values.
template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> unpacked_all(std::string const& bytes) {
  TWINSTEP_CHECK(bytes.size() % sizeof(T) == 0, "all processes of a job run one program");
  auto values = std::vector<T>(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
T unpacked(std::string const& bytes) {
  TWINSTEP_CHECK(bytes.size() == sizeof(T), "all processes of a job run one program");
  return unpacked_all<T>(bytes).front();
}

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr auto kBegin = "begin the step";
constexpr auto kRecord = "end the step";

nanoseconds now() {
  return steady_clock::now().time_since_epoch();
}

GlooFacts facts_of(Peers const& peers) {
  auto ranks_by_node = std::map<std::string, int>{};
  auto most = 0;
  for (std::size_t rank = 0; rank < peers.count(); ++rank)
    most = std::max(most, ++ranks_by_node[peers.host(RankId{rank}).node]);
  return {.ranks = static_cast<int>(peers.count()),
          .ranks_per_node = most,
          .rank = static_cast<int>(peers.self().index()),
          .library = fmt::format("Gloo {}.{}.{} over TCP", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH),
          .processor = processor_name()};
}

}  // namespace

class GlooJob::Implementation {
 public:
  Implementation(launch::Launch const& launch, GlooOptions const& options)
      : peers_{launch, options}, facts_{facts_of(peers_)}, connections_{peers_} {}

  [[nodiscard]] GlooFacts const& facts() const { return facts_; }

  timeline::Timeline run(program::StepProgram const& program, Environment& environment) {
    try {
      return run_step(program, environment);
    } catch (...) {
      fail();
      throw;
    }
  }

 private:
  timeline::Timeline run_step(program::StepProgram const& program, Environment& environment) {
    require_runnable(program);
    connections_.prepare(program);
    auto threads = std::vector<std::size_t>(peers_.count());
    threads[peers_.self().index()] = threads_of(program, peers_.self());
    auto board = Board{std::move(threads)};
    auto clock = StepClock{};
    auto transport = GlooTransport{program, peers_, connections_, board, clock};
    auto step = Step{program, environment, board, transport, clock};
    auto ranks = std::list<RankRun>{};
    ranks.emplace_back(step, peers_.self());
    run_threads(
        board, ranks, [&] { begin_together(clock); }, [&] { fail(); });
    environment.count_step();
    return gather(program, ranks.front().take_record(), transport.wire());
  }

  void require_runnable(program::StepProgram const& program) const {
    if (program.grids.world_size() != facts_.ranks)
      throw InputError{fmt::format("the program is for {} ranks, but {} processes run it; start {}",
                                   program.grids.world_size(), facts_.ranks, program.grids.world_size())};
    require_supported(program);
    if (auto const findings = program::find_mismatches(program); !findings.empty())
      throw InputError{fmt::format("the ranks' communications do not fit together: {}", fmt::join(findings, "; "))};
  }

  /// Tells the others why this process fails, and ends its own waits. Call while an exception is handled.
  void fail() {
    try {
      throw;
    } catch (LostPeer const&) {  // which has been announced
    } catch (std::exception const& error) {
      peers_.announce(fmt::format("rank {} failed: {}", peers_.self().index(), error.what()));
    } catch (...) {
      peers_.announce(fmt::format("rank {} failed", peers_.self().index()));
    }
    peers_.disconnect();
  }

  /// All ranks say that they are ready; process 0 then names a moment a little ahead, at which all begin.
  void begin_together(StepClock& clock) {
    constexpr auto kAhead = std::chrono::milliseconds{1};
    auto begin = now() + kAhead;
    if (facts_.rank == 0) {
      for (auto const rank : others()) answer_clock(rank);
      for (auto const rank : others()) static_cast<void>(peers_.receive(rank, kBegin));
      begin = now() + kAhead;
      for (auto const rank : others()) peers_.send(rank, packed(begin), kBegin);
    } else {
      ahead_ = ask_clock();
      peers_.send(RankId{0}, "", kBegin);
      begin = unpacked<nanoseconds>(peers_.receive(RankId{0}, kBegin)) - ahead_;
    }
    clock.begin = steady_clock::time_point{begin};
    std::this_thread::sleep_until(clock.begin);
  }

  /// How far process 0's clock is ahead. Nothing where it is the same.
  nanoseconds ask_clock() {
    if (shares_clock(RankId{0}, peers_.self())) return nanoseconds{0};
    return clock_offset(now, [&] {
      peers_.send(RankId{0}, "", kBegin);
      return unpacked<nanoseconds>(peers_.receive(RankId{0}, kBegin));
    });
  }
  void answer_clock(RankId rank) {
    if (shares_clock(RankId{0}, rank)) return;
    for (auto i = 0; i < kClockQuestions; ++i) {
      static_cast<void>(peers_.receive(rank, kBegin));
      peers_.send(rank, packed(now()), kBegin);
    }
  }
  [[nodiscard]] bool shares_clock(RankId a, RankId b) const { return peers_.host(a).clock == peers_.host(b).clock; }

  /// Process 0 collects what all ranks did.
  timeline::Timeline gather(program::StepProgram const& program, RankRecord record, timeline::WireBytes wire) {
    auto const how = fmt::format("measured: {} processes on {}, {}, BLAS on one core a rank", facts_.ranks,
                                 facts_.ranks_per_node == facts_.ranks ? "one host" : "several hosts", facts_.library);
    if (facts_.rank != 0) {
      peers_.send(RankId{0}, packed(wire), kRecord);
      peers_.send(RankId{0}, packed(record.spans), kRecord);
      peers_.send(RankId{0}, packed(record.memory), kRecord);
      return timeline_of(program, {}, {}, how);
    }
    auto records = std::vector<RankRecord>{std::move(record)};
    for (auto const rank : others()) {
      auto const theirs = unpacked<timeline::WireBytes>(peers_.receive(rank, kRecord));
      wire.intra += theirs.intra;
      wire.inter += theirs.inter;
      auto& their_record = records.emplace_back();
      their_record.spans = unpacked_all<timeline::Span>(peers_.receive(rank, kRecord));
      their_record.memory = unpacked_all<timeline::MemorySample>(peers_.receive(rank, kRecord));
    }
    return timeline_of(program, records, wire, how);
  }

  [[nodiscard]] std::vector<RankId> others() const {
    auto out = std::vector<RankId>{};
    for (std::size_t rank = 1; rank < peers_.count(); ++rank) out.emplace_back(rank);
    return out;
  }

  Peers peers_;
  GlooFacts facts_;
  Connections connections_;
  nanoseconds ahead_{0};
};

GlooJob::GlooJob(launch::Launch const& launch, GlooOptions const& options)
    : implementation_{std::make_unique<Implementation>(launch, options)} {}
GlooJob::~GlooJob() = default;

GlooFacts const& GlooJob::facts() const {
  return implementation_->facts();
}

timeline::Timeline GlooJob::run(program::StepProgram const& program, Environment& environment) {
  return implementation_->run(program, environment);
}

std::chrono::nanoseconds clock_offset(std::function<std::chrono::nanoseconds()> const& now,
                                      std::function<std::chrono::nanoseconds()> const& ask) {
  auto smallest = std::chrono::nanoseconds::max();
  auto offset = std::chrono::nanoseconds{0};
  for (auto i = 0; i < kClockQuestions; ++i) {
    auto const sent = now();
    auto const theirs = ask();
    auto const round_trip = now() - sent;
    if (round_trip >= smallest) continue;
    smallest = round_trip;
    offset = theirs - (sent + round_trip / 2);
  }
  return offset;
}

}  // namespace twinstep::cpu
