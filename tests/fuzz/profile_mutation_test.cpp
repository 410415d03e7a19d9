#include <cstdint>
#include <random>
#include <string>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_text.hpp"
#include "tests/support/mutation.hpp"
#include "tests/support/settings.hpp"

using namespace twinstep;
using namespace twinstep::hw_profiles;
using namespace twinstep::tests;

namespace {

/// Whether the text is read; an InputError must be one line. Anything else thrown fails the test.
template <class Read>
bool is_read(std::string const& text, Read read) {
  try {
    read(io::parse({"fuzz.json", text}));
    return true;
  } catch (InputError const& error) {
    CHECK(std::string_view{error.what()}.find('\n') == std::string_view::npos);
    CHECK(std::string_view{error.what()}.size() > 10);
    return false;
  }
}

template <class Read>
void fuzz(std::string const& original, std::uint64_t seed, int rounds, Read read) {
  auto random = std::mt19937_64{seed};
  auto refused = 0;
  for (auto round = 0; round < rounds; ++round) {
    auto const text = mutated(original, random);
    if (!is_read(text, read)) ++refused;
  }
  CHECK(refused > 0);
}

}  // namespace

TEST_CASE("a damaged profile is read or refused with one line, and never crashes", "[fuzz]") {
  auto seed = std::uint64_t{1};
  for (auto const& profile : list_profiles()) {
    CAPTURE(profile.name);
    fuzz(profile_text(profile.kind, profile.name), seed++, 50, [&](io::Node const& document) {
      switch (profile.kind) {
        case Kind::kGpu: static_cast<void>(read_gpu(document)); break;
        case Kind::kNode: static_cast<void>(read_node(document)); break;
        case Kind::kFabric: static_cast<void>(read_fabric(document)); break;
        case Kind::kLink: static_cast<void>(read_link(document)); break;
        case Kind::kTransport: static_cast<void>(read_transport(document)); break;
        case Kind::kLibrary: static_cast<void>(read_library(document)); break;
        case Kind::kStack: static_cast<void>(read_stack(document)); break;
        case Kind::kCluster: static_cast<void>(read_cluster(document)); break;
      }
    });
  }
}

TEST_CASE("a damaged self-contained cluster that is still read writes itself and reads back", "[fuzz]") {
  auto const whole = cluster_text(read_cluster(std::string{"dgx-h100-ndr"}));
  fuzz(whole, 99, 150, [](io::Node const& document) {
    auto const cluster = read_cluster(document);
    CHECK(read_cluster(io::parse({"again.json", cluster_text(cluster)})) == cluster);
  });
}

TEST_CASE("damaged facts of a cluster are read or refused with one line", "[fuzz]") {
  auto const* const facts = R"({"gpu": "gb200", "gpus_per_node": 4, "nodes": 32, "intra": "nvl72", "fabric": "roce",
                               "nics_per_node": 4, "nic_gbps": 400, "fabric_assumed": true})";
  fuzz(facts, 11, 150, [](io::Node const& document) { static_cast<void>(read_cluster(document)); });
}

TEST_CASE("a damaged setting is applied or refused with one line", "[fuzz]") {
  auto const base = io::parse({"s.json", R"({"cluster": {"profile": "dgx-h100-ndr", "levels": [1, {"a": 2}]}})"});
  auto random = std::mt19937_64{7};
  for (auto round = 0; round < 2000; ++round) {
    auto const setting = mutated("cluster.levels.1.a={\"x\": [1, 2]}", random);
    try {
      static_cast<void>(tests::with_setting(base, setting));
    } catch (InputError const& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("--set "));
    }
  }
}
