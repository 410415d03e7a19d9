#include "validate/records/nvidia_smi.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/records/known_devices.hpp"
#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

/// A cell of the matrix.
struct Relation {
  bool is_self = false;
  std::int64_t links = 0;            ///< NVLinks; the distance is then not told
  std::optional<Distance> distance;  ///< by PCIe
  bool operator==(Relation const&) const = default;
};

std::optional<Relation> read_relation(std::string_view cell) {
  if (cell == "X") return Relation{.is_self = true};
  if (auto const distance = find_enum<Distance>(cell)) return Relation{.distance = distance};
  if (!cell.starts_with("NV")) return std::nullopt;
  auto const links = whole_number<std::int64_t>(cell.substr(2));
  if (!links || *links < 1) return std::nullopt;
  return Relation{.links = *links};
}

std::string text_of(Relation const& relation) {
  if (relation.is_self) return "X";
  return relation.links > 0 ? fmt::format("NV{}", relation.links) : std::string{name_of(*relation.distance)};
}

/// The farther of two.
Relation worse(Relation const& a, Relation const& b) {
  if (a.links > 0 && b.links > 0) return a.links < b.links ? a : b;
  if (a.links > 0) return b;
  if (b.links > 0) return a;
  return a.distance > b.distance ? a : b;
}

bool is_gpu(std::string_view device) {
  return device.starts_with("GPU") && whole_number<int>(device.substr(3)).has_value();
}

class MatrixReader {
 public:
  explicit MatrixReader(std::string const& name) {
    facts_.file = name;
    facts_.description = "nvidia-smi topo -m";
    facts_.names_pcie_switches = false;
  }

  NodeFacts read(std::string_view text) && {
    auto const plain = plain_text(text);
    for (auto const line : lines_of(plain)) {
      ++line_;
      read_line(words_of(line));
    }
    if (devices_.empty())
      throw InputError{
          fmt::format("{}: found no matrix, expected the header \"GPU0 GPU1 …\" and a row for each; give what "
                      "`nvidia-smi topo -m` prints",
                      one_line(facts_.file))};
    if (matrices_ > 1)
      facts_.warn(fmt::format("has {} matrices: the first is read; put the others into files of their own", matrices_));
    fill_and_compare();
    make_gpus();
    make_nics();
    facts_.unknowns = {"the GPUs' model, their memory and peak rates", "the NICs' rates and the fabric beyond them",
                       "the rates of PCIe, the CPU's vendor, and whether GPUs may copy to each other by PCIe",
                       "what launches cost the host, and its memory"};
    return std::move(facts_);
  }

 private:
  using Words = std::vector<std::string_view>;

  [[noreturn]] void fail(std::string_view found, std::string_view way_out) const {
    throw InputError{fmt::format("{}:{}: {}; {}", one_line(facts_.file), line_, found, way_out)};
  }

  void read_line(Words const& words) {
    if (words.empty()) return;
    auto const is_header = is_gpu(words.front()) && std::ranges::find(words, "X") == words.end();
    if (is_header && (matrices_ == 0 || words.front() == devices_.front())) return begin_matrix(words);
    if (matrices_ != 1) return;  // before the first, or within another
    auto const device = std::ranges::find(devices_, words.front());
    if (device != devices_.end()) read_row(static_cast<std::size_t>(device - devices_.begin()), words);
  }

  void begin_matrix(Words const& header) {
    if (++matrices_ > 1) return;
    for (auto const word : header) {
      if (word == "CPU") break;  // "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"
      devices_.emplace_back(word);
    }
    gpus_ = static_cast<std::size_t>(std::ranges::count_if(devices_, is_gpu));
    cells_.assign(devices_.size(), std::vector<std::optional<Relation>>(devices_.size()));
  }

  void read_row(std::size_t row, Words const& words) {
    for (std::size_t column = 0; column < devices_.size(); ++column) {
      auto const is_last = column + 1 >= words.size();
      auto const relation = is_last ? std::nullopt : read_relation(words[column + 1]);
      if (relation) {
        if (relation->is_self != (row == column))
          fail(fmt::format(
                   "found {} where row {} meets column {}, expected X where a device meets itself and only there",
                   twinstep::quoted(words[column + 1]), devices_[row], devices_[column]),
               "give the whole matrix as it was printed");
        cells_[row][column] = relation;
        continue;
      }
      if (column < gpus_ || (!is_last && !looks_like_affinity(words[column + 1])))
        fail(is_last ? fmt::format("row {} ends before column {}, expected {} columns", devices_[row], devices_[column],
                                   devices_.size())
                     : fmt::format("found {} in column {}, expected X, NV#, PIX, PXB, PHB, NODE or SYS",
                                   twinstep::quoted(words[column + 1]), devices_[column]),
             "give the whole matrix as it was printed");
      facts_.warn(fmt::format("row {} ends before column {}", devices_[row], devices_[column]));
      return;
    }
  }

