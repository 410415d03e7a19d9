#include <algorithm>
#include <utility>

#include "explore/plan/alone.hpp"
#include "explore/plan/bound.hpp"
#include "strategies/compile.hpp"

namespace twinstep::explore::plan {
namespace {

using namespace program;

constexpr auto kCompute = std::size_t{0};  // the stream that a role has first

/// The first operation that goes back through the model, in each micro-batch.
std::vector<OpId> begins_of_backward(StepProgram const& step) {
  auto found = std::vector<OpId>{};
  auto const& operations = step.roles.front().operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].scope.exists()) continue;
    auto const& scope = step.scopes[operations[i].scope.index()];
    if (goes_back(scope.pass) && scope.micro_batch == static_cast<std::int32_t>(found.size())) found.emplace_back(i);
  }
  return found;
}

}  // namespace

StepFrame::StepFrame(strategies::ModelWork hollow, strategies::Plan plan, std::int64_t micro_batches,
                     engine::Machine const& machine, bool communication_is_free) {
  plan.batch.micro_batch = 1;
  plan.batch.global_batch = plan.parallel.data * std::min(micro_batches, kKinds);
  auto const step = strategies::compile_around(std::move(hollow), std::move(plan));
  add_loads(step, machine, communication_is_free);
  add_memory(step, machine);
}

void StepFrame::add_loads(StepProgram const& step, engine::Machine const& machine, bool communication_is_free) {
  auto alone = Alone{step, machine, communication_is_free};
  auto const& role = step.roles.front();
  lanes_.resize(role.streams.size() + step.communicators.size());
  for (auto const& op : role.operations) {
    auto const micro_batch = op.scope.exists() ? step.scopes[op.scope.index()].micro_batch : Scope::kNoMicroBatch;
    auto const add = [&](Load& load, Duration time) { (micro_batch == 1 ? load.second : load.others) += time; };
    if (op.is_on_host()) add(host_, std::get<Delay>(op.work).duration);
    if (op.launches == 0) continue;  // the host's, or the model's
    add(host_, alone.issue(op));
    auto time = Duration{};
    if (auto const* communication = std::get_if<Communication>(&op.work)) {
      for (auto const& part : role.parts_of(*communication)) {
        auto const communicator = std::visit([](auto const& each) { return each.communicator; }, part);
        auto const takes = alone.part(part);
        add(lanes_[role.streams.size() + communicator.index()], takes);
        time = std::max(time, takes);
      }
    } else {
      time = alone.operation(op);
    }
    add(lanes_[op.stream.index()], time);
  }
  compute_ = std::exchange(lanes_[kCompute], {});
  copy_start_ = machine.cluster().node().gpu.kernel_start.value;
  rate_to_host_ = alone.rate_to_host();
}

/// The second of three stands for those between the first and the last.
Duration StepFrame::Load::of(std::int64_t micro_batches) const {
  return others + second * std::clamp<std::int64_t>(micro_batches - 2, 1, micro_batches);
}

void StepFrame::add_memory(StepProgram const& step, engine::Machine const& machine) {
  auto const beside = held_beside(step, machine);
  auto const as_bound = [&](BySpace const& bytes) {
    auto const in = [&](MemorySpace space) { return bytes[static_cast<std::size_t>(space)]; };
    return Bound{{}, in(MemorySpace::kDevice) + beside, in(MemorySpace::kHost), in(MemorySpace::kNvme)};
  };
  auto const held = Held{step};
  held_ = as_bound(held.most());
  for (auto const backward : begins_of_backward(step)) between_ = between_ & as_bound(held.across(backward));
}

Bound StepFrame::around(MicroBatchWork const& work, std::int64_t micro_batches) const {
  auto time = std::max(work.device * micro_batches + compute_.of(micro_batches),
                       work.host * micro_batches + host_.of(micro_batches));
  for (auto const& lane : lanes_) time = std::max(time, lane.of(micro_batches));
  if (work.copies > 0)
    time = std::max(time, (copy_start_ * work.copies + transfer_time(work.offloaded, rate_to_host_)) * micro_batches);
  auto const kept =
      Bound{time, between_.device + work.kept, between_.host + work.offloaded - work.last_offloaded, between_.nvme};
  auto bound = held_ & kept;
  bound.device += work.data * micro_batches;
  return bound;
}

}  // namespace twinstep::explore::plan
