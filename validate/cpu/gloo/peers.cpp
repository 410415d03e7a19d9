#include "validate/cpu/gloo/peers.hpp"

#include <charconv>
#include <chrono>
#include <functional>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/input_error.hpp"
#include "validate/cpu/gloo/passages.hpp"
#include "validate/cpu/gloo/word_store.hpp"

namespace twinstep::cpu {
namespace {

/// The words by which Gloo connects one group of ranks: each place leaves its addresses at its number. Waits are as
/// long as `patience`, and say who is missing.
class GroupStore final : public gloo::rendezvous::Store {
 public:
  using Name = std::function<std::string(std::size_t place)>;

  GroupStore(WordStore& words, std::string group, std::chrono::milliseconds patience, Name name,
             std::function<void()> look_round)
      : words_{words},
        group_{std::move(group)},
        patience_{patience},
        name_{std::move(name)},
        look_round_{std::move(look_round)} {}

  void set(std::string const& key, std::vector<char> const& word) override {
    words_.leave(group_ + key, {word.begin(), word.end()});
  }
  std::vector<char> get(std::string const& key) override {
    constexpr auto kLooksRoundEvery = std::chrono::milliseconds{100};
    auto const give_up = std::chrono::steady_clock::now() + patience_;
    while (std::chrono::steady_clock::now() < give_up) {
      if (auto const word = words_.look_up(group_ + key, kLooksRoundEvery)) return {word->begin(), word->end()};
      look_round_();
    }
    auto place = std::size_t{0};
    std::from_chars(key.data(), key.data() + key.size(), place);
    throw InputError{
        fmt::format("{} did not connect within {} s", name_(place), std::chrono::duration<double>{patience_}.count())};
  }
  void wait(std::vector<std::string> const& keys) override {
    for (auto const& key : keys) get(key);
  }
  void wait(std::vector<std::string> const& keys, std::chrono::milliseconds const& /*gloos*/) override { wait(keys); }

 private:
  WordStore& words_;
  std::string group_;
  std::chrono::milliseconds patience_;
  Name name_;
  std::function<void()> look_round_;
};

using std::chrono::milliseconds;

// Words in the store, each followed by the rank that left it.
constexpr auto kHere = "here.";      // its host
constexpr auto kFailed = "failed.";  // why
constexpr auto kWaits = "waits.";    // what for, after its patience was over

constexpr auto kAtOnce = milliseconds{1};
constexpr std::uint64_t kSizes = 1;  // slots between two processes
constexpr std::uint64_t kTexts = 2;

std::string key(char const* kind, RankId rank) {
  return kind + std::to_string(rank.index());
}

double seconds(milliseconds time) {
  return std::chrono::duration<double>{time}.count();
}

}  // namespace

Peers::Peers(launch::Launch const& launch, GlooOptions const& options)
    : options_{options}, self_{static_cast<std::size_t>(launch.process)} {
  if (launch.processes == 1) {
    hosts_.push_back(this_host({}, {}));
    return;
  }
  words_ = open_store(launch, options.to_come);
  meet(launch);
  device_ = gloo::transport::tcp::CreateDevice(hosts_[self_.index()].address.c_str());
  auto everybody = others();
  everybody.insert(everybody.begin() + static_cast<std::ptrdiff_t>(self_.index()), self_);
  alive_ = connect(everybody, "alive");
  control_ = connect(everybody, "control");
}

void Peers::meet(launch::Launch const& launch) {
  if (words_->look_up(key(kHere, self_)))
    throw InputError{fmt::format("{}: rank {} is there already, expected a place that no other job uses; take another",
                                 one_line(launch.meeting_place), self_.index())};
  words_->leave(key(kHere, self_), to_word(this_host(launch, options_.interface)));
  auto const give_up = std::chrono::steady_clock::now() + options_.to_come;
  auto missing = std::vector<std::string>{};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(launch.processes); ++rank) {
    auto const left = std::chrono::duration_cast<milliseconds>(give_up - std::chrono::steady_clock::now());
    if (auto const word = words_->look_up(key(kHere, RankId{rank}), left))
      hosts_.push_back(from_word(*word));
    else
      missing.push_back(fmt::format("rank {}", rank));
  }
  if (missing.empty()) return;
  throw InputError{fmt::format("{} did not come to {} within {} s; start all {} processes, and check why it did not",
                               fmt::join(missing, " and "), one_line(launch.meeting_place), seconds(options_.to_come),
                               launch.processes)};
}

std::string Peers::name(RankId rank) const {
  auto const& host = hosts_[rank.index()];
  return fmt::format("rank {} ({}, {})", rank.index(), one_line(host.name), one_line(host.address));
}

std::shared_ptr<gloo::Context> Peers::connect(std::span<RankId const> ranks, std::string const& key) {
  auto place = std::size_t{0};
  while (ranks[place] != self_) ++place;
  auto store = GroupStore{*words_, key + ".", options_.to_come, [&](std::size_t at) { return name(ranks[at]); },
                          [&] {
                            if (alive_ && !gone().empty()) explain(fmt::format("rank {} connects", self_.index()));
                          }};
  auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(place), static_cast<int>(ranks.size()));
  constexpr auto kGlooWaitsTimes = 5;  // its time-out, while a pair connects
  context->setTimeout(options_.to_come / kGlooWaitsTimes);
  try {
    context->connectFullMesh(store, device_);
  } catch (InputError const&) {
    throw;
  } catch (std::exception const&) {
    auto names = std::vector<std::string>{};
    for (auto const rank : ranks)
      if (rank != self_) names.push_back(name(rank));
    explain(fmt::format("rank {} waits for {} to connect", self_.index(), fmt::join(names, " and ")));
  }
  context->setTimeout(options_.in_a_step);
  auto const lock = std::scoped_lock{mutex_};
  connected_.push_back(context);
  return context;
}

