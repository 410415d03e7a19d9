#include "validate/cuda/rank_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/program/stuck_program.hpp"

namespace twinstep::cuda {

RankRun::RankRun(Step& step, int local)
    : step_{step},
      local_{local},
      device_{step.connection.ranks.device_of(local)},
      rank_{static_cast<std::size_t>(step.connection.ranks.rank_of(local))},
      role_{step.program.roles[step.program.role_of(rank_).index()]},
      plan_{plan_memory(step.program, role_, rank_)},
      buffers_(role_.buffers.size()),
      times_(role_.operations.size()) {
  make_communicators();
  make_streams();
  device_memory_ = step_.device.allocate(device_, plan_.device, MemoryPlace::kDevice);
  host_memory_ = step_.device.allocate(device_, plan_.host, MemoryPlace::kPinnedHost);
  barrier_ = step_.device.allocate(device_, size_of(DataType::kFp32), MemoryPlace::kDevice);
  // NaN in every type, so that a result that used what was never written shows it.
  constexpr std::uint8_t kPoison = 0xff;
  step_.device.fill_bytes(*control_, device_memory_->data(), kPoison, plan_.device);
  if (plan_.host > Bytes{}) std::memset(host_memory_->data(), kPoison, static_cast<std::size_t>(plan_.host.count()));
  for (std::size_t i = 0; i < role_.buffers.size(); ++i) {
    auto const& memory = role_.buffers[i].space == program::MemorySpace::kDevice ? device_memory_ : host_memory_;
    buffers_[i] = memory->data() + plan_.offsets[i].count();
  }
}

void RankRun::make_streams() {
  control_ = step_.device.make_stream(device_);
  zero_ = step_.device.make_event(device_);
  for (std::size_t i = 0; i < role_.streams.size(); ++i) streams_.push_back(step_.device.make_stream(device_));
  for (auto const& op : role_.operations) {
    begins_.push_back(op.is_on_host() ? nullptr : step_.device.make_event(device_));
    ends_.push_back(op.is_on_host() ? nullptr : step_.device.make_event(device_));
  }
}

void RankRun::load(Environment& environment) {
  for (std::size_t i = 0; i < role_.buffers.size(); ++i) {
    auto const& buffer = role_.buffers[i];
    if (buffer.is_persistent)
      buffers_[i] = static_cast<std::byte*>(environment.persistent(step_.program, buffer, rank_));
    else if (buffer.category == program::MemoryCategory::kInputs)
      environment.fill(step_.program, buffer, rank_, buffers_[i]);
  }
}

void RankRun::run(std::int64_t step_number) {
  step_number_ = step_number;
  issued_ = 0;
  host_is_free_ = Time{};
  for (auto& communicator : communicators_) communicator.last = OpId{};
  start_clock();
  for (std::size_t i = 0; i < role_.operations.size(); ++i) issue(OpId{i});
  wait_for_the_end();
}

void RankRun::start_clock() {
  auto& device = step_.device;
  device.communicate(
      *step_.connection.worlds[static_cast<std::size_t>(local_)], *control_,
      {.kind = CollectiveKind::kAllReduce, .send = barrier_->data(), .receive = barrier_->data(), .count = 1});
  device.record(*zero_, *control_);
  for (auto const& stream : streams_) device.wait(*stream, *zero_);
  wait_for(*zero_);
  zero_on_host_ = device.now(device_);
}

void RankRun::issue(OpId id) {
  auto const& op = operation(id);
  auto& times = times_[id.index()];
  times.issue = std::max(now(), host_is_free_);
  if (op.is_on_host()) {
    run_on_host(id);
  } else {
    auto& stream = *streams_[op.stream.index()];
    wait_for_others(id);
    step_.device.record(*begins_[id.index()], stream);
    enqueue(id, stream);
    step_.device.record(*ends_[id.index()], stream);
    times.issued = std::max(now(), times.issue);
  }
  ++issued_;
}

void RankRun::wait_for_others(OpId id) {
  auto const& op = operation(id);
  auto& stream = *streams_[op.stream.index()];
  auto const wait = [&](OpId before) {
    auto const& other = operation(before);
    if (other.stream != op.stream && !other.is_on_host()) step_.device.wait(stream, *ends_[before.index()]);
  };
  for (auto const before : role_.waits_of(op)) wait(before);
  auto const* communication = std::get_if<program::Communication>(&op.work);
  if (communication == nullptr) return;
  for (auto const& part : role_.parts_of(*communication)) {
    auto const* collective = std::get_if<program::Collective>(&part);
    if (collective == nullptr) continue;
    auto& last = communicators_[collective->communicator.index()].last;
    if (last.exists() && last != id) wait(last);
    last = id;
  }
}

/// The device's clock runs a little ahead of the host's, by what the host needs to see the first event; so a host
/// operation begins no earlier than what it waited for has ended.
void RankRun::run_on_host(OpId id) {
  auto const& op = operation(id);
  auto& times = times_[id.index()];
  auto begin = times.issue;
  for (auto const before : role_.waits_of(op)) {
    if (operation(before).is_on_host()) continue;
    auto const& event = *ends_[before.index()];
    wait_for(event);
    begin = std::max(begin, step_.device.elapsed(*zero_, event));
  }
  times.begin = std::max(begin, now());
  auto const work = std::get<program::Delay>(op.work).duration;
  step_.device.sleep(device_, work);
  times.end = std::max(times.begin + work, now());
  times.issued = times.end;
  host_is_free_ = times.end;
}

void RankRun::wait_for_the_end() {
  for (auto const& event : ends_)
    if (event != nullptr) wait_for(*event);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (ends_[i] == nullptr) continue;
    auto& times = times_[i];
    times.begin = step_.device.elapsed(*zero_, *begins_[i]);
    times.end = step_.device.elapsed(*zero_, *ends_[i]);
    times.issue = std::min(times.issue, times.begin);  // two clocks drift apart a little in a long step
  }
}

