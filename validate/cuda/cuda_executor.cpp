#include "validate/cuda/cuda_executor.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/program/matching.hpp"
#include "sim/program/step_program.hpp"
#include "sim/program/stuck_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cuda/patience.hpp"
#include "validate/cuda/rank_run.hpp"
#include "validate/cuda/supported.hpp"

namespace twinstep::cuda {
namespace {

using program::Role;
using program::StepProgram;
using timeline::Timeline;

Bytes carried_bytes(StepProgram const& program, Role const& role, program::Operation const& op, RankId rank) {
  auto bytes = Bytes{};
  if (auto const* communication = std::get_if<program::Communication>(&op.work))
    for (auto const& part : role.parts_of(*communication)) bytes += payload(program, part, rank);
  if (auto const* copy = std::get_if<program::Copy>(&op.work)) bytes = Bytes{program.evaluate(copy->bytes, rank)};
  return bytes;
}

void add_spans(Timeline& out, StepProgram const& program, timeline::TrackId track, Role const& role, RankId rank,
               std::span<OperationTimes const> times) {
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const& op = role.operations[i];
    out.spans.push_back({.track = track,
                         .stream = op.stream,
                         .op = OpId{i},
                         .name = op.name,
                         .scope = op.scope,
                         .kind = work_kind_of(role, op),
                         .bytes = carried_bytes(program, role, op, rank),
                         .issue = times[i].issue,
                         .arrive = times[i].begin,
                         .start = times[i].begin,
                         .end = times[i].end});
    out.step_time = std::max(out.step_time, times[i].end);
  }
}

/// The program's ledger: persistent buffers from the start on, others from the issue of their first use to the return
/// of the issue of their last.
void add_memory(Timeline& out, StepProgram const& program, timeline::TrackId track, Role const& role, RankId rank,
                std::span<OperationTimes const> times) {
  auto samples = std::vector<timeline::MemorySample>{};
  for (auto const& buffer : role.buffers) {
    auto const bytes = size_of(buffer.type) * program.evaluate(buffer.elements, rank);
    auto const is_used = buffer.first_use.exists();
    if (bytes == Bytes{} || (!buffer.is_persistent && !is_used)) continue;
    auto sample = timeline::MemorySample{
        .track = track, .time = {}, .category = buffer.category, .space = buffer.space, .change = bytes};
    if (!buffer.is_persistent) sample.time = times[buffer.first_use.index()].issue;
    samples.push_back(sample);
    if (buffer.is_persistent) continue;
    sample.time = times[buffer.last_use.index()].issued;
    sample.change = -bytes;
    samples.push_back(sample);
  }
  std::ranges::stable_sort(samples, {}, &timeline::MemorySample::time);
  out.memory.insert(out.memory.end(), samples.begin(), samples.end());
}

/// One that says only what the step was: for processes that do not get the spans.
Timeline empty_timeline_of(StepProgram const& program) {
  auto out = Timeline{};
  auto& manifest = out.manifest;
  manifest.clock = timeline::Clock::kReal;
  manifest.calibration = "measured: CUDA events around every operation";
  manifest.world_size = program.grids.world_size();
  manifest.tokens = program.facts.tokens;
  manifest.model_flops = program.facts.model_flops;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    auto const ranks = static_cast<double>(program.multiplicity(RoleId{i}));
    for (auto const& op : program.roles[i].operations) manifest.hardware_flops += flops_of(op.work) * ranks;
  }
  return out;
}

/// Puts the times of all ranks, by rank, together with what the program says about each operation.
Timeline timeline_of(StepProgram const& program, std::span<std::vector<OperationTimes> const> times) {
  auto out = empty_timeline_of(program);
  out.names = program.names;
  out.scopes = program.scopes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto const rank = RankId{i};
    auto const id = timeline::TrackId{i};
    auto const& role = program.roles[program.role_of(rank).index()];
    auto& track = out.tracks.emplace_back();
    track.role = program.text(role.name);
    track.rank = rank;
    for (auto const& stream : role.streams) track.streams.emplace_back(program.text(stream.name));
    add_spans(out, program, id, role, rank, times[i]);
    add_memory(out, program, id, role, rank, times[i]);
  }
  out.events = static_cast<std::int64_t>(out.spans.size());
  return out;
}

