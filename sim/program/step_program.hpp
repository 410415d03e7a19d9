#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/operation.hpp"

namespace twinstep::program {

/// Texts that many entries share, each stored once.
using NameTable = std::vector<std::string>;

/// A queue on which a rank's operations run one after another.
struct Stream {
  NameId name;
  bool is_on_host = false;  ///< its kernels run on the CPU and move host memory
  bool operator==(Stream const&) const = default;
};

/// Memory that operations read and write.
///
/// A persistent buffer lives before, during and after the step. Any other is allocated when the host issues the
/// first operation that touches it and released after the last, so lifetimes follow from use.
struct Buffer {
  NameId name;
  ScopeId scope;
  RankValue elements;
  DataType type = DataType::kBf16;
  MemoryCategory category = MemoryCategory::kActivations;
  MemorySpace space = MemorySpace::kDevice;
  bool is_persistent = false;
  /// The allocator is told of every stream that uses it (record_stream), so that its block comes back when the last of
  /// them is done. Otherwise the program orders them before what its first stream does next, and the block comes back
  /// to that one as soon as the host lets go.
  bool is_recorded = true;
  // These follow from the operations.
  OpId first_use;  ///< none if nothing touches it
  OpId last_use;
  bool crosses_streams = false;  ///< operations of more than one stream touch it
  bool operator==(Buffer const&) const = default;

  /// Whether its block comes back when an operation ends, rather than when the host lets go.
  [[nodiscard]] bool returns_late() const { return crosses_streams && is_recorded; }
};

/// Ranks at one coordinate of an axis.
struct AxisCoordinate {
  AxisId axis;
  std::int64_t coordinate = 0;
  bool operator==(AxisCoordinate const&) const = default;
};

/// The program of all ranks that do the same: a pipeline stage, say, or every rank of a data-parallel job.
struct Role {
  NameId name;
  GridId grid{0};                     ///< whose axes `where` names
  std::vector<AxisCoordinate> where;  ///< which ranks: those at all of these coordinates; empty for every rank
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  std::vector<Operation> operations;  ///< in the order of issue
  std::vector<OpId> waits;
  std::vector<Access> accesses;
  std::vector<CommunicationPart> parts;
  bool operator==(Role const&) const = default;

  [[nodiscard]] std::span<OpId const> waits_of(Operation const& op) const {
    return std::span{waits}.subspan(op.waits.first, op.waits.count);
  }
  [[nodiscard]] std::span<Access const> accesses_of(Operation const& op) const {
    return std::span{accesses}.subspan(op.accesses.first, op.accesses.count);
  }
  [[nodiscard]] std::span<CommunicationPart const> parts_of(Communication const& communication) const {
    return std::span{parts}.subspan(communication.parts.first, communication.parts.count);
  }
};

/// Ranks that communicate: for every rank, those that differ from it only `along` axes of a grid. There are many groups
/// of one communicator, side by side.
struct Communicator {
  NameId name;
  GridAxes along;
  bool operator==(Communicator const&) const = default;
};

/// Settings of AdamW (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2), with bias correction.
struct AdamWSettings {
  double learning_rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  bool operator==(AdamWSettings const&) const = default;
};

/// What the step achieves, for rates and utilisation.
struct StepFacts {
  std::int64_t tokens = 0;  ///< tokens (or samples) of the global batch
  Flops model_flops;        ///< of all ranks, without recomputation
  Flops hardware_flops;     ///< of all ranks, counted the same way, with recomputation
  DataType compute_type = DataType::kBf16;
  bool operator==(StepFacts const&) const = default;
};

/// A micro-batch that stands for further ones like it, which follow it in every role and are not written.
///
/// They are numbered on from it. What one has of its own (operations, buffers) differs from its predecessor's as the
/// written one's does from that of the micro-batch before (`unfold`).
struct Repeat {
  std::int32_t micro_batch = 0;
  std::int64_t times = 0;  ///< further ones
  bool operator==(Repeat const&) const = default;
};

/// One training step of a whole job as data: what every rank does, on which memory, in what order. It depends on the
/// model and the plan alone; a clock, virtual or real, gives it times.
struct StepProgram {
  Grids grids;
  NameTable names;
  std::vector<Scope> scopes;
  std::vector<Variation> variations;
  std::vector<Communicator> communicators;
  std::vector<Role> roles;
  std::optional<Repeat> repeat;  ///< in a folded program
  AdamWSettings adamw;
  StepFacts facts;
  bool operator==(StepProgram const&) const = default;

  [[nodiscard]] std::string_view text(NameId name) const {
    return name.exists() ? std::string_view{names[name.index()]} : std::string_view{};
  }
  [[nodiscard]] std::string text(ScopeId scope) const {
    return scope.exists() ? scope_text(scopes[scope.index()], names) : std::string{};
  }
  [[nodiscard]] std::int32_t micro_batch_of(ScopeId scope) const {
    return scope.exists() ? scopes[scope.index()].micro_batch : Scope::kNoMicroBatch;
  }
  [[nodiscard]] Pass pass_of(ScopeId scope) const { return scope.exists() ? scopes[scope.index()].pass : Pass::kNone; }
  /// `value` on one rank.
  [[nodiscard]] std::int64_t evaluate(RankValue value, RankId rank) const;
  [[nodiscard]] bool plays(Role const& role, RankId rank) const;
  /// The role that `rank` plays. Requires a well-formed program.
  [[nodiscard]] RoleId role_of(RankId rank) const;
  /// How many ranks play `role`.
  [[nodiscard]] std::int64_t multiplicity(RoleId role) const;
  /// "layer.17.backward/attention.query", for messages.
  [[nodiscard]] std::string describe(Operation const& op) const;
};

/// What the spans of `op` are busy with.
[[nodiscard]] WorkKind work_kind_of(Role const& role, Operation const& op);

/// Bytes that `part` carries, on its large side, on `rank`.
[[nodiscard]] Bytes payload(StepProgram const& program, CommunicationPart const& part, RankId rank);

}  // namespace twinstep::program
