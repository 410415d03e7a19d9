#include "strategies/mesh/neighbours.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

// Messages that overlap compute have streams of their own, by direction and peer; the others follow each other.
StreamId Neighbours::stream(bool sends, Way way, std::int64_t stage) {
  auto const what = way == Way::kForward ? "activations" : "gradients";
  auto const name = exchange() == PipelineExchange::kOverlapped
                        ? std::string{what} + (sends ? ".to." : ".from.") + std::to_string(stage)
                        : std::string{"pipeline"};
  auto const known = std::ranges::find(streams_, name, &std::pair<std::string, StreamId>::first);
  if (known != streams_.end()) return known->second;
  return streams_.emplace_back(name, context_.role.stream(name)).second;
}

NameId Neighbours::name(bool sends, Way way) {
  auto const is_forward = way == Way::kForward;
  if (sends) return context_.name(is_forward ? "output.send" : "input_gradient.send");
  return context_.name(is_forward ? "input.receive" : "output_gradient.receive");
}

Region Neighbours::buffer(Incoming const& incoming) {
  auto const& like = *incoming.like;
  return context_.role.whole(context_.role.buffer({.name = name(false, incoming.way),
                                                   .elements = like.elements,
                                                   .type = like.type,
                                                   .category = like.category,
                                                   .is_recorded = false}));
}

CommunicationPart Neighbours::part(bool sends, Way way, std::int64_t stage, Region region) const {
  return PointToPoint{.sends = sends,
                      .type = context_.role.get(region.buffer).type,
                      .communicator = way == Way::kForward ? communicators_.forward : communicators_.backward,
                      .peer = stage,
                      .elements = region.elements};
}

/// Compute goes on after the exchange, and the host too where it waits for the device.
void Neighbours::finish(OpId op) {
  context_.role.wait(context_.compute, op);
  if (exchange() == PipelineExchange::kBatched)
    context_.role.host(context_.name("pipeline.synchronize"), std::array{op});
}

void Neighbours::send(Outgoing const& outgoing) {
  auto const& [way, stage, region] = outgoing;
  auto const on = stream(true, way, stage);
  computation_.let_wait(on, region);
  auto const message = part(true, way, stage, region);
  auto const access = reads(region);
  auto const op = context_.role.group(on, name(true, way), std::span{&message, 1}, std::span{&access, 1});
  if (exchange() != PipelineExchange::kOverlapped) finish(op);
}

// Where messages overlap compute, the pass that follows waits for the message, and nothing else does.
Region Neighbours::receive(Incoming const& incoming) {
  auto const region = buffer(incoming);
  auto const on = stream(false, incoming.way, incoming.stage);
  if (exchange() != PipelineExchange::kOverlapped) context_.role.follow(on, context_.compute);
  auto const message = part(false, incoming.way, incoming.stage, region);
  auto const access = writes(region);
  finish(context_.role.group(on, name(false, incoming.way), std::span{&message, 1}, std::span{&access, 1}));
  return region;
}

// Blocking messages between two stages cross if both send first: after a forward a stage receives first, as the next
// one, after its backward, sends first (DeepSpeed, runtime/pipe/schedule.py, TrainSchedule).
Region Neighbours::send_and_receive(Outgoing const& outgoing, Incoming const& incoming) {
  if (exchange() == PipelineExchange::kBlocking) {
    if (outgoing.way == Way::kBackward) send(outgoing);
    auto const received = receive(incoming);
    if (outgoing.way == Way::kForward) send(outgoing);
    return received;
  }
  auto const region = buffer(incoming);
  auto const on = stream(true, outgoing.way, outgoing.stage);
  computation_.let_wait(on, outgoing.region);
  auto const messages = std::array{part(true, outgoing.way, outgoing.stage, outgoing.region),
                                   part(false, incoming.way, incoming.stage, region)};
  auto const accesses = std::array{reads(outgoing.region), writes(region)};
  finish(context_.role.group(on, context_.name("pipeline.exchange"), messages, accesses));
  return region;
}

// An all-reduce of two ranks moves as much.
void Neighbours::exchange_and_add(std::int64_t stage, Region own) {
  auto const& like = context_.role.get(own.buffer);
  auto const theirs = context_.role.whole(context_.role.buffer({.name = context_.name("tied_gradient"),
                                                                .elements = own.elements,
                                                                .type = like.type,
                                                                .category = MemoryCategory::kWorkspace}));
  auto const on = stream(true, Way::kForward, stage);
  context_.role.follow(on, context_.compute);
  auto const messages = std::array{part(true, Way::kForward, stage, own), part(false, Way::kForward, stage, theirs)};
  auto const accesses = std::array{reads(own), writes(theirs)};
  context_.role.wait(context_.compute,
                     context_.role.group(on, context_.name("tied_gradient.exchange"), messages, accesses));
  add_kernel(context_, context_.compute, context_.name("tied_gradient.add"), own, theirs);
}

}  // namespace twinstep::strategies