/// What can be known before anything is enqueued: on a GPU, ranks that do not match would wait for ever.
void require_sound(program::StepProgram const& program, Ranks const& ranks) {
  if (program.grids.world_size() != ranks.world)
    throw InputError{fmt::format("the program is for {} ranks, but the job has {}; start as many",
                                 program.grids.world_size(), ranks.world)};
  require_supported(program);
  auto const mismatches = find_mismatches(program);
  if (mismatches.empty()) return;
  constexpr std::size_t kShown = 3;
  throw program::StuckProgram{
      fmt::format("{}", fmt::join(std::span{mismatches}.first(std::min(mismatches.size(), kShown)), "; "))};
}

/// Sums `values` over all ranks in place, or gathers as many from every rank, through device memory of one rank.
std::vector<std::byte> exchange(DeviceApi& device, Connection& connection, int local, CollectiveCall call,
                                std::span<std::byte const> sent, std::size_t received_bytes) {
  auto const on = connection.ranks.device_of(local);
  auto const size = [](std::size_t bytes) { return Bytes{static_cast<std::int64_t>(bytes)}; };
  auto const from = device.allocate(on, size(sent.size()), MemoryPlace::kDevice);
  auto const to = device.allocate(on, size(received_bytes), MemoryPlace::kDevice);
  auto received = std::vector<std::byte>(received_bytes);
  call.send = from->data();
  call.receive = to->data();
  auto const stream = device.make_stream(on);  // after the memory, which outlives it
  auto const end = device.make_event(on);
  device.copy(*stream, from->data(), sent.data(), size(sent.size()));
  device.communicate(*connection.worlds[static_cast<std::size_t>(local)], *stream, call);
  device.copy(*stream, received.data(), to->data(), size(received_bytes));
  device.record(*end, *stream);
  wait_until_happened(device, *end);
  return received;
}

}  // namespace

/// One program, ready to run again and again.
class Executor::Prepared {
 public:
  Prepared(DeviceApi& device, Connection& connection, program::StepProgram const& program, Seconds patience)
      : program_{program},
        step_{.device = device, .program = program_, .connection = connection, .patience = patience},
        ranks_(static_cast<std::size_t>(connection.ranks.local_ranks)) {}

  [[nodiscard]] bool is_for(program::StepProgram const& program) const { return program_ == program; }
  [[nodiscard]] Step& step() { return step_; }
  [[nodiscard]] RankRun& rank(int local) { return *ranks_[static_cast<std::size_t>(local)]; }
  void make(int local) { ranks_[static_cast<std::size_t>(local)] = std::make_unique<RankRun>(step_, local); }

  /// The times of all ranks, by rank.
  [[nodiscard]] std::vector<std::vector<OperationTimes>> local_times() {
    auto times = std::vector<std::vector<OperationTimes>>{};
    for (auto const& rank : ranks_) times.emplace_back(rank->times().begin(), rank->times().end());
    return times;
  }
  /// … where this process has only some of them: every rank hands its times to all.
  [[nodiscard]] std::vector<std::vector<OperationTimes>> all_times(int local) {
    auto longest = std::size_t{0};
    for (auto const& role : program_.roles) longest = std::max(longest, role.operations.size());
    auto mine = std::vector<OperationTimes>(rank(local).times().begin(), rank(local).times().end());
    mine.resize(longest);
    auto const sent = std::as_bytes(std::span{mine});
    auto const world = static_cast<std::size_t>(program_.grids.world_size());
    auto const all = exchange(
        step_.device, step_.connection, local,
        {.kind = CollectiveKind::kAllGather, .type = DataType::kInt8, .count = static_cast<std::int64_t>(sent.size())},
        sent, sent.size() * world);
    auto times = std::vector<std::vector<OperationTimes>>{};
    for (std::size_t rank = 0; rank < world; ++rank) {
      auto const& role = program_.roles[program_.role_of(RankId{rank}).index()];
      auto& theirs = times.emplace_back(role.operations.size());
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(rank * sent.size()), theirs.size() * sizeof(OperationTimes),
                  std::as_writable_bytes(std::span{theirs}).begin());
    }
    return times;
  }

 private:
  program::StepProgram program_;
  Step step_;
  std::vector<std::unique_ptr<RankRun>> ranks_;
};

