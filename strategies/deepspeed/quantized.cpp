#include "strategies/deepspeed/quantized.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

constexpr std::int64_t kBlock = 8000;  // partition_parameters.py, CUDAQuantizer.target_group_size

std::int64_t blocks(std::int64_t elements) {
  return (elements + kBlock - 1) / kBlock;
}

Region buffer(StepContext& context, std::string_view name, std::int64_t elements, DataType type) {
  return context.role.whole(context.role.buffer(
      {.name = context.name(name), .elements = elements, .type = type, .category = MemoryCategory::kBuckets}));
}

Quantized room(StepContext& context, std::int64_t bytes, std::int64_t scales) {
  return {buffer(context, "quantized", bytes, DataType::kInt8), buffer(context, "scales", scales, DataType::kFp32)};
}

/// A kernel that moves so many bytes.
OpId kernel(StepContext& context, StreamId stream, std::string_view name, std::int64_t bytes,
            std::initializer_list<Access> accesses) {
  return context.role.add(stream, context.name(name),
                          Elementwise{.elements = bytes,
                                      .bytes_per_element = 1,
                                      .type = context.plan.kernels.precision,
                                      .family = KernelFamily::kModel},
                          accesses);
}

std::int64_t bytes(StepContext const& context, Region const& region) {
  return size_of(context.role.get(region.buffer).type).count() * region.elements.base;
}

void quantize(StepContext& context, StreamId stream, Region from, Quantized const& to) {
  kernel(context, stream, "quantize", bytes(context, from) + bytes(context, to.values),
         {reads(from), writes(to.values), writes(to.scales)});
}

Region all_to_all(StepContext& context, StreamId stream, Lane lane, Region sent, std::string_view name) {
  auto const type = context.role.get(sent.buffer).type;
  auto const received = buffer(context, name, sent.elements.base, type);
  if (auto const before = context.role.last_on(stream); before.exists()) context.role.wait(lane.stream, before);
  auto const done = context.role.add(lane.stream, context.name("gradient.all_to_all"),
                                     Collective{.kind = CollectiveKind::kAllToAll,
                                                .type = type,
                                                .communicator = lane.communicator,
                                                .elements = sent.elements},
                                     sent, received);
  context.role.wait(stream, done);
  return received;
}

Quantized exchange(StepContext& context, StreamId stream, Lane lane, Quantized const& sent) {
  return {all_to_all(context, stream, lane, sent.values, "quantized"),
          all_to_all(context, stream, lane, sent.scales, "scales")};
}

}  // namespace

QuantizedGather gather_quantized(StepContext& context, StreamId stream, Lane lane, Region own, std::int64_t ranks) {
  auto const elements = own.elements.base;
  auto const part = room(context, elements, blocks(elements));
  quantize(context, stream, own, part);
  auto const whole = room(context, ranks * elements, ranks * blocks(elements));
  auto const name = context.name("module.all_gather");
  all_gather(context, lane, name, part.values, whole.values, context.role.last_on(stream));
  return {whole, all_gather(context, lane, name, part.scales, whole.scales)};
}

void dequantize(StepContext& context, StreamId stream, Quantized const& from, Region to) {
  kernel(context, stream, "dequantize", bytes(context, from.values) + bytes(context, to),
         {reads(from.values), reads(from.scales), writes(to)});
}

bool can_reduce_quantized(StepContext const& context, ParameterId id) {
  auto const& tensor = context.parameters.tensor(id);
  return tensor.rows > 1 && tensor.columns > 1 && tensor.elements() % (2 * context.groups.ranks()) == 0;
}

Region reduce_quantized(StepContext& context, StreamId stream, Lane inside, std::optional<Lane> outside,
                        Region gradient) {
  auto const elements = gradient.elements.base;
  auto const inner = context.groups.shard_ranks();
  auto const outer = context.groups.replicas();
  auto const scales = outer * ((blocks(elements) + inner * outer - 1) / (inner * outer));  // of one inner rank's part
  auto const packed = room(context, elements / 2, inner * scales);
  quantize(context, stream, gradient, packed);
  auto received = exchange(context, stream, inside, packed);
  if (outside) {
    auto const summed = room(context, elements / 2 / inner, scales);
    kernel(context, stream, "quantized_reduction", bytes(context, received.values) + bytes(context, summed.values),
           {reads(received.values), reads(received.scales), writes(summed.values), writes(summed.scales)});
    received = exchange(context, stream, *outside, summed);
  }
  auto const count = outside ? outer : inner;
  auto const terms = buffer(context, "dequantized", elements / (inner * outer) * count, context.plan.kernels.precision);
  dequantize(context, stream, received, terms);
  auto const own = buffer(context, "gradient.own", elements / (inner * outer), context.plan.kernels.precision);
  kernel(context, stream, "gradient.mean", bytes(context, terms) + bytes(context, own), {reads(terms), writes(own)});
  return own;
}

}  // namespace twinstep::strategies