void Peers::send(RankId to, std::string const& text, std::string_view doing) {
  auto const size = std::uint64_t{text.size()};
  try {
    auto passages = Passages{*control_, options_.in_a_step};
    passages.send(&size, sizeof size, to.index(), kSizes);
    passages.send(text.data(), text.size(), to.index(), kTexts);
    passages.wait();
  } catch (std::exception const&) {
    explain(fmt::format("rank {} waits for {} to {}", self_.index(), name(to), doing));
  }
}

std::string Peers::receive(RankId from, std::string_view doing) {
  auto size = std::uint64_t{0};
  auto text = std::string{};
  try {
    auto head = Passages{*control_, options_.in_a_step};
    head.receive(&size, sizeof size, from.index(), kSizes);
    head.wait();
    text.resize(size);
    auto body = Passages{*control_, options_.in_a_step};
    body.receive(text.data(), text.size(), from.index(), kTexts);
    body.wait();
  } catch (std::exception const&) {
    explain(fmt::format("rank {} waits for {} to {}", self_.index(), name(from), doing));
  }
  return text;
}

std::vector<RankId> Peers::others() const {
  auto out = std::vector<RankId>{};
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
    if (RankId{rank} != self_) out.emplace_back(rank);
  return out;
}

/// A connection that has failed refuses to send.
std::vector<RankId> Peers::gone() const {
  auto out = std::vector<RankId>{};
  if (!alive_) return out;
  auto byte = char{};
  auto const buffer = alive_->createUnboundBuffer(&byte, sizeof byte);
  constexpr std::uint64_t kNobodyReceives = 0;
  for (auto const rank : others()) {
    try {
      buffer->send(static_cast<int>(rank.index()), kNobodyReceives);
    } catch (std::exception const&) {
      out.push_back(rank);
    }
  }
  return out;
}

/// What one of the others has said, or who has gone without a word; "" if neither.
std::string Peers::reason_of_others() {
  constexpr auto kLooks = 10;         // until a process that has gone without a word counts as dead
  constexpr auto kPatientLooks = 50;  // or had begun to find out itself
  constexpr auto kPause = milliseconds{20};
  auto all_gone = std::vector<RankId>{};
  auto looks = kLooks;
  for (auto look = 0; look < looks; ++look) {
    for (auto const rank : others())
      if (auto const why = words_->look_up(key(kFailed, rank))) return *why;
    all_gone = gone();
    for (auto const rank : all_gone)
      if (words_->look_up(key(kWaits, rank))) looks = kPatientLooks;
    std::this_thread::sleep_for(kPause);
  }
  auto names = std::vector<std::string>{};
  for (auto const rank : all_gone) names.push_back(name(rank));
  return names.empty() ? "" : fmt::format("{} died: its connection is closed", fmt::join(names, " and "));
}

/// Those that wait too have said so at about the same time; who has not is the one that they wait for.
std::string Peers::who_is_silent(std::string const& waiting) {
  auto silent = std::vector<std::string>{};
  auto all = std::vector<std::string>{waiting};
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  for (auto const rank : others()) {
    auto const left = std::chrono::duration_cast<milliseconds>(give_up - std::chrono::steady_clock::now());
    if (auto why = words_->look_up(key(kWaits, rank), left))
      all.push_back(std::move(*why));
    else
      silent.push_back(name(rank));
  }
  auto const time = seconds(options_.in_a_step);
  if (!silent.empty())
    return fmt::format("no sign of {} for {} s, while {}", fmt::join(silent, " and "), time, waiting);
  return fmt::format("no end for {} s: {}", time, fmt::join(all, "; "));
}

void Peers::explain(std::string const& waiting) {
  say(key(kWaits, self_), waiting);
  auto reason = reason_of_others();
  if (reason.empty()) reason = who_is_silent(waiting);
  announce(reason);
  throw LostPeer{reason};
}

void Peers::announce(std::string const& why) {
  {
    auto const lock = std::scoped_lock{mutex_};
    if (std::exchange(is_announced_, true)) return;
  }
  say(key(kFailed, self_), why);
}

/// Leaves a word, unless the store has gone with who held it.
void Peers::say(std::string const& key, std::string const& word) {
  try {
    if (words_) words_->leave(key, word);
  } catch (InputError const&) {
  }
}

/// Gloo closes all pairs of a context when a wait in it takes too long, which ends all other waits in it.
void Peers::disconnect() {
  auto const lock = std::scoped_lock{mutex_};
  for (auto const& context : connected_) {
    auto byte = char{};
    try {
      context->createUnboundBuffer(&byte, sizeof byte)->waitRecv(kAtOnce);
    } catch (std::exception const&) {  // as meant
    }
  }
}

}  // namespace twinstep::cpu
