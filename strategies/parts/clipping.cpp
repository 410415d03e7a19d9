#include "strategies/parts/clipping.hpp"

#include <vector>

#include "strategies/parts/optimizer.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// `gradients` as lists that one kernel can take: those that are equally long on every rank together, each other alone.
std::vector<std::vector<Region>> lists_of(std::span<Region const> gradients) {
  auto lists = std::vector<std::vector<Region>>(1);
  for (auto const& gradient : gradients)
    if (!gradient.elements.varies()) lists.front().push_back(gradient);
  if (lists.front().empty()) lists.clear();
  for (auto const& gradient : gradients)
    if (gradient.elements.varies()) lists.push_back({gradient});
  return lists;
}

/// A kernel on a list of tensors: adds their squares to `norm`, or scales them by it.
void add_list_kernel(StepContext& context, StreamId stream, NameId name, std::vector<Region> const& list, Region norm,
                     Function function) {
  auto const is_clip = function == Function::kClip;
  auto const type = context.role.get(list.front().buffer).type;
  auto const passes = is_clip ? 2 : 1;
  auto elements = list.front().elements;
  if (list.size() > 1) {
    elements = RankValue{0};
    for (auto const& tensor : list) elements.base += tensor.elements.base;
  }
  auto accesses = std::vector<Access>{};
  if (is_clip) accesses.push_back(reads(norm));
  for (auto const& tensor : list) accesses.push_back(is_clip ? updates(tensor) : reads(tensor));
  if (!is_clip) accesses.push_back(updates(norm));
  context.role.add(stream, name,
                   Elementwise{.function = function,
                               .elements = elements,
                               .bytes_per_element = passes * static_cast<std::int32_t>(size_of(type).count()),
                               .type = master_type(context.plan)},
                   accesses, multi_tensor_launches(elements.base, list.size()));
}

/// A number in host memory is summed on the devices: it goes there and comes back.
void share_host_norm(StepContext& context, StreamId cpu, Region norm, Lane lane) {
  auto const name = context.name("gradient_norm.to_device");
  auto const on_device = squared_norm(context, name);
  context.role.wait(context.compute, context.role.last_on(cpu));
  auto const there = copy_between(context, context.compute, name, norm, on_device);
  context.role.wait(context.compute,
                    all_reduce(context, lane, context.name("gradient_norm.all_reduce"), on_device, there));
  auto const back = copy_between(context, context.compute, context.name("gradient_norm.to_host"), on_device, norm);
  context.role.host(context.name("gradient_norm.item"), std::span{&back, 1});
}

}  // namespace

Region squared_norm(StepContext& context, NameId name, MemorySpace space) {
  return context.role.whole(context.role.buffer({.name = name,
                                                 .elements = 1,
                                                 .type = master_type(context.plan),
                                                 .category = MemoryCategory::kWorkspace,
                                                 .space = space}));
}

void add_squares(StepContext& context, StreamId stream, NameId name, std::span<Region const> gradients, Region norm) {
  for (auto const& list : lists_of(gradients))
    add_list_kernel(context, stream, name, list, norm, Function::kSquaredNorm);
}

void scale_to_norm(StepContext& context, StreamId stream, std::span<Region const> gradients, Region norm) {
  for (auto const& list : lists_of(gradients))
    add_list_kernel(context, stream, context.name("gradient.clip"), list, norm, Function::kClip);
}

void clip_gradients(StepContext& context, std::span<Region const> gradients, std::optional<Lane> shared_by,
                    bool host_reads_norm) {
  if (!context.plan.states.clips_gradients || gradients.empty()) return;
  auto const name = context.name("gradient_norm");
  auto const norm = squared_norm(context, name);
  zero_kernel(context, context.compute, name, norm);
  add_squares(context, context.compute, name, gradients, norm);
  auto known = context.role.last_on(context.compute);
  if (shared_by) {
    known = all_reduce(context, *shared_by, context.name("gradient_norm.all_reduce"), norm, known);
    context.role.wait(context.compute, known);
  }
  if (auto const& group = context.model_group) {
    known = all_reduce(context, {group->stream, group->communicator}, context.name("gradient_norm.all_reduce"), norm,
                       known);
    context.role.wait(context.compute, known);
  }
  if (host_reads_norm) context.role.host(context.name("gradient_norm.item"), std::span{&known, 1});
  scale_to_norm(context, context.compute, gradients, norm);
}

void clip_host_gradients(StepContext& context, StreamId cpu, std::span<Region const> gradients,
                         std::optional<Lane> shared_by) {
  if (!context.plan.states.clips_gradients || gradients.empty()) return;
  auto const name = context.name("gradient_norm");
  auto const norm = squared_norm(context, name, MemorySpace::kHost);
  zero_kernel(context, cpu, name, norm);
  add_squares(context, cpu, name, gradients, norm);
  if (shared_by) share_host_norm(context, cpu, norm, *shared_by);
  scale_to_norm(context, cpu, gradients, norm);
}

}  // namespace twinstep::strategies