Executor::Executor(DeviceApi& device, Connection& connection, ExecutorOptions options)
    : device_{device}, connection_{connection}, options_{options} {}
Executor::~Executor() = default;

/// Calls `body(local)` on a thread for each local rank. The first error is thrown here, after the other ranks have been
/// made to stop.
template <class Body>
void Executor::on_every_rank(Body const& body) {
  auto mutex = std::mutex{};
  auto reason = std::exception_ptr{};
  auto const stop = [&] {
    auto const lock = std::scoped_lock{mutex};
    if (reason) return;
    reason = std::current_exception();
    is_broken_ = true;
    if (prepared_) prepared_->step().is_stopped = true;
    for (auto const& world : connection_.worlds) device_.abort(*world);
    for (auto const& splits : connection_.splits)
      for (auto const& [key, communicator] : splits) device_.abort(*communicator);
  };
  {
    auto threads = std::vector<std::jthread>{};
    for (int local = 0; local < connection_.ranks.local_ranks; ++local)
      threads.emplace_back([&, local] {
        try {
          body(local);
        } catch (...) {  // of those after the first, nobody needs to know
          stop();
        }
      });
  }
  if (reason) std::rethrow_exception(reason);
}

timeline::Timeline Executor::run(program::StepProgram const& program, Environment& environment) {
  if (is_broken_) throw DeviceError{"an earlier step failed and its communicators are gone; connect again"};
  if (!prepared_ || !prepared_->is_for(program)) {
    require_sound(program, connection_.ranks);
    prepared_.reset();  // its memory first
    prepared_ = std::make_unique<Prepared>(device_, connection_, program, options_.patience);
    on_every_rank([&](int local) { prepared_->make(local); });
  }
  for (int local = 0; local < connection_.ranks.local_ranks; ++local) prepared_->rank(local).load(environment);
  on_every_rank([&](int local) { prepared_->rank(local).run(environment.steps() + 1); });
  environment.count_step();
  auto const& ranks = connection_.ranks;
  if (ranks.local_ranks == ranks.world) return timeline_of(program, prepared_->local_times());
  auto timeline = empty_timeline_of(program);
  on_every_rank([&](int local) {
    auto const times = prepared_->all_times(local);
    if (ranks.rank_of(local) == 0) timeline = timeline_of(program, times);
  });
  return timeline;
}

std::int64_t Executor::sum(std::int64_t contribution) {
  auto total = 0.0;
  on_every_rank([&](int local) {
    // A process contributes once, however many ranks it has.
    auto const value = local == 0 ? static_cast<double>(contribution) : 0.0;
    auto const bytes = std::as_bytes(std::span{&value, 1});
    auto const received =
        exchange(device_, connection_, local, {.kind = CollectiveKind::kAllReduce, .type = DataType::kFp64, .count = 1},
                 bytes, bytes.size());
    if (local == 0) std::copy(received.begin(), received.end(), std::as_writable_bytes(std::span{&total, 1}).begin());
  });
  return static_cast<std::int64_t>(total);
}

void Executor::flush_caches() {
  for (int local = 0; local < connection_.ranks.local_ranks; ++local) {
    auto const on = connection_.ranks.device_of(local);
    auto const size = device_.facts(on).l2_cache;
    auto const memory = device_.allocate(on, size, MemoryPlace::kDevice);
    auto const stream = device_.make_stream(on);
    auto const end = device_.make_event(on);
    device_.fill_bytes(*stream, memory->data(), 0, size);
    device_.record(*end, *stream);
    wait_until_happened(device_, *end);
  }
}

}  // namespace twinstep::cuda
