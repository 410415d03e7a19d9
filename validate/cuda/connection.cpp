#include "validate/cuda/connection.hpp"

namespace twinstep::cuda {

Connection connect(DeviceApi& device, Ranks const& ranks, std::vector<char> const& meeting_id) {
  auto const id = meeting_id.empty() ? device.make_meeting_id() : meeting_id;
  auto connection = Connection{ranks, {}, {}};
  device.begin_group();
  for (int local = 0; local < ranks.local_ranks; ++local)
    connection.worlds.push_back(device.join(ranks.device_of(local), ranks.world, ranks.rank_of(local), id));
  device.end_group();
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
