#include <cstdint>
#include <unordered_map>

#include "sim/engine/transfers.hpp"

namespace twinstep::engine {
namespace {

/// The loads of every resource in every phase, and which resources are to go.
class LoadTable {
 public:
  LoadTable(std::vector<collectives::Folded> const& communications, topology::Topology const& topology,
            std::vector<ResourceId> const& others_use)
      : topology_{topology},
        loads_(topology.resources().size()),
        stays_(topology.resources().size()),
        goes_(topology.resources().size()) {
    stays_[topology.hbm().index()] = true;
    for (auto const resource : others_use) stays_[resource.index()] = true;
    auto phase_count = std::size_t{0};
    for (auto const& communication : communications) {
      phase_count += communication.phases.size();
      has_messages_ = has_messages_ || communication.is_message;
    }
    for (auto& row : loads_) row.resize(phase_count);
    auto column = std::size_t{0};
    for (auto const& communication : communications) {
      for (auto const& phase : communication.phases) {
        for (auto const& load : phase.loads) loads_[load.resource.index()][column] += load.bytes.count();
        ++column;
      }
    }
  }

  void keep_one_of_each_kind() {
    auto kept = std::unordered_multimap<std::uint64_t, std::size_t>{};
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      if (stays_[r]) continue;
      auto const hash = hash_of(r);
      auto const [first, last] = kept.equal_range(hash);
      for (auto it = first; it != last && !goes_[r]; ++it) goes_[r] = is_alike(it->second, r);
      if (!goes_[r]) kept.emplace(hash, r);
    }
  }

  [[nodiscard]] bool goes(ResourceId resource) const { return goes_[resource.index()]; }

 private:
  [[nodiscard]] std::uint64_t hash_of(std::size_t resource) const {
    auto hash = std::uint64_t{0xcbf29ce484222325};  // FNV-1a over whole words
    for (auto const bytes : loads_[resource]) hash = (hash ^ static_cast<std::uint64_t>(bytes)) * 0x100000001b3;
    return hash;
  }
  [[nodiscard]] bool is_alike(std::size_t a, std::size_t b) const {
    auto const resources = topology_.resources();
    return resources[a].bandwidth == resources[b].bandwidth && resources[a].kind == resources[b].kind &&
           resources[a].instances == resources[b].instances &&
           (!has_messages_ || resources[a].heading == resources[b].heading) && loads_[a] == loads_[b];
  }

  topology::Topology const& topology_;
  std::vector<std::vector<std::int64_t>> loads_;  // by resource, then by phase
  std::vector<bool> stays_;                       // by resource
  std::vector<bool> goes_;                        // by resource
  bool has_messages_ = false;                     // which tell links out of a node from links in
};

}  // namespace

void merge_alike_resources(std::vector<collectives::Folded>& communications, topology::Topology const& topology,
                           std::vector<ResourceId> const& others_use) {
  auto table = LoadTable{communications, topology, others_use};
  table.keep_one_of_each_kind();
  for (auto& communication : communications)
    for (auto& phase : communication.phases)
      std::erase_if(phase.loads, [&](collectives::Load const& load) { return table.goes(load.resource); });
}

}  // namespace twinstep::engine
