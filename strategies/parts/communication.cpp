#include "strategies/parts/communication.hpp"

#include "sim/base/check.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

OpId communicate(StepContext& context, Lane lane, NameId name, Collective collective, Region sent, Region received,
                 OpId after) {
  if (after.exists()) context.role.wait(lane.stream, after);
  collective.type = context.role.get(sent.buffer).type;
  collective.communicator = lane.communicator;
  return context.role.add(lane.stream, name, collective, sent, received);
}

DataType type_of(StepContext const& context, Region const& region) {
  return context.role.get(region.buffer).type;
}

std::int32_t element_bytes(StepContext const& context, Region const& region) {
  return static_cast<std::int32_t>(size_of(type_of(context, region)).count());
}

CopyDirection direction(MemorySpace from, MemorySpace to) {
  using enum MemorySpace;
  if (from == kHost && to == kDevice) return CopyDirection::kHostToDevice;
  if (from == kDevice && to == kHost) return CopyDirection::kDeviceToHost;
  if (from == kHost && to == kNvme) return CopyDirection::kHostToNvme;
  if (from == kNvme && to == kHost) return CopyDirection::kNvmeToHost;
  TWINSTEP_CHECK(from == kDevice && to == kDevice, "device and NVMe exchange data through host memory");
  return CopyDirection::kDeviceToDevice;
}

}  // namespace

OpId reduce_scatter(StepContext& context, Lane lane, NameId name, Region whole, Region own, OpId after,
                    Reduction reduction) {
  return communicate(context, lane, name,
                     {.kind = CollectiveKind::kReduceScatter, .reduction = reduction, .elements = whole.elements},
                     whole, own, after);
}

OpId all_gather(StepContext& context, Lane lane, NameId name, Region own, Region whole, OpId after) {
  return communicate(context, lane, name, {.kind = CollectiveKind::kAllGather, .elements = whole.elements}, own, whole,
                     after);
}

OpId all_reduce(StepContext& context, Lane lane, NameId name, Region region, OpId after, Reduction reduction) {
  return communicate(context, lane, name,
                     {.kind = CollectiveKind::kAllReduce, .reduction = reduction, .elements = region.elements}, region,
                     region, after);
}

OpId broadcast(StepContext& context, Lane lane, NameId name, Region region, RankValue root, OpId after) {
  return communicate(context, lane, name,
                     {.kind = CollectiveKind::kBroadcast, .elements = region.elements, .root = root}, region, region,
                     after);
}

OpId copy_kernel(StepContext& context, StreamId stream, NameId name, Region from, Region to, double scale,
                 std::uint32_t launches) {
  auto const work = Elementwise{.function = Function::kScale,
                                .elements = to.elements,
                                .bytes_per_element = element_bytes(context, from) + element_bytes(context, to),
                                .type = type_of(context, to),
                                .scalar = scale};
  return context.role.add(stream, name, work, {reads(from), writes(to)}, launches);
}

OpId add_kernel(StepContext& context, StreamId stream, NameId name, Region sum, Region part, std::uint32_t launches) {
  auto const work = Elementwise{.function = Function::kAdd,
                                .elements = sum.elements,
                                .bytes_per_element = 2 * element_bytes(context, sum) + element_bytes(context, part),
                                .type = type_of(context, sum)};
  return context.role.add(stream, name, work, {reads(sum), reads(part), writes(sum)}, launches);
}

OpId scale_kernel(StepContext& context, StreamId stream, NameId name, Region region, double scale,
                  std::uint32_t launches) {
  auto const work = Elementwise{.function = Function::kScale,
                                .elements = region.elements,
                                .bytes_per_element = 2 * element_bytes(context, region),
                                .type = type_of(context, region),
                                .scalar = scale};
  return context.role.add(stream, name, work, {reads(region), writes(region)}, launches);
}

OpId zero_kernel(StepContext& context, StreamId stream, NameId name, Region region) {
  auto const work = Elementwise{.function = Function::kFill,
                                .elements = region.elements,
                                .bytes_per_element = element_bytes(context, region),
                                .type = type_of(context, region),
                                .scalar = 0};
  return context.role.add(stream, name, work, {writes(region)});
}

OpId copy_between(StepContext& context, StreamId stream, NameId name, Region from, Region to) {
  TWINSTEP_CHECK(!from.elements.varies(), "every rank copies as much");
  auto const copy = Copy{.direction = direction(context.role.get(from.buffer).space, context.role.get(to.buffer).space),
                         .bytes = size_of(type_of(context, from)).count() * from.elements.base};
  return context.role.add(stream, name, copy, {reads(from), writes(to)});
}

void sum_together(StepContext& context, NamedGroup const& group, std::span<Region const> tensors) {
  auto elements = std::int64_t{0};
  for (auto const& tensor : tensors) elements += tensor.elements.base;
  auto const name = context.name("partial_gradients");
  auto const flat = context.role.buffer({.name = name,
                                         .elements = elements,
                                         .type = context.role.get(tensors.front().buffer).type,
                                         .category = MemoryCategory::kWorkspace});
  auto places = std::vector<Region>{};
  for (auto const& tensor : tensors) {
    auto const begin = places.empty() ? 0 : places.back().offset.base + places.back().elements.base;
    places.push_back({flat, begin, tensor.elements});
    copy_kernel(context, context.compute, name, tensor, places.back());
  }
  auto const sum = all_reduce(context, {group.stream, group.communicator}, context.name("partial_gradients.all_reduce"),
                              context.role.whole(flat), context.role.last_on(context.compute));
  context.role.wait(context.compute, sum);
  for (std::size_t i = 0; i < tensors.size(); ++i) copy_kernel(context, context.compute, name, places[i], tensors[i]);
}

}  // namespace twinstep::strategies
