// What a rank enqueues: operations on its memory and its communicators.

#include <array>
#include <map>

#include "sim/base/check.hpp"
#include "validate/cuda/collective_calls.hpp"
#include "validate/cuda/rank_run.hpp"

namespace twinstep::cuda {
namespace {

/// What a program does on one of its communicators, in any role.
struct CommunicatorUse {
  bool has_collectives_or_groups = false;
  bool has_lone_messages = false;
};

CommunicatorUse use_of(program::StepProgram const& program, std::size_t communicator) {
  auto use = CommunicatorUse{};
  for (auto const& role : program.roles)
    for (auto const& op : role.operations) {
      auto const* communication = std::get_if<program::Communication>(&op.work);
      if (communication == nullptr) continue;
      auto const parts = role.parts_of(*communication);
      for (auto const& part : parts) {
        if (std::visit([](auto const& p) { return p.communicator.index(); }, part) != communicator) continue;
        auto const is_lone_message = parts.size() == 1 && std::holds_alternative<program::PointToPoint>(part);
        (is_lone_message ? use.has_lone_messages : use.has_collectives_or_groups) = true;
      }
    }
  return use;
}

}  // namespace

void RankRun::make_communicators() {
  auto const& program = step_.program;
  auto ordinals = std::map<std::vector<int>, int>{};
  for (std::size_t i = 0; i < program.communicators.size(); ++i) {
    auto const along = program.communicators[i].along;
    auto colours = std::vector<int>{};
    auto places = std::vector<int>{};
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(program.grids.world_size()); ++rank) {
      colours.push_back(static_cast<int>(program.grids.rank_in_group(RankId{rank}, along, 0).index()));
      places.push_back(static_cast<int>(program.grids.index_in_group(RankId{rank}, along)));
    }
    constexpr int kDirections = 3;
    auto const first = kDirections * ordinals[colours]++;
    auto const make = [&](int which) {
      return &communicator_of(step_.device, step_.connection, local_, colours, places, first + which);
    };
    auto& made = communicators_.emplace_back();
    made.size = static_cast<int>(program.grids.size(along));
    made.place = places[rank_.index()];
    auto const use = use_of(program, i);
    if (use.has_collectives_or_groups) made.collectives = make(0);
    // One order for all messages of a communicator: what is grouped somewhere may meet what is alone elsewhere.
    auto const has_directions = use.has_lone_messages && !use.has_collectives_or_groups;
    made.upward = has_directions ? make(1) : made.collectives;
    made.downward = has_directions ? make(2) : made.collectives;
  }
}

void* RankRun::at(program::Region const& region) const {
  auto const width = size_of(role_.buffers[region.buffer.index()].type);
  return buffers_[region.buffer.index()] + (width * evaluate(region.offset)).count();
}

void RankRun::enqueue(OpId id, DeviceStream& stream) {
  auto const& op = operation(id);
  auto const operands = role_.accesses_of(op);
  if (auto const* gemm = std::get_if<program::Gemm>(&op.work)) {
    step_.device.multiply(stream, *gemm, at(operands[0].region), at(operands[1].region), at(operands[2].region));
    if (operands.size() == 4) add_bias(*gemm, operands, stream);
  } else if (auto const* kernel = std::get_if<program::Elementwise>(&op.work)) {
    enqueue(*kernel, id, stream);
  } else if (auto const* communication = std::get_if<program::Communication>(&op.work)) {
    enqueue(*communication, id, stream);
  } else if (auto const* copy = std::get_if<program::Copy>(&op.work)) {
    step_.device.copy(stream, at(operands[1].region), at(operands[0].region), Bytes{evaluate(copy->bytes)});
  } else if (auto const* delay = std::get_if<program::Delay>(&op.work)) {
    step_.device.delay(stream, delay->duration);
  } else {
    TWINSTEP_UNREACHABLE("what is not supported has been refused");
  }
}

Operand RankRun::operand(program::Access const& access) const {
  auto const& [region, mode] = access;
  return {.memory = at(region),
          .elements = evaluate(region.elements),
          .type = role_.buffers[region.buffer.index()].type,
          .is_read = mode != program::AccessMode::kWrite,
          .is_written = mode != program::AccessMode::kRead};
}

