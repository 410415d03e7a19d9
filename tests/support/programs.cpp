#include "tests/support/programs.hpp"

#include <array>
#include <utility>
#include <vector>

namespace twinstep::tests {

using namespace program;
using namespace literals;

BufferId SmallProgram::persistent(RoleBuilder& role, std::string_view name, RankValue elements, DataType type) {
  return role.buffer({.name = builder.name(name),
                      .scope = {},
                      .elements = elements,
                      .type = type,
                      .category = MemoryCategory::kParameters,
                      .is_persistent = true});
}

BufferId SmallProgram::temporary(RoleBuilder& role, std::string_view name, RankValue elements, DataType type) {
  return role.buffer({.name = builder.name(name), .scope = {}, .elements = elements, .type = type});
}

OpId SmallProgram::fill(RoleBuilder& role, StreamId stream, std::string_view name, BufferId buffer, double scalar) {
  auto const kernel = Elementwise{.function = Function::kFill,
                                  .elements = role.get(buffer).elements,
                                  .bytes_per_element = 4,
                                  .type = role.get(buffer).type,
                                  .scalar = scalar};
  return role.add(stream, builder.name(name), kernel, {writes(role.whole(buffer))});
}

OpId SmallProgram::scale(RoleBuilder& role, StreamId stream, std::string_view name, BufferId from, BufferId to,
                         double scalar) {
  auto const kernel = Elementwise{.function = Function::kScale,
                                  .elements = role.get(to).elements,
                                  .bytes_per_element = 8,
                                  .type = role.get(to).type,
                                  .scalar = scalar};
  return role.add(stream, builder.name(name), kernel, {reads(role.whole(from)), writes(role.whole(to))});
}

RankValue SmallProgram::chunk_size(std::int64_t total, GridAxes along) {
  auto const parts = builder.grids().size(along);
  auto table = std::vector<std::int64_t>{};
  for (std::int64_t i = 0; i < parts; ++i)
    table.push_back(chunk_begin(total, parts, i + 1) - chunk_begin(total, parts, i));
  return {0, builder.variation({along, 0, std::move(table)})};
}

RankValue SmallProgram::chunk_offset(std::int64_t total, GridAxes along) {
  auto const parts = builder.grids().size(along);
  auto table = std::vector<std::int64_t>{};
  for (std::int64_t i = 0; i < parts; ++i) table.push_back(chunk_begin(total, parts, i));
  return {0, builder.variation({along, 0, std::move(table)})};
}

StepProgram one_collective(CollectiveKind kind, std::int64_t ranks, std::int64_t elements, std::int64_t root,
                           Reduction reduction, DataType type) {
  auto small = SmallProgram{ranks};
  auto const along = small.builder.along({"data"});
  auto const communicator = small.builder.communicator("data", along);
  auto& role = small.builder.role("worker");
  auto const chunk = small.chunk_size(elements, along);
  // Place r receives chunk r of every sender: all of one size, since all senders have equally many.
  auto const from_all = [&] {
    auto table = std::vector<std::int64_t>{};
    for (std::int64_t i = 0; i < ranks; ++i)
      table.push_back(ranks * (chunk_begin(elements, ranks, i + 1) - chunk_begin(elements, ranks, i)));
    return RankValue{0, small.builder.variation({along, 0, std::move(table)})};
  };
  auto sent = RankValue{elements};
  auto received = RankValue{elements};
  if (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather) sent = chunk;
  if (kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kScatter) received = chunk;
  if (kind == CollectiveKind::kAllToAll) received = from_all();
  auto const from = small.persistent(role, "sent", sent, type);
  auto const to = small.persistent(role, "received", received, type);
  auto const stream = role.stream("comm");
  role.add(stream, small.builder.name("exchange"),
           Collective{.kind = kind,
                      .reduction = reduction,
                      .type = type,
                      .communicator = communicator,
                      .elements = elements,
                      .root = root},
           role.whole(from), role.whole(to));
  return std::move(small.builder).finish();
}

StepProgram two_streams_with_waits() {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const side = role.stream("side");
  auto const a = small.temporary(role, "a", 1000);
  auto const b = small.temporary(role, "b", 1000);
  auto const c = small.persistent(role, "c", 1000);
  auto const filled = small.fill(role, main, "fill", a, 3);
  role.wait(side, filled);
  auto const doubled = small.scale(role, side, "double", a, b, 2);
  role.wait(main, doubled);
  role.add(main, small.builder.name("add"),
           Elementwise{.function = Function::kAdd, .elements = 1000, .bytes_per_element = 12, .type = DataType::kFp32},
           {reads(role.whole(a)), reads(role.whole(b)), writes(role.whole(c))});
  return std::move(small.builder).finish();
}

StepProgram in_place_all_reduce(std::int64_t ranks, std::int64_t elements) {
  auto small = SmallProgram{ranks};
  auto const communicator = small.builder.communicator("data", {"data"});
  auto& role = small.builder.role("worker");
  auto const gradient = small.persistent(role, "gradient", elements);
  auto const stream = role.stream("comm");
  role.add(stream, small.builder.name("reduce"),
           Collective{.type = DataType::kFp32, .communicator = communicator, .elements = elements},
           role.whole(gradient), role.whole(gradient));
  return std::move(small.builder).finish();
}

StepProgram two_communicators_on_a_mesh() {
  auto small = SmallProgram{Grid{{{"data", 2}, {"tensor", 2}}}};
  auto const data = small.builder.communicator("data", {"data"});
  auto const tensor = small.builder.communicator("tensor", {"tensor"});
  auto const world = small.builder.communicator("world", {"data", "tensor"});
  auto& role = small.builder.role("worker");
  auto const first = role.stream("first");
  auto const second = role.stream("second");
  auto const all_reduce = [&](StreamId stream, std::string_view name, BufferId buffer, CommunicatorId communicator) {
    return role.add(
        stream, small.builder.name(name),
        Collective{.type = DataType::kFp32, .communicator = communicator, .elements = role.get(buffer).elements},
        role.whole(buffer), role.whole(buffer));
  };
  auto const a = small.persistent(role, "a", 7);
  auto const b = small.persistent(role, "b", 5);
  all_reduce(first, "reduce.data", a, data);
  all_reduce(second, "reduce.tensor", b, tensor);
  all_reduce(second, "reduce.world.b", b, world);
  all_reduce(first, "reduce.world.a", a, world);
  return std::move(small.builder).finish();
}

namespace {

/// A persistent buffer for each of `axes`, and its all_reduce along them, one after another.
StepProgram all_reduces(std::vector<Grid> grids, std::vector<std::string_view> const& axes) {
  auto small = SmallProgram{std::move(grids)};
  auto& role = small.builder.role("worker");
  auto const stream = role.stream("comm");
  auto name = std::string{"a"};
  for (auto const axis : axes) {
    auto const communicator = small.builder.communicator(axis, {axis});
    auto const buffer = small.persistent(role, name, 5);
    role.add(stream, small.builder.name("reduce." + name),
             Collective{.type = DataType::kFp32, .communicator = communicator, .elements = 5}, role.whole(buffer),
             role.whole(buffer));
    ++name[0];
  }
  return std::move(small.builder).finish();
}

}  // namespace

StepProgram folded_experts() {
  return all_reduces({Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, "dense"},
                      Grid{{{"expert_data", 2}, {"expert", 4}}, "experts"}},
                     {"expert", "tensor", "expert_data"});
}

