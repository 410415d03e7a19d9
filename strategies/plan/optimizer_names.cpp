#include "strategies/plan/optimizer_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::strategies {
namespace {

using enum Optimizer;

constexpr auto kNames = std::to_array<std::pair<std::string_view, Optimizer>>({
    {"adamw_torch", kAdamWForeach},
    {"adamw_torch_fused", kAdamWFused},
    {"adamw_hf", kAdamWForeach},
    {"adamw_apex_fused", kAdamWFused},
    {"adamw_bnb_8bit", kAdamW8Bit},
    {"adamw_8bit", kAdamW8Bit},
    {"adamw_torch_8bit", kAdamW8Bit},
    {"paged_adamw", kPagedAdamW},
    {"paged_adamw_32bit", kPagedAdamW},
    {"paged_adamw_8bit", kPagedAdamW8Bit},
    {"Adam", kAdamWForeach},
    {"AdamW", kAdamWForeach},
    {"FusedAdam", kAdamWFused},
    {"DeepSpeedCPUAdam", kAdamWFused},
    {"Adam32bit", kAdamWFused},
    {"AdamW32bit", kAdamWFused},
    {"Adam8bit", kAdamW8Bit},
    {"AdamW8bit", kAdamW8Bit},
    {"PagedAdam", kPagedAdamW},
    {"PagedAdamW", kPagedAdamW},
    {"PagedAdam32bit", kPagedAdamW},
    {"PagedAdamW32bit", kPagedAdamW},
    {"PagedAdam8bit", kPagedAdamW8Bit},
    {"PagedAdamW8bit", kPagedAdamW8Bit},
    {"SGD", kSgd},
});

}  // namespace

std::optional<Optimizer> optimizer_called(std::string_view name) {
  if (auto const dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  auto const* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, Optimizer>::first);
  return found != kNames.end() ? std::optional{found->second} : std::nullopt;
}

}  // namespace twinstep::strategies