/// A product adds its bias as it writes: that moves nothing, and is no launch.
void RankRun::add_bias(program::Gemm const& gemm, std::span<program::Access const> operands, DeviceStream& stream) {
  auto product = operand(operands[2]);
  product.is_read = true;
  auto const all = std::array{product, operand(operands[3]), product};
  step_.device.compute(stream, {.function = program::Function::kAddRepeated,
                                .type = gemm.type,
                                .elements = product.elements,
                                .rows = {.width = static_cast<std::int32_t>(gemm.n)},
                                .launches = 0,
                                .operands = all});
}

void RankRun::enqueue(program::Elementwise const& kernel, OpId id, DeviceStream& stream) {
  auto operands = std::vector<Operand>{};
  for (auto const& access : role_.accesses_of(operation(id))) operands.push_back(operand(access));
  step_.device.compute(stream, {.function = kernel.function,
                                .type = kernel.type,
                                .scalar = kernel.scalar,
                                .elements = evaluate(kernel.elements),
                                .accumulate = kernel.accumulate,
                                .rows = kernel.rows,
                                .traffic = Bytes{evaluate(kernel.elements) * kernel.bytes_per_element},
                                .launches = static_cast<int>(operation(id).launches),
                                .adamw = step_.program.adamw,
                                .step = step_number_,
                                .operands = operands});
}

void RankRun::enqueue(program::Communication const& communication, OpId id, DeviceStream& stream) {
  auto operands = role_.accesses_of(operation(id));
  auto const parts = role_.parts_of(communication);
  if (parts.size() > 1) step_.device.begin_group();
  for (auto const& part : parts) {
    if (auto const* collective = std::get_if<program::Collective>(&part)) {
      enqueue(*collective, operands.first(2), stream);
      operands = operands.subspan(2);
    } else {
      enqueue(std::get<program::PointToPoint>(part), operands.front(), stream);
      operands = operands.subspan(1);
    }
  }
  if (parts.size() > 1) step_.device.end_group();
}

void RankRun::enqueue(program::Collective const& collective, std::span<program::Access const> operands,
                      DeviceStream& stream) {
  auto const& communicator = communicators_[collective.communicator.index()];
  auto const elements_of = elements_by_place(collective);
  communicate(step_.device, *communicator.collectives, stream,
              {.kind = collective.kind,
               .reduction = collective.reduction,
               .type = collective.type,
               .send = at(operands[0].region),
               .receive = at(operands[1].region),
               .elements = evaluate(collective.elements),
               .root = static_cast<int>(evaluate(collective.root)),
               .size = communicator.size,
               .place = communicator.place,
               .elements_of = elements_of});
}

std::vector<std::int64_t> RankRun::elements_by_place(program::Collective const& collective) const {
  if (collective.kind != CollectiveKind::kAllToAll || !collective.elements.varies()) return {};
  auto const& program = step_.program;
  auto const along = program.communicators[collective.communicator.index()].along;
  auto elements = std::vector<std::int64_t>{};
  for (std::int64_t place = 0; place < program.grids.size(along); ++place)
    elements.push_back(program.evaluate(collective.elements, program.grids.rank_in_group(rank_, along, place)));
  return elements;
}

void RankRun::enqueue(program::PointToPoint const& message, program::Access const& operand, DeviceStream& stream) {
  auto const& communicator = communicators_[message.communicator.index()];
  auto const peer = static_cast<int>(evaluate(message.peer));
  auto const elements = evaluate(message.elements);
  if (elements == 0) return;
  auto const goes_up = message.sends ? peer > communicator.place : peer < communicator.place;
  auto& chosen = *(goes_up ? communicator.upward : communicator.downward);
  if (message.sends)
    step_.device.send(chosen, stream, at(operand.region), elements, message.type, peer);
  else
    step_.device.receive(chosen, stream, at(operand.region), elements, message.type, peer);
}

}  // namespace twinstep::cuda
