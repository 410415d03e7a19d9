#pragma once

#include <chrono>
#include <cstdint>
#include <gloo/context.h>
#include <gloo/transport/device.h>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/input_error.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/cpu/gloo/host.hpp"
#include "validate/cpu/gloo/word_store.hpp"

namespace twinstep::cpu {

/// Another process failed, died or is silent; the text names it. It has been announced to the others.
class LostPeer : public InputError {
 public:
  using InputError::InputError;
};

/// The processes of a job as one of them sees the others: who they are, connections to them, and what became of them.
class Peers {
 public:
  /// Waits for all. Throws InputError naming those that do not come.
  Peers(launch::Launch const& launch, GlooOptions const& options);

  [[nodiscard]] RankId self() const { return self_; }
  [[nodiscard]] std::size_t count() const { return hosts_.size(); }
  [[nodiscard]] Host const& host(RankId rank) const { return hosts_[rank.index()]; }
  /// "rank 2 (node7, 10.0.0.7)".
  [[nodiscard]] std::string name(RankId rank) const;
  [[nodiscard]] std::chrono::milliseconds patience() const { return options_.in_a_step; }

  /// Connects `ranks`, of which this is one, to a group of its own. All of them call it with the same `key`, which is
  /// used once.
  [[nodiscard]] std::shared_ptr<gloo::Context> connect(std::span<RankId const> ranks, std::string const& key);

  /// Sends to, or receives from, one other process, apart from all groups and in order. `doing` says what for, as in
  /// "rank 0 waits for rank 1 to DO".
  void send(RankId to, std::string const& text, std::string_view doing);
  [[nodiscard]] std::string receive(RankId from, std::string_view doing);

  /// Finds out why a communication failed, says it to the others and throws it as LostPeer.
  /// @param waiting  "rank 0 waits for …"
  [[noreturn]] void explain(std::string const& waiting);
  /// Tells the others why this process fails by itself. Only the first time counts.
  void announce(std::string const& why);
  /// Ends what this process waits for in any connection. The job is over then.
  void disconnect();

 private:
  [[nodiscard]] std::vector<RankId> others() const;
  [[nodiscard]] std::vector<RankId> gone() const;
  void say(std::string const& key, std::string const& word);
  [[nodiscard]] std::string reason_of_others();
  [[nodiscard]] std::string who_is_silent(std::string const& waiting);
  [[noreturn]] void give_up(std::string const& waiting, std::string const& reason);
  void meet(launch::Launch const& launch);

  GlooOptions options_;
  RankId self_;
  std::unique_ptr<WordStore> words_;
  std::vector<Host> hosts_;  // by rank
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::Context> alive_;    // closed where a process has gone; carries nothing. Null for one process
  std::shared_ptr<gloo::Context> control_;  // what processes say to each other apart from all groups

  std::mutex mutex_;
  bool is_announced_ = false;
  std::vector<std::shared_ptr<gloo::Context>> connected_;
};

}  // namespace twinstep::cpu
