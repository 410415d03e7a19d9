#include <algorithm>
#include <array>

#include "validate/records/collective_words.hpp"
#include "validate/records/kineto_trace.hpp"
#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using program::WorkKind;

bool names_one_of(std::string_view letters, auto const& words) {
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return letters.find(word) != std::string_view::npos; });
}

/// By the names of c10d ("_allgather_base", "all_to_allv", "send", "coalesced") and of NCCL's kernels.
std::optional<WorkKind> communication_named_in(std::string_view text) {
  if (auto const kind = collective_named_in(text)) {
    auto const collective = kind->collective;
    return collective ? program::work_kind(*collective) : WorkKind::kPointToPoint;
  }
  auto const letters = plain_letters(text);
  if (names_one_of(letters, std::array{"send", "recv"})) return WorkKind::kPointToPoint;
  return std::nullopt;
}

}  // namespace

WorkKind kernel_kind(std::string_view name, std::optional<std::string_view> collective) {
  auto const letters = plain_letters(name);
  // Besides the library's kernels, those of frameworks: "multimem_all_reduce_kernel".
  constexpr auto kExchanges = std::array{"allreduce", "allgather", "reducescatter", "alltoall"};
  auto const is_library = letters.starts_with("nccl") || letters.starts_with("rccl");
  if (collective || is_library || names_one_of(letters, kExchanges)) {
    if (collective)
      if (auto const kind = communication_named_in(*collective)) return *kind;
    return communication_named_in(name).value_or(WorkKind::kGroup);
  }
  // Names of cuBLAS, cuDNN, CUTLASS, rocBLAS (Tensile's Cijk_), and of the attention kernels in use.
  constexpr auto kAttention = std::array{"flash", "fmha", "attention", "sdpa"};
  constexpr auto kGemm = std::array{"gemm", "cutlass", "nvjet", "xmma", "cublas", "cijk", "splitkreduce", "conv2d"};
  if (names_one_of(letters, kAttention)) return WorkKind::kAttention;
  return names_one_of(letters, kGemm) ? WorkKind::kGemm : WorkKind::kElementwise;
}

}  // namespace twinstep::records