StepProgram crossed_grids() {
  return all_reduces(
      {Grid{{{"data", 2}, {"tensor", 3}}, "dense"}, Grid{{{"expert_data", 3}, {"expert", 2}}, "experts"}},
      {"tensor", "expert"});
}

StepProgram groups_in_a_ring(std::int64_t ranks) {
  auto small = SmallProgram{ranks};
  auto const along = small.builder.along({"data"});
  auto const communicator = small.builder.communicator("ring", along);
  auto& role = small.builder.role("worker");
  auto const stream = role.stream("comm");
  auto const mine = small.persistent(role, "mine", 6);
  auto const theirs = small.persistent(role, "theirs", 6);
  auto const neighbour = [&](std::int64_t distance) {
    auto table = std::vector<std::int64_t>{};
    for (std::int64_t i = 0; i < ranks; ++i) table.push_back((i + distance + ranks) % ranks);
    return RankValue{0, small.builder.variation({along, 0, std::move(table)})};
  };
  auto const send = PointToPoint{
      .sends = true, .type = DataType::kFp32, .communicator = communicator, .peer = neighbour(1), .elements = 6};
  auto const receive = PointToPoint{
      .sends = false, .type = DataType::kFp32, .communicator = communicator, .peer = neighbour(-1), .elements = 6};
  auto const pair = std::array<CommunicationPart, 2>{send, receive};
  auto const pair_regions = std::array{reads(role.whole(mine)), writes(role.whole(theirs))};
  role.group(stream, small.builder.name("shift"), pair, pair_regions);

  auto const half = [&](BufferId buffer, std::int64_t offset) { return Region{buffer, offset, 3}; };
  auto const reduce = Collective{.type = DataType::kFp32, .communicator = communicator, .elements = 3};
  auto const both = std::array<CommunicationPart, 2>{reduce, reduce};
  auto const both_regions =
      std::array{reads(half(theirs, 0)), writes(half(theirs, 0)), reads(half(theirs, 3)), writes(half(theirs, 3))};
  role.group(stream, small.builder.name("coalesced"), both, both_regions);
  return std::move(small.builder).finish();
}

