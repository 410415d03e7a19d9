#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explore/plan/cluster_search.hpp"
#include "reports/plan.hpp"

/// What changes of the scenario would bring.
namespace twinstep::explore::plan {

/// The settings that one question makes together: "cluster.node.nic=800 Gb/s,cluster.fabric.port=800 Gb/s" has two. A
/// comma parts them unless it stands in double quotes, braces or brackets, so a plain text that holds one goes into
/// quotes. Throws InputError for a part without "=".
[[nodiscard]] std::vector<io::Change> read_changes(std::string const& text);

/// The questions of --what-if, each by itself.
class WhatIfs {
 public:
  /// Reads every changed scenario and searches none. Throws InputError that names the question, also for what is
  /// searched anyway.
  WhatIfs(PlanOptions const& options, explore::Question const& question, std::function<void()> const& progress);

  /// Answers them for the numbers of GPUs in `plans`, which have their best plans. One that fails says so, and the
  /// others are answered.
  void answer(Effort const& effort, reports::Plans& plans);

 private:
  struct Asked {
    std::string text;
    std::vector<io::Change> changes;
    std::vector<ClusterSearch> searches;  ///< as the unchanged scenario has them
  };
  std::vector<Asked> asked_;
};

}  // namespace twinstep::explore::plan
