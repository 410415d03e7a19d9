#pragma once

#include <string>

#include "hw_profiles/cluster_document.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::tests {

/// A whole cluster as JSON text, which reads back as the same cluster.
inline std::string cluster_text(hardware::Cluster const& cluster) {
  return io::document_text(hw_profiles::cluster_document(cluster));
}

}  // namespace twinstep::tests
