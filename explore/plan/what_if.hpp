#pragma once

#include <functional>
#include <vector>

#include "explore/plan/cluster_search.hpp"
#include "reports/plan.hpp"

/// What changes of the scenario would bring.
namespace twinstep::explore::plan {

/// The changes that a plan is asked about, each question by itself.
class WhatIfs {
 public:
  /// Reads every changed scenario and searches none. Throws InputError that names the question.
  WhatIfs(PlanQuestion const& question, std::function<void()> const& progress);

  /// Answers them for the numbers of GPUs in `plans`, which have their best plans. One that fails says so, and the
  /// others are answered.
  void answer(reports::Plans& plans);

 private:
  struct Asked {
    WhatIf what_if;
    std::vector<ClusterSearch> searches;  ///< as the unchanged scenario has them
  };
  std::vector<Asked> asked_;
};

}  // namespace twinstep::explore::plan
