#include "validate/records/known_devices.hpp"

#include <algorithm>

#include "sim/io/document.hpp"
#include "validate/records/devices_text.hpp"

namespace twinstep::records {
namespace {

std::vector<std::string> names(io::Node const& list) {
  auto all = std::vector<std::string>{};
  for (auto const& name : list.elements()) all.emplace_back(name.string());
  return all;
}

Architecture architecture(io::Node const& node) {
  auto read = Architecture{.compute_capability = node.at("compute_capability").integer(),
                           .profiles = names(node.at("profiles")),
                           .links = node.at("links").integer()};
  if (read.links > 0) {
    auto const link = node.at("link");
    read.link = {link.at("value").bandwidth(), link.at("basis").word<hardware::Basis>(),
                 std::string{link.at("source").string()}};
  }
  return read;
}

KnownDevices read_known_devices() {
  auto const document = io::parse({"validate/records/devices.json", std::string{kDevicesText}});
  auto known = KnownDevices{};
  for (auto const& [device, profiles] : document.at("devices").members())
    if (device != "source") known.by_pci_device.emplace(device, names(profiles));
  for (auto const& node : document.at("architectures").elements()) known.architectures.push_back(architecture(node));
  for (auto const& [intra, link] : document.at("links_without_nvlink").members())
    if (auto const kind = find_enum<hardware::IntraNode>(intra))
      known.links_without_nvlink.emplace(*kind, link.string());
  return known;
}

}  // namespace

Architecture const* KnownDevices::find(std::int64_t compute_capability) const {
  auto const found = std::ranges::find(architectures, compute_capability, &Architecture::compute_capability);
  return found == architectures.end() ? nullptr : &*found;
}

std::int64_t KnownDevices::most_links() const {
  return std::ranges::max(architectures, {}, &Architecture::links).links;
}

KnownDevices const& known_devices() {
  static auto const known = read_known_devices();
  return known;
}

}  // namespace twinstep::records
