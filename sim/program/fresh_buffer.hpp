#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "sim/base/ids.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// A buffer of a rank before anything is written to it.
struct FreshBuffer {
  FreshBuffer(StepProgram const& program, Buffer const& buffer, RankId its_rank)
      : rank{its_rank},
        name{program.text(buffer.name)},
        scope{buffer.scope.exists() ? program.scopes[buffer.scope.index()] : Scope{}},
        category{buffer.category} {}

  RankId rank;
  std::string_view name;
  Scope scope;  ///< says nothing where it belongs to no part of the step
  MemoryCategory category;
};

/// Gives a buffer its first values. `values` holds NaN on entry and is rounded to the buffer's type afterwards.
using Initialiser = std::function<void(FreshBuffer const& buffer, std::span<double> values)>;

}  // namespace twinstep::program
