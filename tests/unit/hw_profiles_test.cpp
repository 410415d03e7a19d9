#include <filesystem>
#include <fstream>
#include <string>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_text.hpp"
#include "tests/support/settings.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::hw_profiles;
using hardware::Basis;
using io::Node;
using tests::cluster_text;

namespace {

/// A scenario with `cluster` as its cluster, and settings on top.
Node scenario(std::string const& cluster, std::initializer_list<std::string_view> settings = {}) {
  auto node = io::parse({"s.json", "{\"cluster\": " + cluster + "}"});
  for (auto const setting : settings) node = tests::with_setting(node, setting);
  return node;
}

hardware::Cluster read(std::string const& cluster, std::initializer_list<std::string_view> settings = {}) {
  return read_cluster(scenario(cluster, settings).at("cluster"));
}

std::string error_of(std::string const& cluster, std::initializer_list<std::string_view> settings = {}) {
  try {
    static_cast<void>(read(cluster, settings));
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

constexpr auto kH100 = R"({"profile": "dgx-h100-ndr"})";

/// A file that is gone with its variable.
class TemporaryFile {
 public:
  TemporaryFile(std::string const& name, std::string const& text)
      : path_{std::filesystem::temp_directory_path() / name} {
    std::ofstream{path_} << text;
  }
  TemporaryFile(TemporaryFile const&) = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

bool is_quantity(std::string_view text) {
  auto const reads = [text](auto read_one) {
    try {
      static_cast<void>(read_one(text));
      return true;
    } catch (InputError const&) {
      return false;
    }
  };
  return reads(io::read_bytes) || reads(io::read_duration) || reads(io::read_bandwidth) || reads(io::read_flop_rate);
}

/// Every number below `node` must be the "value" of an object with basis and source.
void check_numbers(Node const& node) {
  if (node.is(Node::Type::kArray)) {
    for (auto const& element : node.elements()) check_numbers(element);
  } else if (node.is(Node::Type::kObject)) {
    auto const is_number = node.has("value");
    if (is_number) {
      CHECK_FALSE(node.at("source").string().empty());
      CHECK_FALSE(node.at("basis").string().empty());
      if (node.at("value").is(Node::Type::kString)) CHECK(is_quantity(node.at("value").string()));
      return;
    }
    for (auto const& [key, member] : node.members()) check_numbers(member);
  } else if (node.is(Node::Type::kNumber)) {
    // How many nodes to take is a choice and which records a constant has seen a history: neither is a fact.
    CHECK((node.path() == "/nodes" || node.path().ends_with("/most_nodes")));
  } else if (node.is(Node::Type::kString)) {
    CHECK_FALSE(is_quantity(node.string()));
  }
}

}  // namespace

TEST_CASE("zero does not say that a capacity is unknown or a rate without limit: leaving the key out does",
          "[hw_profiles]") {
  for (auto const* const setting : {"cluster.gpu.memory_capacity=0 B", "cluster.node.host.memory_capacity=0 GiB",
                                    "cluster.node.drives.capacity=0 TB"})
    CHECK_THAT(error_of(kH100, {setting}),
               Catch::Contains("expected a capacity above zero") && Catch::Contains("leave the key out"));
  for (auto const* const setting : {"cluster.node.link.ll_limit=0 GB/s", "cluster.library.ll_limit_per_channel=0 GB/s",
                                    "cluster.gpu.memory_bandwidth=0 GB/s", "cluster.gpu.peaks.bf16=0 TFLOP/s"})
    CHECK_THAT(error_of(kH100, {setting}), Catch::Contains("is zero, expected"));
  for (auto const* const setting :
       {"cluster.gpu.compute_capability=0", "cluster.gpu.sm_count=0", "cluster.gpu.efficiency.gemm_tile_rows=0"})
    CHECK_THAT(error_of(kH100, {setting}), Catch::Contains("found 0, expected a whole number of at least 1"));
  CHECK_THAT(error_of(kH100, {R"(cluster.stack={"profile": "pytorch-eager", "held_sms": 5})"}),
             Catch::Contains("found 5, expected a fraction"));

  auto const drives =
      read(R"({"profile": "gb200-nvl72-ndr", "node": {"drives": {"read": "9 GB/s", "write": "4 GB/s"}}})");
  CHECK_FALSE(drives.node().drives->capacity);
  CHECK_FALSE(read("\"oci-mi300x\"").node().gpu.compute_capability);
  CHECK_FALSE(read("\"oci-mi300x\"").node().link.ll_limit);
}

TEST_CASE("a DGX H100 has the numbers of its datasheet, one way", "[hw_profiles]") {
  auto const cluster = read("\"dgx-h100-ndr\"");
  auto const& gpu = cluster.node().gpu;
  // NVIDIA H100 SXM5: 80 GB (of which a process can have 80,998 MiB) HBM3 at 3.35 TB/s, 132 SMs, 989 TFLOP/s dense
  // bf16, 1979 dense fp8, 18 NVLinks of 25 GB/s each way; DGX H100: 8 GPUs, 8 ConnectX-7 of 400 Gb/s.
  CHECK(gpu.memory_capacity.value == 80'998_MiB);
  CHECK(gpu.memory_bandwidth.value == 3350_GBps);
  CHECK(gpu.sm_count.value == 132);
  CHECK(gpu.peak(DataType::kBf16) == 989_TFLOPS);
  CHECK(gpu.peak(DataType::kFp16) == 989_TFLOPS);
  CHECK(gpu.peak(DataType::kFp8) == 1979_TFLOPS);
  CHECK(cluster.node().gpu_link.value == 450_GBps);
  CHECK(cluster.node().intra == hardware::IntraNode::kNvSwitch);
  CHECK(cluster.node().gpus == 8);
  CHECK(cluster.node().nics == 8);
  CHECK(cluster.node().nic.value == 50_GBps);
  CHECK(cluster.node().host.memory_capacity->value == 2048_GB);
  CHECK(cluster.gpus() == 32);
  CHECK(cluster.fabric.is_rail_optimised);
  CHECK(cluster.fabric.levels.at(0).nodes == 32);
  CHECK(cluster.fabric.levels.at(0).oversubscription.value == 1);
  CHECK(cluster.fabric.levels.at(1).nodes == 256);
  CHECK(cluster.node().link.name == "nvlink4");
  CHECK(cluster.fabric.transport.name == "infiniband");
  CHECK(cluster.library.name == "nccl");
  CHECK(cluster.calibration.starts_with("uncalibrated: "));
}

TEST_CASE("the other machines have the numbers of their datasheets", "[hw_profiles]") {
  auto const a100 = read("\"dgx-a100-hdr\"");
  CHECK(a100.node().gpu.memory_capacity.value == 40'448_MiB);  // 39.5 GiB, as PyTorch reports
  CHECK(a100.node().gpu.memory_bandwidth.value == 1555_GBps);
  CHECK(a100.node().gpu.peak(DataType::kBf16) == 312_TFLOPS);
  CHECK_FALSE(a100.node().gpu.peak(DataType::kFp8));
  CHECK(a100.node().gpu_link.value == 300_GBps);
  CHECK(a100.node().nic.value == 25_GBps);
  CHECK(a100.node().gpus_per_pcie_switch == 2);

  // The 80 GB machine is the other one with another GPU and more host memory.
  auto const a100_80 = read("\"dgx-a100-80-hdr\"");
  CHECK(a100_80.node().name == "dgx-a100-80");
  CHECK(a100_80.node().gpu.memory_capacity.value == 81'152_MiB);  // 79.25 GiB
  CHECK(a100_80.node().gpu.memory_bandwidth.value == 2039_GBps);
  CHECK(a100_80.node().host.memory_capacity->value == 2048_GB);
  CHECK(a100_80.node().host.launch == a100.node().host.launch);
  CHECK(a100_80.node().gpu_link == a100.node().gpu_link);

  CHECK(read("\"dgx-h200-ndr\"").node().gpu.memory_bandwidth.value == 4800_GBps);
  CHECK(read("\"dgx-b200-ndr\"").node().gpu_link.value == 900_GBps);
  CHECK(read("\"dgx-b200-ndr\"").node().gpu.peak(DataType::kBf16) == 2250_TFLOPS);

  auto const roce = read("\"dgx-h100-roce\"");
  CHECK(roce.fabric.transport.name == "roce");
  // Meta's pods: 3072 GPUs are 384 nodes of 8, and one way in seven leads out of a pod.
  CHECK(roce.fabric.levels.at(1).nodes == 384);
  CHECK(roce.fabric.levels.at(1).oversubscription.value == 7);

  auto const desk = read("\"workstation-2gpu-10gbe\"");
  CHECK(desk.node().intra == hardware::IntraNode::kPcieStaged);
  CHECK(desk.node().gpus == 2);
  CHECK_FALSE(desk.fabric.transport.has_gpu_direct);
  CHECK(desk.node().nic.value == BytesPerSecond{1.25e9});
}

TEST_CASE("racks, meshes and clouds have the shapes of their descriptions", "[hw_profiles]") {
  // An NVL72: 18 trays of 4 GPUs with a NIC each, all on one NVSwitch.
  for (auto const* const name : {"gb200-nvl72-ndr", "gb300-nvl72-xdr"}) {
    auto const rack = read_cluster(std::string{name}).node();
    CHECK(rack.gpus == 72);
    CHECK(rack.gpus / rack.gpus_on_host() == 18);
    CHECK(rack.nics == 72);
    CHECK(rack.intra == hardware::IntraNode::kNvSwitch);
    CHECK(rack.gpu_link.value == 900_GBps);
  }
  auto const dgx1 = read_cluster(std::string{"dgx1-v100-edr"}).node();
  CHECK(dgx1.intra == hardware::IntraNode::kCubeMesh);
  CHECK(dgx1.gpu_link.value == 150_GBps);  // 6 links of 25 GB/s
  CHECK(dgx1.nics == 4);
  CHECK_FALSE(dgx1.gpu.peak(DataType::kBf16));
  auto const amd = read_cluster(std::string{"oci-mi300x"});
  CHECK(amd.node().intra == hardware::IntraNode::kMesh);
  CHECK(amd.node().gpu_link.value == 448_GBps);  // 7 links of 64 GB/s
  CHECK(amd.library.name == "rccl");
  CHECK_FALSE(amd.node().gpu.compute_capability);
  // EFA: 4 x 100, 32 x 100 and 16 x 200 Gb/s a node.
  auto const gigabits = [](std::string const& name) {
    auto const node = read_cluster(name).node();
    return static_cast<double>(node.nics) * node.nic.value.count() * 8e-9;
  };
  CHECK(gigabits("aws-p4d") == Approx(400));
  CHECK(gigabits("aws-p5") == Approx(3200));
  CHECK(gigabits("aws-p5en") == Approx(3200));
}

TEST_CASE("a GPU goes by several names", "[hw_profiles]") {
  CHECK(read_gpu(io::string_node("a100-40g", "gpu")).name == "a100-sxm4-40");
  CHECK(find_name(Kind::kGpu, "h100-80g") == "h100-sxm5-80");
  CHECK_FALSE(find_name(Kind::kGpu, "h100-81g"));
  CHECK(read(R"({"profile": "dgx-h100-ndr", "gpu": "h200"})").node().gpu.name == "h200-sxm-141");
}

TEST_CASE("a scenario breaks links, and says how many a tier has", "[hw_profiles]") {
  auto const cluster =
      read(kH100, {R"(cluster.faults=[{"resource": "nic3", "node": 0, "rate": 0.5}, {"resource": "gpu2.nvlink"}])",
                   "cluster.fabric.levels.0.uplinks=4", "cluster.fabric.levels.0.balancing=hash"});
  REQUIRE(cluster.faults.size() == 2);
  CHECK(cluster.faults[0] == hardware::Fault{"nic3", 0, 0.5});
  CHECK(cluster.faults[1] == hardware::Fault{"gpu2.nvlink", std::nullopt, 0});  // broken, in every node
  CHECK(cluster.fabric.levels[0].uplinks == 4);
  CHECK(cluster.fabric.levels[0].balancing == hardware::Balancing::kHash);
  CHECK(read(cluster_text(cluster)) == cluster);
  CHECK_THAT(error_of(kH100, {R"(cluster.faults=[{"resource": "nic3", "rate": 2}])"}),
             Catch::Contains("found 2, expected a fraction above 0 and up to 1"));
  CHECK_THAT(error_of(kH100, {R"(cluster.faults=[{"resource": "nic3", "rat": 1}])"}),
             Catch::Contains("did you mean \"rate\"?"));
}

TEST_CASE("the caching allocator is set up as PyTorch's variable does", "[hw_profiles]") {
  CHECK(read(kH100, {}).allocator == hardware::Allocator{});
  CHECK(read(kH100, {"cluster.allocator.expandable_segments=true"}).allocator ==
        hardware::Allocator{.expandable_segments = true});
  auto const limited = read(kH100, {"cluster.allocator.max_split=256 MiB"});
  CHECK(limited.allocator == hardware::Allocator{.max_split = 256_MiB});
  CHECK(read(cluster_text(limited)) == limited);
}

TEST_CASE("a limit to what is split is above 20 MiB, and not for expandable segments", "[hw_profiles]") {
  CHECK_THAT(error_of(kH100, {"cluster.allocator.max_split=20 MiB"}),
             Catch::Contains("/cluster/allocator/max_split") && Catch::Contains("expected more than \"20 MiB\""));
  CHECK_THAT(error_of(kH100, {R"(cluster.allocator={"expandable_segments": true, "max_split": "256 MiB"})"}),
             Catch::Contains("expandable segments, whose blocks are always split"));
}

TEST_CASE("every number that ships has a unit and a source", "[hw_profiles]") {
  auto const profiles = list_profiles();
  REQUIRE(profiles.size() >= 7 + 6 + 6 + 4 + 8 + 11 + 3);
  for (auto const& profile : profiles) {
    CAPTURE(profile.name);
    CHECK_FALSE(profile.description.empty());
    check_numbers(io::parse({profile.name, profile_text(profile.kind, profile.name)}));
  }
}

TEST_CASE("a number from memory is called assumed", "[hw_profiles]") {
  auto const gpu = read("\"dgx-h100-ndr\"").node().gpu;
  CHECK(gpu.context_memory.basis == Basis::kAssumed);
  CHECK_THAT(gpu.context_memory.source, Catch::Contains("from memory, unverified"));
  CHECK(gpu.efficiency.gemm.basis == Basis::kFitted);
}

TEST_CASE("every shipped cluster reads back as it is written", "[hw_profiles]") {
  for (auto const name : profile_names(Kind::kCluster)) {
    CAPTURE(name);
    auto const cluster = read_cluster(std::string{name});
    auto const file = TemporaryFile{"twinstep_round_trip.json", cluster_text(cluster)};
    CHECK(read_cluster(file.path()) == cluster);
    CHECK(read(cluster_text(cluster)) == cluster);
    CHECK(cluster_text(read(cluster_text(cluster))) == cluster_text(cluster));
  }
}

TEST_CASE("a scenario changes any number of its cluster, and the number becomes the scenario's", "[hw_profiles]") {
  auto const cluster = read(kH100, {"cluster.nodes=16", "cluster.gpu.memory_capacity=\"141 GB\"",
                                    "cluster.node.nic=\"800 Gb/s\"", "cluster.fabric.levels.0.oversubscription=2",
                                    "cluster.library.kernel_start=7 us", "cluster.gpu.peaks.bf16=500 TFLOP/s"});
  CHECK(cluster.nodes() == 16);
  CHECK(cluster.node().gpu.memory_capacity.value == 141_GB);
  CHECK(cluster.node().gpu.memory_capacity.basis == Basis::kScenario);
  CHECK(cluster.node().gpu.memory_capacity.source == "scenario");
  CHECK(cluster.node().nic.value == 100_GBps);
  CHECK(cluster.fabric.levels.at(0).oversubscription.value == 2);
  CHECK(cluster.fabric.levels.at(0).nodes == 32);
  CHECK(cluster.library.kernel_start.value == 7_us);
  CHECK(cluster.node().gpu.peak(DataType::kBf16) == 500_TFLOPS);
  // What was not named stays the profile's.
  CHECK(cluster.node().gpu.memory_bandwidth.basis == Basis::kDatasheet);
  CHECK(cluster.library.buffers.basis == Basis::kMeasured);
}

TEST_CASE("setting only the value of a number leaves it no source of its own", "[hw_profiles]") {
  auto const cluster = read(kH100, {"cluster.gpu.memory_capacity.value=141 GB"});
  CHECK(cluster.node().gpu.memory_capacity.value == 141_GB);
  CHECK(cluster.node().gpu.memory_capacity.basis == Basis::kScenario);
}

TEST_CASE("a scenario may give a number its own basis and source", "[hw_profiles]") {
  auto const cluster = read(
      R"({"profile": "dgx-h100-ndr", "node": {"nic": {"value": "48 GB/s", "basis": "measured", "source": "our rack"}}})");
  CHECK(cluster.node().nic.value == 48_GBps);
  CHECK(cluster.node().nic.basis == Basis::kMeasured);
  CHECK(cluster.node().nic.source == "our rack");
}

TEST_CASE("a setting works below a cluster that is only a name", "[hw_profiles]") {
  CHECK(read("\"dgx-h100-ndr\"", {"cluster.nodes=2"}).nodes() == 2);
}

TEST_CASE("parts of a cluster are swapped by name, with the link and the transport that belong to them",
          "[hw_profiles]") {
  auto const cluster = read(R"({"profile": "dgx-h100-ndr", "node": "dgx-b200", "fabric": "roce-400", "nodes": 2})");
  CHECK(cluster.node().name == "dgx-b200");
  CHECK(cluster.fabric.name == "roce-400");
  CHECK(cluster.node().link.name == "nvlink5");
  CHECK(cluster.fabric.transport.name == "roce");
  auto const swapped = read(R"({"profile": "dgx-h100-ndr", "gpu": {"profile": "h200-sxm-141", "sm_count": 66}})");
  CHECK(swapped.node().gpu.name == "h200-sxm-141");
  CHECK(swapped.node().gpu.sm_count.value == 66);
  CHECK(swapped.node().name == "dgx-h100");
}

TEST_CASE("a profile in a file may change a shipped one, and names files beside itself", "[hw_profiles]") {
  auto const node = TemporaryFile{
      "twinstep_node.json",
      R"({"profile": "dgx-h100", "name": "mine", "nics": {"value": 4, "basis": "measured", "source": "lspci"}})"};
  auto const cluster = TemporaryFile{"twinstep_cluster.json",
                                     R"({"profile": "dgx-h100-ndr", "node": "twinstep_node.json", "nodes": 3})"};
  auto const read_back = read_cluster(cluster.path());
  CHECK(read_back.node().name == "mine");
  CHECK(read_back.node().nics == 4);
  CHECK(read_back.node().nics_from.source == "lspci");
  CHECK(read_back.nodes() == 3);
}

TEST_CASE("a number in a profile needs its source", "[hw_profiles]") {
  auto const file = TemporaryFile{"twinstep_bare.json", R"({"profile": "dgx-h100-ndr", "node": {"nic": "800 Gb/s"}})"};
  CHECK_THAT(error_of(io::json_string(file.path())),
             Catch::Contains("twinstep_bare.json:1:45: ") &&
                 Catch::Contains("/nic: found a number without its source, expected {\"value\": …, \"basis\": …, "
                                 "\"source\": …}; say where it comes from"));
  auto const empty = TemporaryFile{
      "twinstep_empty.json",
      R"({"profile": "dgx-h100-ndr", "node": {"nic": {"value": "800 Gb/s", "basis": "measured", "source": ""}}})"};
  CHECK_THAT(error_of(io::json_string(empty.path())), Catch::Contains("found an empty source"));
}

TEST_CASE("an unknown profile is refused with the nearest known one", "[hw_profiles]") {
  CHECK(error_of("\"dgx-h100-nrd\"") ==
        "s.json:1:13: /cluster: found \"dgx-h100-nrd\", expected the name of a cluster profile or the path of a .json "
        "file; did you mean \"dgx-h100-ndr\"?");
  CHECK_THAT(error_of(R"({"profile": "dgx-h100-ndr", "gpu": "h100-sxm"})"),
             Catch::Contains("did you mean \"h100-sxm5-80\"?"));
  CHECK_THAT(error_of("\"no/such.json\""), Catch::Contains("no/such.json: found no such file"));
}

TEST_CASE("more nodes than the fabric connects are refused with how many it connects", "[hw_profiles]") {
  CHECK(error_of("\"workstation-2gpu-10gbe\"", {"cluster.nodes=64"}) ==
        "--set cluster.nodes=64: /cluster/nodes: found 64 nodes, but fabric \"ethernet-10g\" connects 48; use fewer "
        "nodes, or a fabric with another tier in its \"levels\"");
}

TEST_CASE("counts that contradict each other are refused", "[hw_profiles]") {
  CHECK_THAT(error_of(kH100, {"cluster.nodes=0"}), Catch::Contains("found 0, expected a whole number of at least 1"));
  CHECK_THAT(error_of(kH100, {"cluster.node.gpus=0"}),
             Catch::Contains("found 0, expected a whole number of at least 1"));
  CHECK_THAT(error_of(kH100, {"cluster.fabric.ports_per_node=9"}),
             Catch::Contains("found 9 ports for each node, but node \"dgx-h100\" has 8 NICs"));
  CHECK_THAT(error_of(kH100, {"cluster.fabric.levels.1.nodes=100"}),
             Catch::Contains("found 100 nodes below a switch, expected a multiple of the 32"));
  CHECK(read(kH100, {"cluster.node.gpus=1", "cluster.node.nics=1", "cluster.node.intra=none"}).gpus() == 4);
}

TEST_CASE("an efficiency is a fraction above 0 and up to 1", "[hw_profiles]") {
  CHECK(
      error_of(kH100, {"cluster.gpu.efficiency.gemm=68"}) ==
      "--set cluster.gpu.efficiency.gemm=68: /cluster/node/gpu/efficiency/gemm: found 68, expected a fraction above 0 "
      "and up to 1; 90 % is written 0.9");
  CHECK_THAT(error_of(kH100, {"cluster.fabric.transport.efficiency=0"}),
             Catch::Contains("expected a fraction above 0"));
  CHECK_THAT(error_of(kH100, {"cluster.fabric.levels.0.oversubscription=0"}),
             Catch::Contains("found 0, expected at least 1: the bandwidth from below over the bandwidth upwards"));
  CHECK_THAT(error_of(kH100, {"cluster.fabric.levels.0.oversubscription=0.5"}),
             Catch::Contains("found 0.5, expected at least 1"));
  CHECK_THAT(error_of(kH100, {"cluster.gpu.efficiency.gemm_half_k=-1"}),
             Catch::Contains("expected a number of at least zero"));
}

TEST_CASE("unknown keys, words and element types are refused with what is known", "[hw_profiles]") {
  CHECK_THAT(error_of(R"({"profile": "dgx-h100-ndr", "node": {"hosts": {}}})"),
             Catch::Contains("found the unknown key \"hosts\"; did you mean \"host\"?"));
  CHECK_THAT(error_of(kH100, {"cluster.node.intra=nvswich"}), Catch::Contains("did you mean \"nvswitch\"?"));
  CHECK_THAT(error_of(kH100, {"cluster.gpu.peaks.bf17=1 TFLOP/s"}),
             Catch::Contains("found a peak for \"bf17\", expected an element type; did you mean \"bf16\"?"));
  CHECK_THAT(error_of(kH100, {"cluster.gpu.memory_capacity=141 GB/s"}),
             Catch::Contains("\"141 GB/s\" is a rate, expected a memory size"));
  CHECK_THAT(error_of("3"), Catch::Contains("s.json:1:13: /cluster: found 3, expected an object in braces"));
  CHECK_THAT(error_of("{}"), Catch::Contains("found no \"name\" in this object, expected it; add it"));
}

TEST_CASE("profiles that name each other in a circle are refused", "[hw_profiles]") {
  auto const file = TemporaryFile{"twinstep_circle.json", R"({"profile": "twinstep_circle.json"})"};
  CHECK_THAT(error_of(io::json_string(file.path())),
             Catch::Contains("found profiles that name each other in a circle"));
}

TEST_CASE("the text of a profile is found by name, with or without its kind", "[hw_profiles]") {
  CHECK_THAT(profile_text("dgx-h100-ndr"), Catch::Contains("\"fabric\": \"infiniband-ndr\""));
  CHECK(profile_text("gpu/h100-sxm5-80") == profile_text(Kind::kGpu, "h100-sxm5-80"));
  try {
    static_cast<void>(profile_text("dgx-h20"));
    FAIL("an unknown name was found");
  } catch (InputError const& error) {
    CHECK_THAT(error.what(), Catch::Contains("found no hardware profile called \"dgx-h20\"; did you mean \"dgx-h200"));
  }
}
