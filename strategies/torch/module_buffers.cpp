#include "strategies/torch/module_buffers.hpp"

#include <algorithm>

#include "strategies/parts/states.hpp"

namespace twinstep::strategies {

using namespace program;

ModuleBuffers::ModuleBuffers(StepContext& context) : context_{context} {
  if (auto const elements = context.model.buffer_elements; elements > 0)
    buffers_ = persistent_buffer(context, "module_buffers", elements, DataType::kFp32, MemoryCategory::kParameters);
}

void ModuleBuffers::broadcast(Lane lane) {
  constexpr std::int64_t kMostElements = (std::int64_t{250} << 20) / 4;
  if (!buffers_.exists()) return;
  auto const name = context_.program.name("module_buffers.broadcast");
  auto const total = context_.model.buffer_elements;
  for (std::int64_t begin = 0; begin < total; begin += kMostElements) {
    auto const part = Region{buffers_, begin, std::min(kMostElements, total - begin)};
    auto const flat = context_.role.whole(context_.role.buffer(
        {.name = name, .elements = part.elements, .type = DataType::kFp32, .category = MemoryCategory::kBuckets}));
    auto const flattened = copy_kernel(context_, context_.compute, name, part, flat);
    context_.role.wait(context_.compute, strategies::broadcast(context_, lane, name, flat, 0, flattened));
    copy_kernel(context_, context_.compute, name, flat, part);
  }
}

}  // namespace twinstep::strategies
