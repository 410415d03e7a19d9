#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

using CellId = Id<struct CellTag>;  ///< a class of interchangeable ranks

/// Whether ranks that are alike become one cell, or every rank its own.
enum class Merging : std::uint8_t { kAlike, kNone };

/// Which ranks of a program are alike, so that one can stand for all of them.
///
/// Two ranks are alike when they play one role and carry the same sizes. Along each axis of the common grid
/// (`Grids::common`), coordinates are put into classes; a cell is one class on every axis. Coordinates of an axis fall
/// into different classes when
///   - a role's `where` names one of them;
///   - a variation of an element count, a byte count or a buffer's size differs between them;
///   - the axis belongs to a communicator that carries point-to-point messages (then every coordinate is
///     a class of its own);
///   - the grids of the program are not nested.
/// Offsets of regions and roots do not make ranks differ: they change what is touched, not for how long.
///
/// Cells are numbered row-major along the grid's axes. The representative of a cell is its lowest rank, and the
/// representatives of all cells of one group lie in one real group of the communicator.
class Projection {
 public:
  /// Requires roles that cover every rank once, and variation tables of the right length. Cost: linear in the
  /// program, plus cells times communicators, plus the lengths of the axes that tell ranks apart; the other axes,
  /// along which ranks are replicas, cost nothing. Without merging: linear in the ranks.
  explicit Projection(StepProgram const& program, Merging merging = Merging::kAlike);

  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  [[nodiscard]] RankId representative(CellId cell) const { return at(cell).representative; }
  [[nodiscard]] RoleId role(CellId cell) const { return at(cell).role; }
  /// Ranks of the whole job in `cell`.
  [[nodiscard]] std::int64_t multiplicity(CellId cell) const { return at(cell).multiplicity; }
  [[nodiscard]] CellId cell_of(RankId rank) const;
  /// "rank 5", or "rank 5 (and 3 alike)".
  [[nodiscard]] std::string describe(CellId cell) const;

  /// The cells that take part in the communicator group of `cell`'s representative, in ascending order, `cell`
  /// itself included.
  [[nodiscard]] std::span<CellId const> group(CommunicatorId communicator, CellId cell) const;
  /// Ranks of `cell` in one group of the communicator.
  [[nodiscard]] std::int64_t members_in_group(CommunicatorId communicator, CellId cell) const;

 private:
  struct Cell {
    RankId representative;
    RoleId role;
    std::int64_t multiplicity = 1;
  };
  /// The classes of one axis's coordinates.
  struct AxisClasses {
    AxisId axis;
    std::vector<std::uint32_t> class_of;  // by coordinate
    std::vector<std::int64_t> first;      // lowest coordinate of each class
    std::vector<std::int64_t> size;       // coordinates in each class
  };
  struct Groups {
    std::vector<std::uint32_t> group_of;         // by cell
    std::vector<std::vector<CellId>> members;    // by group
    std::vector<std::int64_t> members_in_group;  // by cell
  };

  [[nodiscard]] Cell const& at(CellId cell) const { return cells_[cell.index()]; }
  [[nodiscard]] std::vector<std::size_t> classes_of(std::size_t cell) const;
  void split(StepProgram const& program, Variation const& variation);
  void split(StepProgram const& program, Role const& role);
  void split_fully(AxisClasses& classes);
  void make_cells(StepProgram const& program);
  void make_groups(StepProgram const& program, Communicator const& communicator);

  Grid grid_;                      // the common one
  std::vector<AxisClasses> axes_;  // of every axis with more than one class, in the grid's order
  std::vector<Cell> cells_;
  std::vector<Groups> groups_;  // by communicator
};

}  // namespace twinstep::program