StepProgram pipeline_of_two_stages() {
  auto small = SmallProgram{Grid{{{"pipeline", 2}}}};
  auto const pipeline = small.builder.communicator("pipeline", {"pipeline"});
  auto const message = [&](bool sends, std::int64_t peer) {
    return CommunicationPart{
        PointToPoint{.sends = sends, .type = DataType::kFp32, .communicator = pipeline, .peer = peer, .elements = 12}};
  };
  auto const communicate = [&](RoleBuilder& role, StreamId stream, std::string_view name, BufferId buffer, bool sends,
                               std::int64_t peer) {
    auto const part = message(sends, peer);
    auto const access = sends ? reads(role.whole(buffer)) : writes(role.whole(buffer));
    return role.group(stream, small.builder.name(name), std::span{&part, 1}, std::span{&access, 1});
  };
  auto& head = small.builder.role("head", {{"pipeline", 0}});
  auto& tail = small.builder.role("tail", {{"pipeline", 1}});
  auto const head_main = head.stream("main");
  auto const head_comm = head.stream("comm");
  auto const tail_main = tail.stream("main");
  auto const tail_comm = tail.stream("comm");
  for (auto const* batch : {"batch.0", "batch.1"}) {
    head.enter({.unit = small.builder.name(batch)});
    tail.enter({.unit = small.builder.name(batch)});
    auto const made = small.temporary(head, "activation", 12);
    auto const came = small.temporary(tail, "activation", 12);
    auto const gradient = small.temporary(tail, "gradient", 12);
    auto const back = small.persistent(head, "gradient", 12);
    auto const is_first = std::string_view{batch} == "batch.0";
    head.wait(head_comm, small.fill(head, head_main, "forward", made, is_first ? 1 : 2));
    communicate(head, head_comm, "send", made, true, 1);
    auto const received = communicate(tail, tail_comm, "receive", came, false, 0);
    tail.wait(tail_main, received);
    tail.wait(tail_comm, small.scale(tail, tail_main, "forward_backward", came, gradient, 10));
    communicate(tail, tail_comm, "send_gradient", gradient, true, 0);
    communicate(head, head_comm, "receive_gradient", back, false, 1);
  }
  return std::move(small.builder).finish();
}

