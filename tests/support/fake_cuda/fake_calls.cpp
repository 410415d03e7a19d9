// The fake's collective library.

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"

namespace twinstep::tests {

namespace {

FakeCommunicator& as_fake(cuda::DeviceCommunicator& communicator) {
  return static_cast<FakeCommunicator&>(communicator);
}

/// What a thread has called since it began a group.
struct OpenGroup {
  int depth = 0;
  std::vector<FakeCall> calls;
};
thread_local OpenGroup open_group;

bool receives(FakeCall const& call) {
  if (call.part.is_message) return !call.part.sends;
  return call.part.call.kind != CollectiveKind::kReduce || call.place == call.part.call.root;
}

/// Spoils the last element of what `call` received, fp32.
void spoil(FakeCall const& call) {
  auto const& c = call.part.call;
  auto const shares = !call.part.is_message && c.kind == CollectiveKind::kAllGather ? call.group->size : 1;
  static_cast<float*>(c.receive)[c.count * shares - 1] += 1;
}

}  // namespace

std::vector<char> FakeDevice::make_meeting_id() {
  auto const id = fmt::format("meeting {}", meeting_ids_++);
  return {id.begin(), id.end()};
}

std::unique_ptr<cuda::DeviceCommunicator> FakeDevice::join(int device, int world, int rank,
                                                           std::vector<char> const& meeting_id) {
  auto lock = std::unique_lock{machine_.mutex};
  auto& entry = worlds_[meeting_id];
  if (!entry.group) entry.group = groups_.emplace_back(std::make_shared<FakeGroup>(world));
  ++entry.arrived;
  ++waiting_;
  machine_.changed.notify_all();
  machine_.changed.wait(lock, [&] { return entry.arrived == world || is_ending_; });
  --waiting_;
  machine_.changed.notify_all();
  if (entry.arrived < world) throw cuda::DeviceError{"join: the machine is gone"};
  return std::make_unique<FakeCommunicator>(entry.group, rank, device);
}

std::unique_ptr<cuda::DeviceCommunicator> FakeDevice::split(cuda::DeviceCommunicator& communicator, int colour,
                                                            int place) {
  auto lock = std::unique_lock{machine_.mutex};
  auto& parent = as_fake(communicator);
  auto& split = splits_[{parent.group.get(), parent.splits++}];
  auto& group = split.groups[colour];
  if (!group) group = groups_.emplace_back(std::make_shared<FakeGroup>(0));
  ++group->size;
  ++split.arrived;
  machine_.changed.notify_all();
  machine_.changed.wait(lock, [&] { return split.arrived == parent.group->size || parent.group->is_aborted; });
  if (parent.group->is_aborted) throw cuda::DeviceError{"split: aborted"};
  return std::make_unique<FakeCommunicator>(group, place, parent.device);
}

void FakeDevice::abort(cuda::DeviceCommunicator& communicator) {
  auto const lock = std::scoped_lock{machine_.mutex};
  as_fake(communicator).group->is_aborted = true;
  machine_.changed.notify_all();
}

void FakeDevice::begin_group() {
  ++open_group.depth;
}

void FakeDevice::end_group() {
  TWINSTEP_CHECK(open_group.depth > 0, "a group is ended once");
  if (--open_group.depth > 0) return;
  auto calls = std::exchange(open_group.calls, {});
  // One task for each stream, in the order of their first calls.
  while (!calls.empty()) {
    auto* const stream = calls.front().stream;
    auto const others =
        std::stable_partition(calls.begin(), calls.end(), [&](FakeCall const& call) { return call.stream == stream; });
    auto const mine = std::vector<FakeCall>(calls.begin(), others);
    auto name = mine.front().name;
    for (std::size_t i = 1; i < mine.size(); ++i) name += " + " + mine[i].name;
    enqueue(*stream, name, [this, mine, stream](Time begin) { return meet(*stream, mine, begin); });
    calls.erase(calls.begin(), others);
  }
}

void FakeDevice::add_call(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, std::string name,
                          FakePart const& part) {
  auto& fake = as_fake(communicator);
  begin_group();
  open_group.calls.push_back(
      {fake.group, fake.place, static_cast<FakeStream*>(&stream), std::move(name), part, fake.next(part)});
  end_group();
}

Time FakeDevice::meet(FakeStream& stream, std::vector<FakeCall> const& calls, Time begin) {
  auto lock = std::unique_lock{machine_.mutex};
  auto const is_aborted = [&] {
    return std::ranges::any_of(calls, [](FakeCall const& call) { return call.group->is_aborted; });
  };
  if (stream.device() == hanging_device_ && allowed_-- <= 0) stream.wait(lock, is_aborted);
  auto meetings = std::vector<FakeGroup::Meeting*>{};
  for (auto const& call : calls) meetings.push_back(&call.group->arrive(call.key, call.place, call.part, begin));
  machine_.changed.notify_all();
  auto const is_over = [&] {
    return std::ranges::all_of(meetings, [](auto const* meeting) { return meeting->is_over; });
  };
  stream.wait(lock, [&] { return is_over() || is_aborted(); });
  if (!is_over()) throw cuda::DeviceError{"communicate: aborted"};
  auto const last = std::find_if(calls.rbegin(), calls.rend(), receives);
  if (stream.device() == broken_device_ && last != calls.rend()) spoil(*last);
  auto end = begin;
  for (auto const* meeting : meetings) end = std::max(end, meeting->end);
  return end;
}

void FakeDevice::communicate(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream,
                             cuda::CollectiveCall const& call) {
  add_call(communicator, stream, std::string{name_of(call.kind)}, {.call = call});
}

void FakeDevice::send(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, void const* from,
                      std::int64_t count, DataType type, int peer) {
  add_call(communicator, stream, fmt::format("send to {}", peer),
           {.call = {.type = type, .send = from, .count = count, .root = peer}, .is_message = true, .sends = true});
}

void FakeDevice::receive(cuda::DeviceCommunicator& communicator, cuda::DeviceStream& stream, void* to,
                         std::int64_t count, DataType type, int peer) {
  add_call(communicator, stream, fmt::format("receive from {}", peer),
           {.call = {.type = type, .receive = to, .count = count, .root = peer}, .is_message = true});
}

}  // namespace twinstep::tests
