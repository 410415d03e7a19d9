#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "validate/launch/launch.hpp"

namespace twinstep::launch {

/// Processes of this host that are forked from this one, which is process 0. They meet in a fresh folder. It is gone
/// with this object, and so are they: they die with this process, too.
class LocalRanks {
 public:
  using Body = std::function<void(Launch const& launch)>;

  /// Forks processes 1 to `processes` - 1, which run `body` and end. What they throw ends them; destructors of what
  /// they inherited do not run. Requires that this process has no other threads, which a fork would not copy. Throws
  /// InputError if the system gives no more processes.
  LocalRanks(int processes, Body const& body);
  LocalRanks(LocalRanks const&) = delete;
  LocalRanks& operator=(LocalRanks const&) = delete;
  /// Kills those that have not ended.
  ~LocalRanks();

  /// This process.
  [[nodiscard]] Launch const& launch() const;

  /// Waits for the others to end; kills those that take long. Throws InputError for one that was killed by somebody
  /// else, with its number and the signal; else `failure`, this process's own, if there is one; else InputError for one
  /// that failed, with its own reason.
  void join(std::exception_ptr const& failure = {});

 private:
  class Others;
  std::unique_ptr<Others> others_;
};

/// Runs `body` in `processes` processes of this host, of which this one is process 0, and joins them.
void run_local_ranks(int processes, LocalRanks::Body const& body);

}  // namespace twinstep::launch
