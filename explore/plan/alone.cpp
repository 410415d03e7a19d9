#include "explore/plan/alone.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/collectives/folded.hpp"

namespace twinstep::explore::plan {

using namespace program;

namespace {

constexpr auto kCell = CellId{0};

}  // namespace

Alone::Alone(StepProgram const& program, engine::Machine const& machine, bool communication_is_free)
    : program_{program},
      role_{program.roles.front()},
      machine_{machine},
      communication_is_free_{communication_is_free},
      cells_{program},
      host_paths_{program, cells_, machine} {}

Duration Alone::operation(Operation const& op) const {
  if (auto const* moved = std::get_if<Copy>(&op.work)) return copy(*moved);
  if (auto const* delay = std::get_if<Delay>(&op.work)) return delay->duration;
  return kernel(op);
}

Duration Alone::issue(Operation const& op) const {
  auto const& host = machine_.cluster().node().host;
  auto const communicates = std::holds_alternative<Communication>(op.work);
  return (communicates ? host.communication_launch.value : host.launch.value) * static_cast<std::int64_t>(op.launches);
}

Duration Alone::kernel(Operation const& op) const {
  auto const* elementwise = std::get_if<Elementwise>(&op.work);
  auto const elements = elementwise != nullptr ? program_.evaluate(elementwise->elements, kRank) : 0;
  if (role_.streams[op.stream.index()].is_on_host) return host_kernel(elements * elementwise->bytes_per_element);
  auto const demand = machine_.kernels().demand(op.work, elements, 0);
  return demand.start + std::max(demand.compute, transfer_time(demand.memory, hbm()));
}

Duration Alone::copy(Copy const& copy) const {
  auto const bytes = program_.evaluate(copy.bytes, kRank);
  auto const is_inside = copy.direction == CopyDirection::kDeviceToDevice;
  auto time = is_inside ? transfer_time(Bytes{2 * bytes}, hbm()) : Duration{};
  if (!is_inside && bytes > 0)
    for (auto const& hop : host_paths_.of(copy.direction, kCell)) time = std::max(time, on(hop, bytes));
  return machine_.cluster().node().gpu.kernel_start.value + time;
}

Duration Alone::part(CommunicationPart const& part) {
  auto const* asked = std::get_if<Collective>(&part);
  // A message may take no time at all, for what is known of its other end.
  if (asked == nullptr || communication_is_free_) return {};
  auto const size = payload(program_, part, kRank);
  auto const [entry, is_new] =
      collectives_.try_emplace({asked->kind, asked->reduction, asked->type, size, asked->communicator});
  if (!is_new) return entry->second;
  auto const along = program_.communicators[asked->communicator.index()].along;
  auto const layout = collectives::layout_of(program_.grids, along, kRank, machine_.topology().gpus_per_node());
  auto const question = collectives::Question{asked->kind, size, asked->reduction, asked->type, {}};
  return entry->second = collectives::time_alone(
             collectives::fold(question, layout, machine_.cluster(), machine_.topology()), machine_.topology());
}

BytesPerSecond Alone::rate_to_host() const {
  auto const& topology = machine_.topology();
  auto const links_of = [&](std::int64_t gpu) {
    return topology.under(topology.device_to_host(gpu), topology.condition_of(0));
  };
  auto const alike = cells_.size() > 1 ? 1 : std::min(topology.gpus_per_node(), program_.grids.world_size());
  auto slowest = BytesPerSecond{std::numeric_limits<double>::infinity()};
  for (auto const link : links_of(0)) {
    auto crossings = std::ptrdiff_t{0};
    for (std::int64_t gpu = 0; gpu < alike; ++gpu) crossings += std::ranges::count(links_of(gpu), link);
    slowest = std::min(slowest, topology.resource(link).bandwidth * (1 / static_cast<double>(crossings)));
  }
  return slowest;
}

Duration Alone::on(engine::HostPaths::Hop const& hop, std::int64_t bytes) const {
  return transfer_time(to_bytes(static_cast<double>(bytes) * hop.weight),
                       machine_.topology().resource(hop.resource).bandwidth);
}

Duration Alone::host_kernel(std::int64_t bytes) const {
  if (bytes == 0) return {};
  auto const reached = machine_.cluster().node().host.memory_efficiency.value;
  return on(host_paths_.memory(kCell), to_bytes(static_cast<double>(bytes) / reached).count());
}

Held::Held(StepProgram const& program) {
  auto const& role = program.roles.front();
  for (auto const& buffer : role.buffers) {
    auto const bytes = size_of(buffer.type) * program.evaluate(buffer.elements, kRank);
    auto const space = static_cast<std::size_t>(buffer.space);
    if (buffer.is_persistent)
      always_[space] += bytes;
    else if (buffer.first_use.exists() && !role.operations[buffer.first_use.index()].is_on_host())
      lives_.push_back({buffer.first_use, buffer.last_use, space, bytes});
  }
  auto change = std::vector<BySpace>(role.operations.size() + 1);
  for (auto const& [first, last, space, bytes] : lives_) {
    change[first.index()][space] += bytes;
    change[last.index() + 1][space] -= bytes;
  }
  most_ = always_;
  auto held = always_;
  for (auto const& each : change)
    for (std::size_t space = 0; space < held.size(); ++space)
      most_[space] = std::max(most_[space], held[space] += each[space]);
}

BySpace Held::across(OpId op) const {
  auto held = always_;
  for (auto const& [first, last, space, bytes] : lives_)
    if (first < op && last >= op) held[space] += bytes;
  return held;
}

Bytes held_beside(StepProgram const& program, engine::Machine const& machine) {
  auto const communicators = std::ranges::count_if(program.communicators, [&](Communicator const& communicator) {
    return program.grids.size(communicator.along) > 1;
  });
  return machine.cluster().node().gpu.context_memory.value + machine.cluster().library.buffers.value * communicators;
}

}  // namespace twinstep::explore::plan
