#include <set>
#include <string>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/fields.hpp"
#include "hw_profiles/number_path.hpp"
#include "hw_profiles/reader.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::hw_profiles;

namespace {

template <class T>
constexpr bool kIsProfile =
    std::same_as<T, hardware::Gpu> || std::same_as<T, hardware::Link> || std::same_as<T, hardware::Node> ||
    std::same_as<T, hardware::Transport> || std::same_as<T, hardware::Fabric> || std::same_as<T, hardware::Library> ||
    std::same_as<T, hardware::Stack>;

/// Where the fields of a profile stand: "host.launch", "levels.*.nodes", "protocols.ll.latency_factor". A part that is
/// a profile of its own ends its path.
class Paths {
 public:
  explicit Paths(std::set<std::string>& found, std::string above = {}) : found_{found}, above_{std::move(above)} {}

  template <class Member>
  void operator()(std::string_view key, Member&& member, auto...) {
    add(above_ + std::string{key}, member);
  }
  void unread(std::string_view key, std::string_view) { found_.insert(above_ + std::string{key}); }

 private:
  void add(std::string const& path, auto const&) { found_.insert(path); }
  template <HasFields T>
  requires(!kIsProfile<T>) void add(std::string const& path, T& part) {
    auto below = Paths{found_, path + "."};
    fields(part, below);
  }
  template <HasFields T>
  void add(std::string const& path, std::optional<T>&) {
    auto part = T{};
    add(path, part);
  }
  template <HasFields T>
  void add(std::string const& path, std::vector<T>&) {
    auto part = T{};
    add(path + ".*", part);
  }
  template <class Enum, class T>
  void add(std::string const& path, std::map<Enum, T>&) {
    auto part = T{};
    for (auto const word : all_names<Enum>()) add(path + "." + std::string{word}, part);
  }
  void add(std::string const& path, std::map<std::string, std::string>&) { found_.insert(path); }
  template <class Enum, class Array>
  void add(std::string const& path, ByWord<Enum, Array>& words) {
    for (auto const word : all_names<Enum>()) add(path + "." + std::string{word}, words.array.front());
  }
  void add(std::string const& path, std::vector<hardware::Peak>&) {
    for (auto const type : all_names<DataType>()) found_.insert(path + "." + std::string{type});
  }

  std::set<std::string>& found_;
  std::string above_;
};

template <class T>
std::set<std::string> paths_of() {
  auto found = std::set<std::string>{};
  auto paths = Paths{found};
  auto machine = T{};
  fields(machine, paths);
  return found;
}

/// The same as a schema has them.
class SchemaPaths {
 public:
  explicit SchemaPaths(Kind kind) : schema_{io::parse({"schema", std::string{schema_text(kind)}})} {
    add("", schema_);
    for (auto const* const everywhere : {"$schema", "comment", "profile"}) found_.erase(everywhere);
  }
  [[nodiscard]] std::set<std::string> found() && { return std::move(found_); }

 private:
  void add(std::string const& path, io::Node const& type) {
    if (auto const reference = type.find("$ref"))
      return add(path,
                 schema_.at("definitions").at(reference->string().substr(std::string_view{"#/definitions/"}.size())));
    auto const below = path.empty() ? path : path + ".";
    if (auto const each = type.find("items"); each && each->has("properties")) return add(below + "*", *each);
    if (auto const each = type.find("additionalProperties");
        each && each->is(io::Node::Type::kObject) && each->has("properties"))
      return add(below + "*", *each);
    auto const members = type.find("properties");
    if (!members || members->has("value")) {
      found_.insert(path);
      return;
    }
    for (auto const& [key, member] : members->members()) add(below + std::string{key}, member);
  }

  io::Node schema_;
  std::set<std::string> found_;
};

std::set<std::string> schema_paths(Kind kind) {
  return SchemaPaths{kind}.found();
}

hardware::Cluster dgx() {
  return read_cluster(std::string{"dgx-h100-ndr"});
}

}  // namespace

TEST_CASE("the schemas have the fields that the list has", "[hw_profiles][fields]") {
  CHECK(paths_of<hardware::Gpu>() == schema_paths(Kind::kGpu));
  CHECK(paths_of<hardware::Link>() == schema_paths(Kind::kLink));
  CHECK(paths_of<hardware::Node>() == schema_paths(Kind::kNode));
  CHECK(paths_of<hardware::Transport>() == schema_paths(Kind::kTransport));
  CHECK(paths_of<hardware::Fabric>() == schema_paths(Kind::kFabric));
  CHECK(paths_of<hardware::Library>() == schema_paths(Kind::kLibrary));
  CHECK(paths_of<hardware::Stack>() == schema_paths(Kind::kStack));
  // A cluster may also be changed by its "gpu", or stated by its physical facts.
  auto cluster = schema_paths(Kind::kCluster);
  for (auto const* const fact : {"gpu", "gpus_per_node", "intra", "nics_per_node", "nic_gbps", "fabric_assumed"})
    CHECK(cluster.erase(fact) == 1);
  CHECK(paths_of<hardware::Cluster>() == cluster);
}

TEST_CASE("a number of a cluster is found by its path, in the unit that fits have", "[hw_profiles][fields]") {
  auto const cluster = dgx();
  auto const nic = number_at(cluster, "node.nic");
  REQUIRE(nic);
  CHECK(nic->value == 50);  // 400 Gb/s
  CHECK(nic->unit == "GB/s");
  CHECK(nic->more_helps);
  auto const start = number_at(cluster, "gpu.kernel_start");
  REQUIRE(start);
  CHECK(start->unit == "us");
  CHECK_FALSE(start->more_helps);
  CHECK(start->value == number_at(cluster, "node.gpu.kernel_start")->value);
  CHECK(number_at(cluster, "library.launchers.python.fixed")->unit == "us");
  CHECK(number_at(cluster, "library.protocols.ll.copy_efficiency")->more_helps);
  CHECK_FALSE(number_at(cluster, "library.protocols.ll.latency_factor")->more_helps);
  CHECK_FALSE(number_at(cluster, "node.name"));
  CHECK_FALSE(number_at(cluster, "node.nick"));
  CHECK_FALSE(number_at(cluster, "fabric.levels.9.hop_latency"));
  CHECK(number_at(cluster.node(), "node.nic")->value == 50);
}

TEST_CASE("a path with a star, or one that ends early, names several numbers", "[hw_profiles][fields]") {
  auto cluster = dgx();
  REQUIRE(cluster.fabric.levels.size() > 1);
  set_numbers(cluster, "fabric.levels.*.hop_latency", 2);
  for (auto const& level : cluster.fabric.levels) CHECK(level.hop_latency.value == 2_us);
  set_numbers(cluster, "fabric.levels.1.hop_latency", 3);
  CHECK(cluster.fabric.levels[0].hop_latency.value == 2_us);
  CHECK(cluster.fabric.levels[1].hop_latency.value == 3_us);
  auto const before = cluster.node().gpu;
  scale_numbers(cluster, "gpu.peaks", 0.5);
  REQUIRE(before.peaks.size() > 1);
  for (std::size_t i = 0; i < before.peaks.size(); ++i)
    CHECK(cluster.node().gpu.peaks[i].rate.value == before.peaks[i].rate.value * 0.5);
  scale_numbers(cluster, "node.gpu.peaks.bf16", 2);
  CHECK(cluster.node().gpu.peak(DataType::kBf16) == before.peak(DataType::kBf16));
}
