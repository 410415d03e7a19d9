#include "strategies/deepspeed/offload.hpp"

#include <algorithm>

#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {

using namespace program;
using Place = OffloadPlace;

bool offloads_optimizer(Plan const& plan) {
  return plan.states.offload.optimizer != Place::kNone;
}

HostGradients::HostGradients(StepContext& context, std::int64_t elements)
    : context_{context},
      wide_{persistent_buffer(context, "gradient_partition.host", elements, master_type(context.plan),
                              MemoryCategory::kGradients, MemorySpace::kHost)},
      out_{context.name("gradient_partition.to_host")},
      in_{context.name("gradient_partition.to_device")},
      add_{context.name("gradient_partition.accumulate")},
      cast_{context.name("gradient_partition.cast")} {
  if (accumulation(context.plan) > 1 && context.plan.strategy.get<DeepSpeedOptions>().stage > 1)
    sums_ = persistent_buffer(context, "gradient_partition.sums.host", elements, context.plan.kernels.precision,
                              MemoryCategory::kGradients, MemorySpace::kHost);
}

void HostGradients::keep(StreamId stream, Piece const& piece) {
  auto const sums = Region{sums_, piece.to.offset, piece.to.elements};
  if (sums_.exists() && !context_.is_first_micro_step()) {
    auto const before = on_device(context_.plan.kernels.precision, piece.from);
    copy(stream, in_, sums, before, piece);
    add_kernel(context_, stream, add_, piece.from, before);
  }
  if (!context_.is_last_micro_step()) {
    copy(stream, out_, piece.from, sums, piece);
    return;
  }
  look_through(stream, piece.from);
  auto const wide = on_device(master_type(context_.plan), piece.from);
  copy_kernel(context_, stream, cast_, piece.from, wide);
  copy(stream, out_, wide, {wide_, piece.to.offset, piece.to.elements}, piece);
}

void HostGradients::look_through(StreamId stream, Region piece) {
  auto const add = [&](std::string_view name, Region& number) {
    auto const kernel = context_.name(name);
    if (!number.buffer.exists()) {
      number = squared_norm(context_, kernel);
      zero_kernel(context_, stream, kernel, number);
    }
    add_squares(context_, stream, kernel, std::span{&piece, 1}, number);
  };
  add("overflow", checks_.overflow);
  add("gradient_norm", checks_.norm);
}

Region HostGradients::on_device(DataType type, Region like) {
  return context_.role.whole(context_.role.buffer(
      {.name = cast_, .elements = like.elements, .type = type, .category = MemoryCategory::kBuckets}));
}

/// `copy_between`, where ranks may copy different amounts.
void HostGradients::copy(StreamId stream, NameId name, Region from, Region to, Piece const& piece) {
  if (piece.by_rank.empty()) {
    copy_between(context_, stream, name, from, to);
    return;
  }
  auto bytes = piece.by_rank;
  for (auto& of_rank : bytes) of_rank *= size_of(context_.role.get(from.buffer).type).count();
  auto const variation = context_.program.variation({.along = context_.groups.all_axes(), .table = std::move(bytes)});
  auto const is_out = context_.role.get(to.buffer).space == MemorySpace::kHost;
  context_.role.add(
      stream, name,
      Copy{.direction = is_out ? CopyDirection::kDeviceToHost : CopyDirection::kHostToDevice, .bytes = {0, variation}},
      {reads(from), writes(to)});
}

namespace {

/// Numbers of fp32 that NVMe holds for each parameter: gradient, master, and the moments.
std::int64_t stored_numbers(Plan const& plan) {
  return 2 + traits_of(plan.states.optimizer).moments;
}

}  // namespace

CpuOptimizer::CpuOptimizer(StepContext& context, std::int64_t elements, std::vector<SubGroup> sub_groups)
    : context_{context},
      sub_groups_{std::move(sub_groups)},
      cpu_{context.role.stream("cpu", true)},
      updated_{context.name("parameter_partition.updated")},
      read_name_{context.name("optimizer.read")},
      write_name_{context.name("optimizer.write")} {
  auto const optimizer = [&](std::string_view name, std::int64_t count, MemorySpace space) {
    return persistent_buffer(context, name, count, master_type(context.plan), MemoryCategory::kOptimizer, space);
  };
  auto const& places = context.plan.states.offload;
  if (places.optimizer == Place::kNvme || places.parameters == Place::kNvme)
    write_ = context.role.stream("nvme_write", true);
  if (context.plan.states.offload.optimizer == Place::kNvme) {
    on_nvme_ = optimizer("optimizer.nvme", stored_numbers(context.plan) * elements, MemorySpace::kNvme);
    auto const largest = std::ranges::max(sub_groups_, {}, &SubGroup::elements).elements;
    for (auto& window : windows_)
      window = optimizer("optimizer.window", stored_numbers(context.plan) * largest, MemorySpace::kHost);
    read_ = context.role.stream("nvme_read", true);
    return;
  }
  states_.emplace(context, elements, MemorySpace::kHost);
  auto const is_apart = context.plan.states.offload.parameters == Place::kNone;
  if (is_apart && !has_master_copy(context.plan)) master_ = optimizer("master", elements, MemorySpace::kHost);
}

