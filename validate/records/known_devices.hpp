#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/hardware/sourced.hpp"

namespace twinstep::records {

/// GPUs of one compute capability.
struct Architecture {
  std::int64_t compute_capability = 0;     ///< times ten
  std::vector<std::string> profiles;       ///< GPU profiles, the likeliest first; not all need ship
  std::int64_t links = 0;                  ///< NVLinks of a GPU that has all of them
  hardware::Sourced<BytesPerSecond> link;  ///< one of them, one way; without meaning where `links` is 0
};

/// What the numbers in a topology dump say about its GPUs (devices.json).
struct KnownDevices {
  std::map<std::string, std::vector<std::string>, std::less<>> by_pci_device;  ///< "0x2330": GPU profiles
  std::vector<Architecture> architectures;
  std::map<hardware::IntraNode, std::string> links_without_nvlink;  ///< link profiles

  [[nodiscard]] Architecture const* find(std::int64_t compute_capability) const;
  /// NVLinks of the GPU that has the most.
  [[nodiscard]] std::int64_t most_links() const;
};

[[nodiscard]] KnownDevices const& known_devices();

}  // namespace twinstep::records
