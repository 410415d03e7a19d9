#include "validate/score/diagnosis.hpp"

#include <algorithm>

#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::validate;

namespace {

using Sentences = std::vector<std::string>;

constexpr auto kTwoServers =
    R"({"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 2, "intra": "nvswitch",
        "fabric": "infiniband", "nics_per_node": 8, "nic_gbps": 400})";
constexpr auto kOneServer = R"({"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 1, "intra": "nvswitch"})";
constexpr auto kPcieServer = R"({"gpu": "l40s", "gpus_per_node": 8, "nodes": 1, "intra": "pcie"})";

/// A sweep on the machine of `facts`, all of its GPUs, without a point.
CollectiveRecord sweep(char const* facts, MeasuredKind kind = CollectiveKind::kAllReduce) {
  auto record = CollectiveRecord{};
  record.id = "sweep";
  record.library = "nccl";
  record.version = "2.27.7";
  record.health = "healthy";
  record.kind = kind;
  record.cluster = io::parse({"facts", facts});
  record.ranks = machine_of(record).gpus();
  return record;
}

/// From 1 KiB to 4 GiB as `cluster` is predicted to do it, times `factor`.
CollectiveRecord measured_on(hardware::Cluster const& cluster, CollectiveRecord record, double factor = 1) {
  auto const predicted = CollectiveCase{record, cluster};
  for (auto size = 1_KiB; size <= 4_GiB; size = size * 4)
    record.points.push_back({size, predicted.predict(size).time * factor});
  return record;
}

std::optional<Diagnosis> diagnose(CollectiveRecord const& record) {
  return validate::diagnose(CollectiveCase{record, machine_of(record)});
}

/// What is said of a sweep on the machine of `record` with the fault that is called `sentences`.
std::optional<Diagnosis> diagnose_with(Sentences const& sentences, CollectiveRecord const& record) {
  auto const healthy = CollectiveCase{record, machine_of(record)};
  auto cluster = healthy.cluster();
  auto changes = std::size_t{0};
  for (auto const& suspect : suspects_of(healthy))
    if (std::ranges::find(sentences, suspect.sentence) != sentences.end()) {
      suspect.change(cluster);
      ++changes;
    }
  REQUIRE(changes == sentences.size());
  return diagnose(measured_on(cluster, record));
}

void check_is_named(Sentences const& causes, CollectiveRecord const& record) {
  INFO(causes.front());
  auto const diagnosis = diagnose_with(causes, record);
  REQUIRE(diagnosis);
  CHECK(diagnosis->causes == causes);
  CHECK(diagnosis->factor > 1.25);
  CHECK(diagnosis->remaining == Approx(1));
}

/// Diagnoses of the sweeps that others published as unhealthy.
struct Unhealthy {
  std::vector<CollectiveRecord> records =
      read_collective_records(io::parse_file(TWINSTEP_FIXTURES "/unhealthy_collectives.json"));

  [[nodiscard]] std::optional<Diagnosis> operator[](std::string const& id) const {
    auto const found = std::ranges::find(records, id, &CollectiveRecord::id);
    REQUIRE(found != records.end());
    return diagnose(*found);
  }
};

}  // namespace

TEST_CASE("a sweep near its prediction has no diagnosis", "[diagnosis]") {
  auto const record = sweep(kTwoServers);
  auto const machine = machine_of(record);
  CHECK_FALSE(diagnose(measured_on(machine, record)));
  CHECK_FALSE(diagnose(measured_on(machine, record, 1.2)));
  CHECK_FALSE(diagnose(measured_on(machine, record, 1 / 1.2)));
  CHECK_FALSE(diagnose(record));  // no point at all
}

TEST_CASE("a fault between nodes is named", "[diagnosis]") {
  auto const all_reduce = sweep(kTwoServers);
  for (auto const* const fault : {"4 of 8 NICs in use", "2 of 8 NICs in use", "1 of 8 NICs in use",
                                  "no GPUDirect (data bounces through host memory)", "TCP instead of RDMA"})
    check_is_named({fault}, all_reduce);
  // Half of a Gen5 slot is 27 GB/s, which the ring cannot tell from half of the NICs, 25 GB/s a GPU; all-to-all, whose
  // GPUs also exchange data inside the node, can.
  check_is_named({"PCIe at half of its rate (Gen4, or 8 lanes)"}, sweep(kTwoServers, CollectiveKind::kAllToAll));
}

