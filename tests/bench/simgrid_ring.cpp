#include <cstdint>
#include <cstdio>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

/// The ring of exact_bench.cpp in SimGrid: all_reduce of 2^30 bytes on one switch of 50 GB/s ports, 1 us a step, one
/// actor a rank, CM02 without its factors for TCP. Prints messages a second of processor time.
namespace {

namespace s4u = simgrid::s4u;

std::vector<s4u::Host*> make_platform(int ranks) {
  auto* const zone = s4u::create_star_zone("switch");
  auto hosts = std::vector<s4u::Host*>{};
  for (auto i = 0; i < ranks; ++i) {
    auto* const port = zone->create_split_duplex_link("port" + std::to_string(i), 50e9)->set_latency(0.5e-6)->seal();
    hosts.push_back(zone->create_host("host" + std::to_string(i), 1e9)->seal());
    zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr, {{port, s4u::LinkInRoute::Direction::UP}},
                    true);
  }
  zone->seal();
  return hosts;
}

void act(int rank, int ranks) {
  auto token = 0;
  int* received = nullptr;
  auto const next = std::to_string((rank + 1) % ranks);
  auto* const to = s4u::Mailbox::by_name(next);
  auto* const from = s4u::Mailbox::by_name(std::to_string(rank));
  for (auto step = 0; step < 2 * (ranks - 1); ++step) {
    auto const sent = to->put_async(&token, (std::uint64_t{1} << 30) / static_cast<std::uint64_t>(ranks));
    auto const got = from->get_async<int>(&received);
    sent->wait();
    got->wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto simulation = s4u::Engine{&argc, argv};
  for (auto const* setting : {"network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1",
                              "network/weight-S:0", "network/crosstraffic:0", "network/TCP-gamma:1e18"})
    s4u::Engine::set_config(setting);
  auto const ranks = std::stoi(argv[1]);
  auto const hosts = make_platform(ranks);
  for (auto rank = 0; rank < ranks; ++rank)
    s4u::Actor::create("rank" + std::to_string(rank), hosts[static_cast<std::size_t>(rank)], [=] { act(rank, ranks); });
  auto const start = std::clock();
  simulation.run();
  auto const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  auto const messages = 2.0 * ranks * (ranks - 1);
  std::printf("{\"messages_per_s\": %.0f, \"predicted_ms\": %.6f}\n", messages / seconds,
              s4u::Engine::get_clock() * 1e3);
}
