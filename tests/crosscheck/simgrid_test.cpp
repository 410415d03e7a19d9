#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

#ifdef TWINSTEP_HAS_SIMGRID
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/collectives/replay.hpp"
#include "sim/engine/collective_run.hpp"

/// The exact fidelity against SimGrid's S4U: the same messages over the same links, both with max-min fair flows.
/// SimGrid's corrections for TCP (factors of latency and bandwidth, a window, traffic of acknowledgements) are off.
namespace {

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
namespace s4u = simgrid::s4u;

constexpr auto kAlpha = 2_us;
constexpr std::int64_t kHosts = 8;

/// One GPU a node, ports of 10 GB/s; leaves of two nodes with uplinks of a third of what comes from below.
hardware::Cluster cluster() {
  auto out = tests::flat_cluster(kHosts, 10_GBps, kAlpha);
  out.fabric.levels = {{"leaf", 2, {3.0}, {}}, {"spine", kHosts, {1.0}, {}}};
  return out;
}

/// The same as a SimGrid platform. Only ports out have a latency, so every route has the same.
std::vector<s4u::Host*> make_platform() {
  auto* const zone = s4u::create_full_zone("cluster");
  auto const link = [&](std::string const& name, std::int64_t i, double rate, double latency) {
    return zone->create_link(name + std::to_string(i), rate)->set_latency(latency)->seal();
  };
  auto hosts = std::vector<s4u::Host*>{};
  auto out = std::vector<s4u::Link*>{};
  auto in = out;
  auto up = out;
  auto down = out;
  for (auto i = std::int64_t{0}; i < kHosts; ++i) {
    hosts.push_back(zone->create_host("host" + std::to_string(i), 1e9)->seal());
    out.push_back(link("out", i, 10e9, to_seconds(kAlpha).count()));
    in.push_back(link("in", i, 10e9, 0));
    if (i % 2 != 0) continue;
    up.push_back(link("up", i / 2, 20e9 / 3, 0));
    down.push_back(link("down", i / 2, 20e9 / 3, 0));
  }
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      if (a == b) continue;
      auto route = std::vector<s4u::LinkInRoute>{s4u::LinkInRoute{out[a]}};
      if (a / 2 != b / 2) route.insert(route.end(), {s4u::LinkInRoute{up[a / 2]}, s4u::LinkInRoute{down[b / 2]}});
      route.emplace_back(in[b]);
      zone->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr, route, false);
    }
  zone->seal();
  return hosts;
}

double bytes_of(Replay const& replay, std::int64_t from, Message const& message) {
  if (!replay.schedule.splits.is_even()) return static_cast<double>(replay.schedule.splits.count(from, message.to));
  return static_cast<double>(message.chunk_count) * replay.chunk_bytes;
}

/// What one rank does: each step's messages at once, then the next step.
void act(Replay const& replay, std::int64_t rank) {
  auto const box = [](std::int64_t from, std::int64_t to) {
    return s4u::Mailbox::by_name(std::to_string(from) + " to " + std::to_string(to));
  };
  auto const& schedule = replay.schedule;
  auto token = 0;
  auto received = std::vector<int*>(static_cast<std::size_t>(schedule.ranks));
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto pending = std::vector<s4u::CommPtr>{};
    for (auto from = std::int64_t{0}; from < schedule.ranks; ++from)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane) {
        auto const message = schedule.message(from, step, lane);
        if (!message) continue;
        if (from == rank)
          pending.push_back(
              box(rank, message->to)->put_async(&token, static_cast<std::uint64_t>(bytes_of(replay, from, *message))));
        if (message->to == rank)
          pending.push_back(box(from, rank)->get_async<int>(&received[static_cast<std::size_t>(from)]));
      }
    for (auto const& comm : pending) comm->wait();
  }
}

struct Case {
  std::string name;
  Replay replay;
  Duration ours;
  double theirs = 0;  // seconds
};

}  // namespace

TEST_CASE("exact takes as long as SimGrid, within 0.1 %", "[crosscheck]") {
  auto const machine = cluster();
  auto const topology = topology::Topology{machine};
  // Uneven: rank r sends (r + 1) (d + 2) × 0.5 MB to rank d.
  auto counts = std::vector<std::int64_t>{};
  for (auto r = std::int64_t{0}; r < kHosts; ++r)
    for (auto d = std::int64_t{0}; d < kHosts; ++d) counts.push_back((r + 1) * (d + 2) * 500'000);

  auto cases = std::vector<Case>{};
  auto const add = [&](std::string const& name, CollectiveKind kind, Algorithm algorithm, std::int64_t ranks,
                       Splits splits) {
    auto const layout = Layout{ranks, {{ranks, 1}}, 0, 1, 0, 1, 1};
    auto const placement = Placement{layout, machine, topology};
    auto request = FoldRequest{kind, Bytes{ranks * 8'000'000}, placement, machine, topology};
    request.algorithm = algorithm;
    request.splits = splits;
    cases.push_back({name, replay_of(request), engine::run_collective(request, layout, engine::Fidelity::kExact).time});
  };
  add("a ring of 4", CollectiveKind::kAllReduce, Algorithm::kRing, 4, {});
  add("a ring of 8", CollectiveKind::kAllReduce, Algorithm::kRing, 8, {});
  add("all pairs of 4", CollectiveKind::kAllToAll, Algorithm::kPairwise, 4, {});
  add("all pairs of 8", CollectiveKind::kAllToAll, Algorithm::kPairwise, 8, {});
  add("uneven pairs of 8", CollectiveKind::kAllToAll, Algorithm::kPairwise, 8, Splits{kHosts, counts});

  auto name = std::string{"crosscheck"};
  auto arguments = std::vector<char*>{name.data(), nullptr};
  auto count = 1;
  auto simulation = s4u::Engine{&count, arguments.data()};
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/latency-factor:1");
  s4u::Engine::set_config("network/bandwidth-factor:1");
  s4u::Engine::set_config("network/weight-S:0");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:1e18");
  auto const hosts = make_platform();
  auto const barrier = s4u::Barrier::create(static_cast<unsigned>(kHosts));
  for (auto rank = std::int64_t{0}; rank < kHosts; ++rank)
    s4u::Actor::create("rank" + std::to_string(rank), hosts[static_cast<std::size_t>(rank)], [&, rank] {
      for (auto& each : cases) {
        barrier->wait();
        auto const start = s4u::Engine::get_clock();
        if (rank < each.replay.schedule.ranks) act(each.replay, rank);
        barrier->wait();
        each.theirs = s4u::Engine::get_clock() - start;
      }
    });
  simulation.run();

  for (auto const& each : cases) {
    INFO(each.name << ": " << to_seconds(each.ours).count() << " s, SimGrid " << each.theirs << " s");
    CHECK(to_seconds(each.ours).count() == Approx(each.theirs).epsilon(0.001));
  }
}

#else
#include <cstdio>

TEST_CASE("exact takes as long as SimGrid, within 0.1 %", "[crosscheck]") {
  std::puts("SKIPPED: SimGrid not found (Debian: libsimgrid-dev)");
}
#endif