OpId CpuOptimizer::update(HostGradients const& host, Lane lane, Region parameters) {
  auto last = OpId{};
  auto const gradients = host.whole();
  share_host_checks(context_, host.checks(), lane);
  scale(gradients, host.checks().norm);
  for (auto const& group : sub_groups_) {
    auto const stretch = [&group](Region whole) {
      whole.offset.base += group.begin;
      whole.elements = group.elements;
      return whole;
    };
    auto const to = stretch(parameters);
    auto const updated = host_parameters(to, group.begin);
    if (states_)
      states_->update(cpu_, group.begin, updated, stretch(gradients));
    else
      update_from_nvme(group, stretch(gradients), updated);
    last = put(updated, to);
  }
  return last;
}

/// A pass over the gradients in any case, as DeepSpeed's.
void CpuOptimizer::scale(Region gradients, Region norm) {
  context_.role.wait(cpu_, context_.role.last_on(context_.compute));
  if (!context_.plan.states.clips_gradients) {
    scale_kernel(context_, cpu_, context_.name("gradient.unscale"), gradients, 1);
    return;
  }
  auto const name = context_.name("gradient_norm.to_host");
  auto const on_host = squared_norm(context_, name, MemorySpace::kHost);
  context_.role.wait(cpu_, copy_between(context_, context_.compute, name, norm, on_host));
  scale_to_norm(context_, cpu_, std::span{&gradients, 1}, on_host);
}

/// Where the CPU writes what becomes `parameters`.
Region CpuOptimizer::host_parameters(Region parameters, std::int64_t begin) {
  if (context_.role.get(parameters.buffer).space == MemorySpace::kHost) return parameters;
  if (master_.exists()) return {master_, begin, parameters.elements};
  return context_.role.whole(context_.role.buffer({.name = updated_,
                                                   .elements = parameters.elements,
                                                   .type = context_.plan.kernels.precision,
                                                   .category = MemoryCategory::kParameters,
                                                   .space = MemorySpace::kHost}));
}

/// The step is synchronous: compute goes on when everything is there.
OpId CpuOptimizer::put(Region updated, Region parameters) {
  auto last = context_.role.last_on(cpu_);
  if (updated.buffer != parameters.buffer) {
    auto const is_on_nvme = context_.role.get(parameters.buffer).space == MemorySpace::kNvme;
    auto const stream = is_on_nvme ? write_ : context_.compute;
    context_.role.wait(stream, last);
    last = copy_between(context_, stream, updated_, updated, parameters);
  }
  context_.role.wait(context_.compute, last);
  return last;
}

/// One sub-group: read, updated in place and written back, in one of the two windows.
void CpuOptimizer::update_from_nvme(SubGroup group, Region gradients, Region updated) {
  auto& role = context_.role;
  auto const count = group.elements;
  auto const numbers = stored_numbers(context_.plan);
  auto const stored = Region{on_nvme_, numbers * group.begin, numbers * count};
  auto const index = window_++ % windows_.size();
  auto const window = Region{windows_[index], 0, stored.elements};
  if (written_[index].exists()) role.wait(read_, written_[index]);
  role.wait(cpu_, copy_between(context_, read_, read_name_, stored, window));
  // Reads and writes all but the gradient, which it only reads; writes the copy.
  auto const bytes = 4 * (2 * numbers - 1) + size_of(context_.plan.kernels.precision).count();
  role.wait(write_, role.add(cpu_, context_.name("optimizer.update"),
                             Elementwise{.elements = count,
                                         .bytes_per_element = static_cast<std::int32_t>(bytes),
                                         .type = master_type(context_.plan),
                                         .family = KernelFamily::kModel},
                             {updates(window), reads(gradients), writes(updated)}));
  written_[index] = copy_between(context_, write_, write_name_, window, stored);
}

}  // namespace twinstep::strategies
