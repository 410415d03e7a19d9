#pragma once

#include <span>
#include <string_view>

#include "sim/program/step_program.hpp"

namespace twinstep::measure {

/// Fills fresh buffers of a program as `Executor::run` promises. Parameters are alike on all ranks, as replicas are.
class KnownValues {
 public:
  /// From now on buffers are those of `program`, which must outlive the calls.
  void belong_to(program::StepProgram const& program) { program_ = &program; }

  void operator()(RankId rank, std::string_view name, std::string_view scope, std::span<double> values) const;

 private:
  program::StepProgram const* program_ = nullptr;
};

}  // namespace twinstep::measure
