#include "app/machine.hpp"

#include <fmt/core.h>

#include "hw_profiles/reader.hpp"
#include "sim/io/change.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::app {

hardware::Cluster read_machine(std::string const& cluster, std::vector<std::string> const& settings) {
  auto const is_json = cluster.starts_with('{');
  auto const text = fmt::format("{{\"cluster\": {}}}", is_json ? cluster : io::json_string(cluster));
  auto document = io::parse({"CLUSTER", text, false});
  for (auto const& change : io::read_changes("--set", settings)) document = io::with_change(document, change);
  return hw_profiles::read_cluster(document.at("cluster"));
}

}  // namespace twinstep::app
