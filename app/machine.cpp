#include "app/machine.hpp"

#include "hw_profiles/reader.hpp"
#include "sim/io/change.hpp"
#include "sim/io/maker.hpp"

namespace twinstep::app {

hardware::Cluster read_machine(std::string const& cluster, std::vector<std::string> const& settings) {
  constexpr auto kName = "CLUSTER";
  auto const named = cluster.starts_with('{') ? io::parse({kName, cluster, false}) : io::string_node(cluster, kName);
  auto document = io::Maker{kName}.object({{"cluster", named}});
  for (auto const& change : io::read_changes("--set", settings)) document = io::with_change(document, change);
  return hw_profiles::read_cluster(document.at("cluster"));
}

}  // namespace twinstep::app
