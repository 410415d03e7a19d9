#pragma once

#include <span>
#include <vector>

#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/flat_layout.hpp"

/// Copies that fall apart into many pieces.
namespace twinstep::strategies {

/// Gradients as backward makes them: each in a buffer of its own, until it has been taken into a bucket.
class MadeGradients {
 public:
  explicit MadeGradients(StepContext& context) : context_{context}, made_(context.parameters.count()) {}

  [[nodiscard]] program::Region of(ParameterId id);
  void let_go(ParameterId id) { made_[id.index()] = {}; }

 private:
  StepContext& context_;
  std::vector<BufferId> made_;
  NameId name_ = context_.name("grad");
};

/// A stretch that is copied, or added, to another of as many elements.
struct Piece {
  program::Region from;
  program::Region to;
  std::vector<std::int64_t> by_rank;  ///< elements on each rank where they differ
};

/// Whether each piece is written by itself, for an executor that carries data: an MLP's, and in fp64 any model's. Else
/// one kernel that only has a cost stands for all: the pieces grow with the number of ranks, and their bytes tell all
/// there is to know.
[[nodiscard]] bool writes_every_piece(StepContext const& context);

/// Copies all pieces by one kernel, as torch.cat does, or, where every piece is written, by one each.
OpId copy_pieces(StepContext& context, StreamId stream, NameId name, std::span<Piece const> pieces);

/// What of a bucket belongs to this rank's partition of the flat buffer, an equal stretch for each rank: pieces from
/// `bucket`, whose members lie in registration order, to `partition`. A rank's partition begins and ends anywhere.
/// Where every piece is written, ranks get just that; otherwise each gets its equal share of every bucket, which is as
/// much in the whole step and keeps ranks alike.
[[nodiscard]] std::vector<Piece> own_pieces(StepContext& context, FlatLayout const& flat, FlatLayout const& buckets,
                                            Group const& group, program::Region bucket, BufferId partition);

}  // namespace twinstep::strategies