StepProgram host_synchronisation() {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const loss = small.persistent(role, "loss", 100);
  auto const first = small.fill(role, main, "first", loss, 1);
  role.host(small.builder.name("item"), std::span{&first, 1}, 20_us);
  small.fill(role, main, "second", loss, 2);
  return std::move(small.builder).finish();
}

StepProgram delay_on_a_stream() {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const side = role.stream("side");
  auto const buffer = small.persistent(role, "buffer", 100);
  auto const slept = role.add(side, small.builder.name("sleep"), Delay{50_us}, std::span<Access const>{});
  small.fill(role, main, "beside", buffer, 1);
  role.wait(main, slept);
  small.fill(role, main, "after", buffer, 2);
  return std::move(small.builder).finish();
}

StepProgram lifetimes_of_buffers() {
  auto small = SmallProgram{2};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  small.persistent(role, "weight", 1000);
  auto const logits = role.buffer({.name = small.builder.name("logits"),
                                   .scope = {},
                                   .elements = 300,
                                   .type = DataType::kFp32,
                                   .category = MemoryCategory::kLogits});
  auto const activation = small.temporary(role, "activation", 300);
  auto const gradient = small.persistent(role, "gradient", 300);
  small.fill(role, main, "forward", activation);
  small.scale(role, main, "head", activation, logits);
  small.scale(role, main, "loss", logits, logits);
  small.scale(role, main, "backward", logits, gradient);
  return std::move(small.builder).finish();
}

StepProgram uneven_shards(std::int64_t ranks) {
  auto small = SmallProgram{ranks};
  auto const along = small.builder.along({"data"});
  auto const communicator = small.builder.communicator("data", along);
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const gradient = small.persistent(role, "gradient", 10);
  auto const parameters = small.persistent(role, "parameters", 10);
  auto const shard = Region{parameters, small.chunk_offset(10, along), small.chunk_size(10, along)};
  auto collective = Collective{
      .kind = CollectiveKind::kReduceScatter, .type = DataType::kFp32, .communicator = communicator, .elements = 10};
  role.add(main, small.builder.name("reduce"), collective, role.whole(gradient), shard);
  role.add(main, small.builder.name("update"),
           Elementwise{.function = Function::kScale,
                       .elements = shard.elements,
                       .bytes_per_element = 8,
                       .type = DataType::kFp32,
                       .scalar = -1},
           {reads(shard), writes(shard)});
  collective.kind = CollectiveKind::kAllGather;
  role.add(main, small.builder.name("gather"), collective, shard, role.whole(parameters));
  return std::move(small.builder).finish();
}

StepProgram kernels_and_copies() {
  auto small = SmallProgram{2};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const offload = role.stream("offload");
  auto const input = small.temporary(role, "input", 4 * 3);
  auto const weight = small.persistent(role, "weight", 3 * 5);
  auto const output = small.temporary(role, "output", 4 * 5);
  auto const saved = role.buffer({.name = small.builder.name("saved"),
                                  .scope = {},
                                  .elements = 4 * 5,
                                  .type = DataType::kFp32,
                                  .category = MemoryCategory::kActivations,
                                  .space = MemorySpace::kHost});
  small.fill(role, main, "input", input, 1);
  small.fill(role, main, "weight", weight, 0.5);
  role.add(main, small.builder.name("matmul"), Gemm{.m = 4, .n = 5, .k = 3, .type = DataType::kFp32},
           {reads(role.whole(input)), reads(role.whole(weight)), writes(role.whole(output))});
  auto const activated = role.add(
      main, small.builder.name("gelu"),
      Elementwise{.function = Function::kGelu, .elements = 20, .bytes_per_element = 8, .type = DataType::kFp32},
      {reads(role.whole(output)), writes(role.whole(output))});
  role.wait(offload, activated);
  role.add(offload, small.builder.name("save"), Copy{CopyDirection::kDeviceToHost, 80},
           {reads(role.whole(output)), writes(role.whole(saved))});
  return std::move(small.builder).finish();
}

}  // namespace twinstep::tests
