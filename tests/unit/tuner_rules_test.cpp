/// What switches algorithms off: operators, links, the user's variables.
#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/tuner_machines.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using Catch::Matchers::Contains;

TEST_CASE("operators and element types that the switch lacks turn it off", "[tuner][rules]") {
  auto const machine = Machine{kH100, 1, 8};
  auto const why = [&](Reduction reduction, DataType type) {
    return Machine::row_of(machine.request(kAllReduce, 1_GiB, reduction, type), Algorithm::kNvls).off_because;
  };
  CHECK(why(Reduction::kSum, DataType::kFp32).empty());
  CHECK(why(Reduction::kMax, DataType::kBf16).empty());
  CHECK(why(Reduction::kAverage, DataType::kBf16) == "averages are not done in the switch");
  CHECK(why(Reduction::kMax, DataType::kFp32) == "the switch finds no extremes of fp32 and fp64");
  CHECK(why(Reduction::kSum, DataType::kFp8) == "the switch does not reduce this element type");
  // all_gather only copies.
  CHECK(Machine::row_of(machine.request(kAllGather, 1_GiB, Reduction::kAverage, DataType::kFp8), Algorithm::kNvls)
            .is_on());
  auto const several = Machine{kH100, 2, 8};
  CHECK(several.row(kAllReduce, 1_GiB, Algorithm::kNvls).off_because ==
        "needs SHARP in the network (NCCL_COLLNET_ENABLE)");
  CHECK(several.row(kAllGather, 1_GiB, Algorithm::kPat).off_because == "needs one rank a node");
  // A ring that adds up fp8 over more than 8 ranks counts 1,024 times as long.
  CHECK(Machine::row_of(several.request(kAllReduce, 8_B, Reduction::kSum, DataType::kFp8), Algorithm::kRing).latency ==
        Duration{131'600'000} * 1024);
}

TEST_CASE("variables exclude algorithms and protocols, for one collective or all", "[tuner][environment]") {
  auto const chosen = [](std::map<std::string, std::string> const& variables, CollectiveKind kind = kAllReduce) {
    auto const row = Machine{kH100, 1, 8, "", variables}.chosen(kind, 1_GiB);
    return fmt::format("{}/{}", name_of(row.algorithm), name_of(row.protocol));
  };
  CHECK(chosen({{"NCCL_ALGO", "Ring"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "^NVLS"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "^nvls,RING"}}) == "tree/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree;allgather:nvls"}}) == "tree/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree;allgather:nvls"}}, kAllGather) == "nvls/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree"}}, kReduceScatter) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "ring;allreduce:nvls"}}) == "nvls/simple");
  CHECK(chosen({{"NCCL_PROTO", "LL128"}}) == "ring/ll128");
  CHECK(chosen({{"NCCL_NVLS_ENABLE", "0"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_NVLS_ENABLE", "2"}}) == "nvls/simple");
  CHECK(chosen({{"NCCL_ALGO", "unset"}, {"NCCL_PROTO", ""}}) == "nvls/simple");
  auto const reason = Machine{kH100, 1, 8, "", {{"NCCL_ALGO", "tree"}}}.row(kAllReduce, 1_GiB, Algorithm::kRing);
  CHECK(reason.off_because == "NCCL_ALGO excludes it");
  // Whoever names protocols gets LL128 without NVLink too, even by excluding another one.
  auto const forced = Machine{kTwoCards, 1, 2, "", {{"NCCL_PROTO", "^LL"}}};
  CHECK(forced.row(kAllReduce, 1_MiB, Algorithm::kRing, Protocol::kLl128).is_on());
}

TEST_CASE("variables bound the channels", "[tuner][environment]") {
  auto const channels = [](std::map<std::string, std::string> const& variables) {
    return Machine{kH100, 1, 8, "", variables}.graph.channels;
  };
  CHECK(channels({{"NCCL_MAX_NCHANNELS", "8"}}) == 8);
  CHECK(channels({{"NCCL_MIN_NCHANNELS", "32"}}) == 32);
  CHECK(channels({{"NCCL_MAX_NCHANNELS", "8"}, {"NCCL_MAX_CTAS", "4"}}) == 4);
}

TEST_CASE("small collectives use few channels", "[tuner]") {
  auto const machine = Machine{kH100, 1, 8};
  CHECK(machine.row(kAllReduce, 8_B, Algorithm::kRing, Protocol::kLl).channels == 1);
  // LL on a ring of 8: 512 threads x 64 B = 32 KiB a channel. Simple: 512 x 64 B = 32 KiB.
  CHECK(machine.row(kAllReduce, 128_KiB, Algorithm::kRing, Protocol::kLl).channels == 4);
  CHECK(machine.row(kAllReduce, 256_KiB, Algorithm::kRing).channels == 8);
  CHECK(machine.row(kAllReduce, 1_GiB, Algorithm::kRing).channels == 24);
  CHECK(machine.row(kAllReduce, 8_B, Algorithm::kNvls).channels == 16);
}

TEST_CASE("variables that leave nothing say what would", "[tuner][environment]") {
  auto const machine = Machine{kH100, 1, 8, "", {{"NCCL_ALGO", "Tree"}}};
  CHECK_THROWS_AS(machine.chosen(kAllGather, 1_MiB), InputError);
  CHECK_THROWS_WITH(machine.chosen(kAllGather, 1_MiB), Contains("NCCL_ALGO: found \"Tree\"") &&
                                                           Contains("all_gather") && Contains("ring/ll128") &&
                                                           Contains("nvls/simple"));
  // Before 2.24 a ring ran then.
  auto const old = Machine{kH100, 1, 8, "2.21.5", {{"NCCL_ALGO", "Tree"}}};
  CHECK(old.chosen(kAllGather, 1_MiB).algorithm == Algorithm::kRing);
}

TEST_CASE("variables that make no sense are the user's errors", "[tuner][environment]") {
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "rnig"}}),
                    Contains("cluster.library.environment.NCCL_ALGO: found \"rnig\"") && Contains("known: tree, ring"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_PROTO", "allredcue:ll"}}), Contains("\"allreduce\""));
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "allreduce:tree;ring"}}),
                    Contains("before each list but the first"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "^"}}), Contains("a list of tree"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_NVLS_ENABLE", "yes"}}), Contains("between 0 and 2"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_MAX_NCHANNELS", "0"}}), Contains("between 1 and 64"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_MIN_NCHANNELS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}}),
                    Contains("NCCL_MAX_NCHANNELS, which is 8"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_P2P_LEVEL", "near"}}), Contains("one of loc, nvl"));
}

TEST_CASE("variables that change nothing here are listed", "[tuner][environment]") {
  auto const environment = read_environment({{"NCCL_DEBUG", "INFO"},
                                             {"NCCL_NVLS_CHUNKSIZE", "524288"},
                                             {"NCCL_SOCKET_IFNAME", "eth0"},
                                             {"NCCL_BUFFSIZE", "8388608"}});
  CHECK(environment.ignored == std::vector<std::string>{"NCCL_BUFFSIZE", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME"});
  CHECK(environment.nvls_chunk == 512_KiB);
  CHECK(read_environment({{"NCCL_P2P_LEVEL", "0"}}).p2p_is_off);
  CHECK_FALSE(read_environment({{"NCCL_P2P_LEVEL", "nvl"}}).p2p_is_off);
}