TEST_CASE("a fault inside a node is named", "[diagnosis]") {
  for (auto const* const fault : {"NVLS switched off", "half of each GPU's NVLinks", "3 of 12 channels",
                                  "no peer-to-peer between GPUs of a node"})
    check_is_named({fault}, sweep(kOneServer));
  for (auto const* const fault :
       {"PCIe at half of its rate (Gen3, or 8 lanes)", "no peer-to-peer between GPUs of a node"})
    check_is_named({fault}, sweep(kPcieServer));
}

TEST_CASE("two faults that act together are both named", "[diagnosis]") {
  check_is_named({"1 of 8 NICs in use", "TCP instead of RDMA"}, sweep(kTwoServers));
}

TEST_CASE("a fault that another explains about as well is an alternative", "[diagnosis]") {
  // A quarter of a Gen5 slot lets through 13.7 GB/s, two of eight NICs 12.5 GB/s a GPU: less than 10 % apart.
  auto const diagnosis = diagnose_with({"PCIe at a quarter of its rate (Gen3, or 4 lanes)"}, sweep(kTwoServers));
  REQUIRE(diagnosis);
  CHECK(diagnosis->causes == Sentences{"2 of 8 NICs in use"});
  CHECK(diagnosis->alternatives == Sentences{"PCIe at a quarter of its rate (Gen3, or 4 lanes)"});
  CHECK_THAT(diagnosis->text(), Catch::Contains("2 of 8 NICs in use; or about as well: PCIe at a quarter"));
}

TEST_CASE("what only larger sizes show is found beside small sizes that nothing explains", "[diagnosis]") {
  auto const record = sweep(kTwoServers);
  auto cluster = machine_of(record);
  cluster.fabric.ports_per_node = 1;
  auto measured = measured_on(cluster, record);
  for (auto& point : measured.points)
    if (point.size <= 64_KiB) point.time = point.time * 20.0;
  auto const diagnosis = diagnose(measured);
  REQUIRE(diagnosis);
  CHECK(diagnosis->from >= 1_MiB);
  CHECK(diagnosis->causes == Sentences{"1 of 8 NICs in use"});
}

TEST_CASE("a sweep that no fault explains says what was tried", "[diagnosis]") {
  auto const record = sweep(kOneServer);
  auto const diagnosis = diagnose(measured_on(machine_of(record), record, 100));
  REQUIRE(diagnosis);
  CHECK(diagnosis->causes.empty());
  CHECK(diagnosis->factor == Approx(100));
  CHECK(diagnosis->text() ==
        "takes 100 times as long as predicted from 1 KiB on. Nothing that was tried explains it, alone or two "
        "together: NVLS switched off, no peer-to-peer inside the node, half of the NVLinks, fewer channels, another "
        "launcher");
}

TEST_CASE("a sweep that is faster than predicted is called so", "[diagnosis]") {
  auto const record = sweep(kOneServer);
  auto const diagnosis = diagnose(measured_on(machine_of(record), record, 0.5));
  REQUIRE(diagnosis);
  CHECK(diagnosis->factor == Approx(0.5));
  CHECK(diagnosis->causes.empty());
  CHECK_THAT(diagnosis->text(), Catch::StartsWith("takes 0.5 times as long as predicted from 1 KiB on: it is faster"));
}

TEST_CASE("outliers are not diagnosed", "[diagnosis]") {
  auto const record = sweep(kOneServer);
  auto measured = measured_on(machine_of(record), record);
  measured.points.back().time = measured.points.back().time * 50.0;
  CHECK(diagnose(measured));
  measured.points.back().is_outlier = true;
  CHECK_FALSE(diagnose(measured));
}

TEST_CASE("what the user already switched off is no suspect", "[diagnosis]") {
  auto record = sweep(kOneServer);
  auto const tries_nvls = [](CollectiveRecord const& one) {
    return std::ranges::any_of(suspects_of(CollectiveCase{one, machine_of(one)}),
                               [](Suspect const& suspect) { return suspect.kind == "NVLS switched off"; });
  };
  CHECK(tries_nvls(record));
  record.environment["NCCL_NVLS_ENABLE"] = "0";
  CHECK_FALSE(tries_nvls(record));
}

