#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/engine/machine.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"
#include "strategies/import/users_file.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore {

/// What was read, and what its reader warned of.
template <class T>
struct Read {
  T value;
  std::vector<std::string> warnings;
};

/// Values by key, each made once and then shared between threads. When there are many, all are forgotten: what is made
/// twice is only made twice.
template <class Key, class T>
class Memoised {
 public:
  /// The value of `key`; `make` makes it where it is not there, without keeping others waiting. What `make` throws is
  /// not remembered.
  template <class Make>
  [[nodiscard]] std::shared_ptr<T const> get(Key key, Make const& make) {
    {
      auto const lock = std::lock_guard{mutex_};
      if (auto const found = values_.find(key); found != values_.end()) return found->second;
    }
    auto made = std::make_shared<T const>(make());
    auto const lock = std::lock_guard{mutex_};
    if (values_.size() >= kMost) values_.clear();
    return values_.emplace(std::move(key), std::move(made)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<T const>> values_;
};

/// What variations of a question have in common: a cluster, its machines, a model and a user's file are made once for
/// all that agree on them. Threads share it.
class Parts {
 public:
  using Cluster = std::shared_ptr<hardware::Cluster const>;

  /// @param read  gives the texts of files that scenarios name; threads call it
  explicit Parts(io::ReadText read = io::read_text) : read_{std::move(read)} {}

  /// What a scenario's "cluster" says. Throws InputError.
  [[nodiscard]] Read<Cluster> cluster(io::Node const& reference);
  /// What its "model" says, whose own files are looked for in `folder`. Throws InputError.
  [[nodiscard]] std::shared_ptr<Read<strategies::ModelSpec> const> model(io::Node const& reference,
                                                                         std::string const& folder);
  [[nodiscard]] std::shared_ptr<strategies::UsersFile const> users_file(strategies::UsersFormat format,
                                                                        std::string const& path);
  /// The machine of a strategy on the cluster, with the strategy's software, for `ranks` that wait for each other.
  [[nodiscard]] std::shared_ptr<engine::Machine const> machine(Cluster const& cluster,
                                                               strategies::StrategyName strategy, std::int64_t ranks);

 private:
  struct Equipped {
    Cluster cluster;  // that no other has its address
    engine::Machine machine;
  };

  io::ReadText read_;
  Memoised<std::string, Read<hardware::Cluster>> clusters_;
  Memoised<std::string, Read<strategies::ModelSpec>> models_;
  Memoised<std::pair<strategies::UsersFormat, std::string>, strategies::UsersFile> users_files_;
  Memoised<std::tuple<hardware::Cluster const*, std::string_view, std::int64_t>, Equipped> machines_;
};

}  // namespace twinstep::explore