void RankRun::wait_for(DeviceEvent const& event) {
  using Clock = std::chrono::steady_clock;
  auto const patience = std::chrono::duration<double>{step_.patience.count()};
  auto give_up = Clock::now() + patience;
  auto ended = std::size_t{0};
  while (!step_.device.has_happened(event)) {
    if (step_.is_stopped) throw Stopped{};
    std::this_thread::yield();
    if (Clock::now() < give_up) continue;
    if (auto const now_ended = count_ended(); now_ended > ended) {
      ended = now_ended;
      give_up = Clock::now() + patience;
      continue;
    }
    throw program::StuckProgram{who_waits()};
  }
}

std::size_t RankRun::count_ended() const {
  auto count = std::size_t{0};
  for (std::size_t i = 0; i < issued_; ++i)
    if (ends_[i] == nullptr || step_.device.has_happened(*ends_[i])) ++count;
  return count;
}

std::string RankRun::who_waits() const {
  auto text = fmt::format("rank {}: nothing has happened for {} s", rank_.index(), step_.patience.count());
  if (issued_ == 0) return text + ": not all ranks have come to the beginning of the step";
  for (std::size_t stream = 0; stream < role_.streams.size(); ++stream) {
    for (std::size_t i = 0; i < issued_; ++i) {
      auto const& op = role_.operations[i];
      if (op.stream != StreamId{stream} || step_.device.has_happened(*ends_[i])) continue;
      text += fmt::format("; stream {} {} {} {}", twinstep::quoted(step_.program.text(role_.streams[stream].name)),
                          step_.device.has_happened(*begins_[i]) ? "is in" : "has not begun",
                          name_of(work_kind_of(role_, op)), twinstep::quoted(step_.program.describe(op)));
      break;
    }
  }
  return text;
}

}  // namespace twinstep::cuda
