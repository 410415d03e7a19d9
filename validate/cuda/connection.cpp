#include "validate/cuda/connection.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/core.h>

namespace twinstep::cuda {

namespace {

/// What the threads that join leave behind. They hold it too, because a thread that is stuck in the library outlives
/// the wait for it.
struct Joining {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<DeviceCommunicator>> worlds;
  int joined = 0;
  std::exception_ptr failure;
};

}  // namespace

Connection connect(DeviceApi& device, Ranks const& ranks, std::vector<char> const& meeting_id, Seconds patience) {
  auto const id = meeting_id.empty() ? device.make_meeting_id() : meeting_id;
  auto const state = std::make_shared<Joining>();
  state->worlds.resize(static_cast<std::size_t>(ranks.local_ranks));
  for (int local = 0; local < ranks.local_ranks; ++local)
    std::thread{[&device, ranks, id, state, local] {
      auto made = std::unique_ptr<DeviceCommunicator>{};
      auto failure = std::exception_ptr{};
      try {
        made = device.join(ranks.device_of(local), ranks.world, ranks.rank_of(local), id);
      } catch (...) {
        failure = std::current_exception();
      }
      auto const lock = std::scoped_lock{state->mutex};
      state->worlds[static_cast<std::size_t>(local)] = std::move(made);
      if (failure) state->failure = failure;
      ++state->joined;
      state->changed.notify_all();
    }}.detach();
  auto lock = std::unique_lock{state->mutex};
  auto const is_over = [&] { return state->failure || state->joined == ranks.local_ranks; };
  auto const have_come = state->changed.wait_for(lock, std::chrono::duration<double>{patience.count()}, is_over);
  if (state->failure) std::rethrow_exception(state->failure);
  if (!have_come)
    throw DeviceError{fmt::format("not all {} ranks have come within {} s, those of this process ({} to {}) have",
                                  ranks.world, patience.count(), ranks.first_rank,
                                  ranks.first_rank + ranks.local_ranks - 1)};
  auto connection = Connection{.ranks = ranks, .worlds = std::move(state->worlds)};
  connection.splits.resize(connection.worlds.size());
  return connection;
}

DeviceCommunicator& communicator_of(DeviceApi& device, Connection& connection, int local,
                                    std::vector<int> const& colours, std::vector<int> const& places, int ordinal) {
  auto is_world = ordinal == 0;
  for (std::size_t i = 0; i < places.size(); ++i) is_world = is_world && places[i] == static_cast<int>(i);
  if (is_world) return *connection.worlds[static_cast<std::size_t>(local)];
  auto& known = connection.splits[static_cast<std::size_t>(local)];
  auto const key = Connection::Key{colours, places, ordinal};
  auto const found = known.find(key);
  if (found != known.end()) return *found->second;
  auto const rank = static_cast<std::size_t>(connection.ranks.rank_of(local));
  auto made = device.split(*connection.worlds[static_cast<std::size_t>(local)], colours[rank], places[rank]);
  return *known.emplace(key, std::move(made)).first->second;
}

}  // namespace twinstep::cuda
