#include "strategies/clipping.hpp"

#include <vector>

#include "strategies/optimizer.hpp"

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

/// A kernel on a list of tensors that moves each element `passes` times.
void add_list_kernel(StepContext& context, NameId name, Function function, std::vector<Region> const& list, Region norm,
                     int passes) {
  auto const is_clip = function == Function::kClip;
  auto const type = context.role.get(list.front().buffer).type;
  auto elements = list.front().elements;
  if (list.size() > 1) {
    elements = RankValue{0};
    for (auto const& tensor : list) elements.base += tensor.elements.base;
  }
  auto accesses = std::vector<Access>{};
  if (is_clip) accesses.push_back(reads(norm));
  for (auto const& tensor : list) accesses.push_back(is_clip ? updates(tensor) : reads(tensor));
  if (!is_clip) accesses.push_back(updates(norm));
  context.role.add(context.compute, name,
                   Elementwise{.function = function,
                               .elements = elements,
                               .bytes_per_element = passes * static_cast<std::int32_t>(size_of(type).count()),
                               .type = master_type(context.plan)},
                   accesses, multi_tensor_launches(elements.base, list.size()));
}

}  // namespace

void clip_gradients(StepContext& context, std::span<Region const> gradients, std::optional<Lane> shared_by,
                    bool host_reads_norm) {
  if (!context.plan.clips_gradients || gradients.empty()) return;
  auto& role = context.role;
  auto const norm_name = context.program.name("gradient_norm");
  auto const norm = role.whole(role.buffer(
      {.name = norm_name, .elements = 1, .type = master_type(context.plan), .category = MemoryCategory::kWorkspace}));
  auto const lists = lists_of(gradients);
  zero_kernel(context, context.compute, norm_name, norm);
  for (auto const& list : lists) add_list_kernel(context, norm_name, Function::kSquaredNorm, list, norm, 1);
  auto known = role.last_on(context.compute);
  if (shared_by) {
    known = all_reduce(context, *shared_by, context.program.name("gradient_norm.all_reduce"), norm, known);
    role.wait(context.compute, known);
  }
  if (host_reads_norm) role.host(context.program.name("gradient_norm.item"), std::span{&known, 1});
  for (auto const& list : lists)
    add_list_kernel(context, context.program.name("gradient.clip"), Function::kClip, list, norm, 2);
}

}  // namespace twinstep::strategies
