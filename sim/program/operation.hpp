#pragma once

#include <array>
#include <cstdint>
#include <variant>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/program/kinds.hpp"
#include "sim/program/rank_value.hpp"
#include "sim/program/scope.hpp"

/// What a rank does. Operations are logical: shapes, bytes and communicators; never the duration of a kernel, never
/// an algorithm.
namespace twinstep::program {

/// A stretch of one of a role's flat lists.
struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool operator==(IndexRange const&) const = default;
};

enum class AccessMode : std::uint8_t { kRead, kWrite, kReadWrite };

/// A stretch of a buffer, in elements.
struct Region {
  BufferId buffer;
  RankValue offset;
  RankValue elements;
  bool operator==(Region const&) const = default;
};

/// One operand of an operation.
struct Access {
  Region region;
  AccessMode mode = AccessMode::kRead;
  bool operator==(Access const&) const = default;
};

/// Which operand of a GEMM holds the windows of a convolution (an implicit GEMM). They overlap, so that operand is
/// another size in memory than as a matrix, which is never laid out.
enum class Windows : std::uint8_t { kNone, kA, kB, kC };

/// Operands of a batched GEMM whose matrices do not follow each other: those of `heads` successive products stand side
/// by side, as the heads of attention do in a row of tokens.
struct SideBySide {
  std::int32_t heads = 1;
  bool a = false;
  bool b = false;
  bool c = false;
  bool operator==(SideBySide const&) const = default;
};

/// C[m, n] = A[m, k] · B[k, n], `batch` times; added to C if `accumulate`. A transposed operand is stored [k, m]
/// or [n, k]. Operands: A, B, C, and a bias of n numbers that is added to each row of C, if there is one.
struct Gemm {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
  DataType type = DataType::kBf16;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  Windows windows = Windows::kNone;
  std::int64_t window_elements = 0;  ///< of the operand that holds windows, in memory, over the whole batch
  SideBySide side_by_side = {};
  bool operator==(Gemm const&) const = default;
};

/// Elements that A, B and C have in memory, over the whole batch.
[[nodiscard]] std::array<std::int64_t, 3> operand_elements(Gemm const& gemm);

/// Fused (flash) attention over `batch` sequences: softmax(queries · keysᵀ / √head_size) · values, each head by itself.
/// `backward` is the gradient of all three inputs, which also recomputes the scores. Rows are tokens, and heads stand
/// side by side in them. Operands: queries, keys, values, or all three side by side in one; result, log-sum-exp (a
/// number for each head of a token). Backward: the same inputs, result, log-sum-exp, gradient of the result, gradients
/// of queries, keys and values.
struct Attention {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t query_length = 1;
  std::int64_t key_length = 1;
  std::int64_t head_size = 1;
  DataType type = DataType::kBf16;
  bool causal = true;
  bool backward = false;
  bool alibi = false;  ///< positions as a bias of the scores
  bool operator==(Attention const&) const = default;
};

/// Sizes that some functions need: see `Function`.
struct RowShape {
  std::int32_t width = 0;  ///< numbers of a row, or of what is repeated
  std::int32_t sequence = 0;
  std::int32_t heads = 0;
  std::int32_t head_size = 0;

  /// Of what is repeated.
  [[nodiscard]] std::int64_t period() const { return std::int64_t{width} * (sequence > 0 ? sequence : 1); }
  bool operator==(RowShape const&) const = default;
};

/// A kernel whose cost is the memory that it reads and writes.
struct Elementwise {
  Function function = Function::kCostOnly;
  RankValue elements;
  std::int32_t bytes_per_element = 0;  ///< read and written together
  DataType type = DataType::kBf16;     ///< in which it computes
  KernelFamily family = KernelFamily::kStrategy;
  bool accumulate = false;
  double scalar = 1;
  RowShape rows = {};
  bool operator==(Elementwise const&) const = default;
};

/// One collective. `elements` is the large side: the whole buffer of all_reduce, broadcast and reduce; what every
/// rank holds after all_gather or before reduce_scatter; what the root holds in gather and scatter; what a rank sends
/// in all_to_all. It is cut into one chunk for each rank at `chunk_begin`. Operands: what is sent, what is received.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;
  DataType type = DataType::kBf16;
  CommunicatorId communicator;
  RankValue elements;
  RankValue root;  ///< a place in the communicator
  bool operator==(Collective const&) const = default;
};

/// One side of a message between two ranks. The k-th send from a to b on a communicator meets the k-th receive at b
/// from a on it.
/// Operand: the region sent or received.
struct PointToPoint {
  bool sends = true;
  DataType type = DataType::kBf16;
  CommunicatorId communicator;
  RankValue peer;  ///< a place in the communicator
  RankValue elements;
  bool operator==(PointToPoint const&) const = default;
};

using CommunicationPart = std::variant<Collective, PointToPoint>;

/// One or several communications that start together and end together, like an NCCL group. The operands of the
/// parts follow each other in the operation's accesses.
struct Communication {
  IndexRange parts;
  bool operator==(Communication const&) const = default;
};

/// Bytes moved between memories or inside one. Operands: source, destination.
struct Copy {
  CopyDirection direction = CopyDirection::kDeviceToDevice;
  RankValue bytes;
  bool operator==(Copy const&) const = default;
};

/// Time that passes and does nothing. On a stream it emulates a kernel; on the host (an operation without a stream)
/// it is host work, and zero of it makes the operation a plain host synchronisation.
struct Delay {
  Duration duration;
  bool operator==(Delay const&) const = default;
};

using Work = std::variant<Gemm, Attention, Elementwise, Communication, Copy, Delay>;

/// One entry of a rank's program.
///
/// The host issues operations in list order. An operation runs when the one before it on its stream has ended and
/// every operation that it waits for has ended; it may wait only for operations issued earlier, so a rank's program
/// has no cycle. Without a stream it is a host operation: the host itself waits, then works.
struct Operation {
  NameId name;                 ///< what: "attention.query"
  ScopeId scope;               ///< unit, pass and micro-batch; none for what is no part of a model's step
  StreamId stream;             ///< none for a host operation
  std::uint32_t launches = 1;  ///< kernels that the host launches for it
  IndexRange waits;            ///< in Role::waits
  IndexRange accesses;         ///< in Role::accesses
  Work work;
  bool operator==(Operation const&) const = default;

  [[nodiscard]] bool is_on_host() const { return !stream.exists(); }
};
static_assert(sizeof(Operation) <= 96, "steps are made of millions of operations");

/// Floating-point operations, a multiply-add counted as two. Attention counts the scores that it computes: half of
/// them when causal (Dao, FlashAttention-2, arXiv 2307.08691, section 4.1: 4 s² d a forward, 2.5 times that backward).
/// Memory-bound kernels and everything else count as zero.
[[nodiscard]] Flops flops_of(Work const& work);

}  // namespace twinstep::program

namespace twinstep {

template <>
struct EnumNames<program::Windows> {
  static constexpr std::array<std::string_view, 4> values{"none", "a", "b", "c"};
};

}  // namespace twinstep