  /// "0-23,48-71" or "N/A": the column behind the devices.
  static bool looks_like_affinity(std::string_view word) {
    return word == "N/A" || whole_number<int>(word.substr(0, word.find_first_of("-,"))).has_value();
  }

  /// Cells on both sides of the diagonal say the same; one may stand for both.
  void fill_and_compare() {
    for (std::size_t a = 0; a < devices_.size(); ++a)
      for (std::size_t b = a + 1; b < devices_.size(); ++b) {
        auto& here = cells_[a][b];
        auto& there = cells_[b][a];
        if (here && there && *here != *there) {
          auto const taken = worse(*here, *there);
          facts_.warn(fmt::format("row {} says {} of {}, whose row says {} back: {} is taken", devices_[a],
                                  text_of(*here), devices_[b], text_of(*there), text_of(taken)));
          here = there = taken;
        }
        if (!here) here = there;
        if (!there) there = here;
        if (!here && is_gpu(devices_[a]) && is_gpu(devices_[b]))
          fail(fmt::format("found no row of {} and {}, expected one for each GPU", devices_[a], devices_[b]),
               "give the whole matrix as it was printed");
      }
  }

  /// The indices of devices, GPUs or others.
  [[nodiscard]] std::vector<std::size_t> devices(bool are_gpus) const {
    auto found = std::vector<std::size_t>{};
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (is_gpu(devices_[i]) == are_gpus) found.push_back(i);
    return found;
  }

  /// A GPU of a mesh divides its links among the others, so that they add up to no more than any GPU has; from one at a
  /// switch all links lead to each other GPU.
  [[nodiscard]] bool is_switched(std::vector<std::size_t> const& gpus) const {
    auto most = std::int64_t{0};
    for (auto const a : gpus) {
      auto links = std::int64_t{0};
      for (auto const b : gpus) links += cells_[a][b] ? cells_[a][b]->links : 0;
      most = std::max(most, links);
    }
    return most > known_devices().most_links();
  }

  void make_gpus() {
    auto const gpus = devices(true);
    auto const switched = is_switched(gpus);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      auto gpu = GpuFacts{.name = devices_[gpus[i]]};
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        if (i == j) continue;
        auto const& relation = *cells_[gpus[i]][gpus[j]];
        if (switched) gpu.switch_links = relation.links;
        if (!switched && relation.links > 0) gpu.peer_links[j] = relation.links;
      }
      facts_.gpus.push_back(std::move(gpu));
    }
    group_by_switch(gpus);
  }

  [[nodiscard]] bool is_near(std::size_t a, std::size_t b) const {
    auto const& relation = cells_[a][b];
    return relation && relation->distance && *relation->distance <= Distance::kPxb;
  }

  /// GPUs share a switch if they are that near to each other, or to the same NIC where NVLinks hide it.
  void group_by_switch(std::vector<std::size_t> const& gpus) {
    auto peers_are_near = true;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (auto const nic : devices(false))
        if (facts_.gpus[i].pcie_switch.empty() && is_near(gpus[i], nic)) facts_.gpus[i].pcie_switch = devices_[nic];
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        if (i == j) continue;
        peers_are_near = peers_are_near && is_near(gpus[i], gpus[j]);
        if (facts_.gpus[i].pcie_switch.empty() && is_near(gpus[i], gpus[j]))
          facts_.gpus[i].pcie_switch = devices_[gpus[std::min(i, j)]];
      }
    }
    facts_.peers_by_pcie = peers_are_near && gpus.size() > 1;
  }

  void make_nics() {
    auto const gpus = devices(true);
    for (auto const nic : devices(false)) {
      auto facts = NicFacts{.name = devices_[nic]};
      auto const distance = [&](std::size_t gpu) {
        auto const& relation = cells_[gpu][nic];
        return relation && relation->distance ? *relation->distance : Distance::kSys;
      };
      for (auto const gpu : gpus) facts.distance = std::min(facts.distance, distance(gpu));
      for (std::size_t i = 0; i < gpus.size(); ++i)
        if (distance(gpus[i]) == facts.distance) facts.nearest.push_back(i);
      facts_.nics.push_back(std::move(facts));
    }
    if (facts_.nics.empty()) facts_.warn("lists no NIC: the profile's are kept");
  }

  NodeFacts facts_;
  int line_ = 0;
  int matrices_ = 0;
  std::size_t gpus_ = 0;
  std::vector<std::string> devices_;
  std::vector<std::vector<std::optional<Relation>>> cells_;
};

}  // namespace

NodeFacts read_nvidia_smi(std::string const& name, std::string_view text) {
  return MatrixReader{name}.read(text);
}

}  // namespace twinstep::records