TEST_CASE("a published ring at 90 GB/s on eight 400G NICs used two of them", "[diagnosis][published]") {
  // NVIDIA/nccl-tests#290: 2 x 50 GB/s is 100 GB/s for all rings of a node together; its readers concluded the same.
  auto const diagnosis = Unhealthy{}["ib-h100-290-2n-allreduce-ring-slow"];
  REQUIRE(diagnosis);
  CHECK(diagnosis->causes == Sentences{"2 of 8 NICs in use"});
}

TEST_CASE("a published bridged pair reached half of its NVLinks", "[diagnosis][published]") {
  // NVIDIA/nccl#1161: 116 GB/s, where three bridges have 300 GB/s one way.
  auto const diagnosis = Unhealthy{}["h100pcie-nvlbridge-2g-allreduce"];
  REQUIRE(diagnosis);
  CHECK(diagnosis->causes == Sentences{"half of each GPU's NVLinks"});
}

TEST_CASE("published sweeps that are slow in ways of their own are said to be unexplained", "[diagnosis][published]") {
  // An untuned demonstration that waits 280 us for any size, and a fallback to sockets that the facts already state.
  auto const unhealthy = Unhealthy{};
  for (auto const* const id : {"gcp-a4-2n-allgather-dranet", "alps-gh200-2n-allreduce-nocxi"}) {
    auto const diagnosis = unhealthy[id];
    REQUIRE(diagnosis);
    CHECK(diagnosis->factor > 2);
    CHECK(diagnosis->causes.empty());
    CHECK_FALSE(diagnosis->tried.empty());
  }
}

TEST_CASE("a variable that NCCL cannot read and a GPU without a profile drop no sweep", "[diagnosis]") {
  auto record = sweep(kOneServer);
  record.environment = {{"NCCL_ALGO", "bogus"}, {"NCCL_MIN_NCHANNELS", "4"}};
  CHECK(machine_of(record).library.environment == std::map<std::string, std::string>{{"NCCL_MIN_NCHANNELS", "4"}});
  CHECK(stand_ins_of(record, false) == Sentences{"sweep: NCCL_ALGO=bogus says nothing to NCCL; it is left out"});
  for (auto const* const facts : {R"({"gpu": "no such GPU", "gpus_per_node": 4, "nodes": 1, "intra": "nvswitch"})",
                                  R"({"gpus_per_node": 4, "nodes": 1, "intra": "nvswitch"})"}) {
    auto unknown = sweep(kOneServer);
    unknown.cluster = io::parse({"facts", facts});
    unknown.ranks = 4;
    CHECK(machine_of(unknown).node().gpu.name == "h100-sxm5-80");
    CHECK(stand_ins_of(unknown, false) == Sentences{"sweep: no profile fits its GPU; h100-80g is taken for it"});
    CHECK(stand_ins_of(unknown, true).empty());
    auto const one = CollectiveCase{unknown, machine_of(unknown)};
    CHECK_FALSE(one.is_scored());
    CHECK_FALSE(one.is_fitted());
  }
}

TEST_CASE("a sweep that nothing explains has no diagnosis while its points lie in their intervals", "[diagnosis]") {
  // Faster than any fault would make it.
  auto const record = sweep(kTwoServers);
  auto machine = machine_of(record);
  for (auto& band : machine.library.errors) band = {{0.9}, {1.1}};
  auto const apart = measured_on(machine, record, 1 / 1.4);
  CHECK(validate::diagnose(CollectiveCase{apart, machine}));
  auto& errors = machine.library.errors;
  for (auto& band : errors) band = {{0.5}, {2.0}};
  CHECK_FALSE(validate::diagnose(CollectiveCase{apart, machine}));
}

TEST_CASE("a launcher and a slow transport are suspects", "[diagnosis]") {
  check_is_named({"network steps that take 100 us longer"}, sweep(kTwoServers));
  // Small sizes take what the host does; one launcher is like another there.
  auto const said = diagnose_with({"a benchmark started as python"}, sweep(kOneServer));
  REQUIRE(said);
  CHECK_THAT(said->causes.front(), Catch::Contains("a benchmark started as "));
}
