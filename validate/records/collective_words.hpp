#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "validate/records/measured_kind.hpp"

/// The words by which logs, programs and traces call collectives and versions of the library.
namespace twinstep::records {

/// The collective that `text` names, however it is spelt: "./build/all_reduce_perf", "ncclDevKernel_AllReduce_Sum_f32",
/// "_reduce_scatter_base". Where several are named, the first of all_reduce's longer kin: "allreduce" before "reduce".
[[nodiscard]] std::optional<validate::MeasuredKind> collective_named_in(std::string_view text);

/// "2.28.7" of 22807, as NCCL codes its versions from 2.9 on.
[[nodiscard]] std::string version_of_code(std::int64_t code);

}  // namespace twinstep::records
