#include "sim/program/races.hpp"

#include <random>
#include <set>
#include <utility>

#include "sim/program/well_formed.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

constexpr auto kRanks = std::int64_t{3};

/// An operation that races with an earlier one, and the stream of that one.
struct Finding {
  std::string buffer;
  std::size_t second = 0;
  std::string stream_of_first;
  auto operator<=>(Finding const&) const = default;
};

/// A few operations on two or three streams with few waits. Regions of one buffer differ between ranks.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_{seed}, builder_{Grid{{{"data", kRanks}}}} {
    auto const streams = 2 + below(2);
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(role_.stream(std::string{"stream"} + "abc"[i]));
    by_rank_ = builder_.variation({builder_.along({"data"}), 4, {}});
    for (auto const* name : {"even", "uneven"}) buffers_.push_back(role_.buffer(fp32(builder_.name(name), 20, true)));
    for (std::size_t i = 0; i < 8; ++i) add_operation(i);
  }
  StepProgram finish() && { return std::move(builder_).finish(); }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  void add_operation(std::size_t issued) {
    auto const name = builder_.name("op");
    if (issued > 0 && below(8) == 0) {
      role_.host(name, std::vector{OpId{below(issued)}});
      return;
    }
    auto const stream = streams_[below(streams_.size())];
    if (issued > 0 && below(2) == 0) role_.wait(stream, OpId{below(issued)});
    auto accesses = std::vector<Access>{};
    for (auto count = 1 + below(2); count-- > 0;) accesses.push_back(random_access());
    role_.add(stream, name, Elementwise{}, accesses);
  }
  Access random_access() {
    auto const buffer = below(2);
    auto const offset = static_cast<std::int64_t>(below(8));
    auto const elements = static_cast<std::int64_t>(below(5));
    auto const begin = buffer == 1 && below(2) == 0 ? RankValue{offset, by_rank_} : RankValue{offset};
    return {{buffers_[buffer], begin, elements}, static_cast<AccessMode>(below(3))};
  }

  std::mt19937 random_;
  ProgramBuilder builder_;
  RoleBuilder& role_ = builder_.role("main");
  std::vector<StreamId> streams_;
  std::vector<BufferId> buffers_;
  VariationId by_rank_;
};

/// before[i][j]: operation j comes before operation i, as races.hpp words it, found by walking every chain.
std::vector<std::vector<bool>> chains(Role const& role) {
  auto const count = role.operations.size();
  auto before = std::vector(count, std::vector<bool>(count));
  for (std::size_t i = 0; i < count; ++i) {
    auto const& op = role.operations[i];
    auto const waits = role.waits_of(op);
    for (std::size_t j = 0; j < i; ++j) {
      auto const& earlier = role.operations[j];
      auto const is_link =
          earlier.stream == op.stream || earlier.is_on_host() || std::ranges::find(waits, OpId{j}) != waits.end();
      if (!is_link) continue;
      before[i][j] = true;
      for (std::size_t k = 0; k < j; ++k) before[i][k] = before[i][k] || before[j][k];
    }
  }
  return before;
}

bool overlap(StepProgram const& program, Region const& a, Region const& b) {
  if (a.buffer != b.buffer) return false;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    auto const on = [&](RankValue value) { return program.evaluate(value, RankId{rank}); };
    auto const begin = std::max(on(a.offset), on(b.offset));
    if (begin < std::min(on(a.offset) + on(a.elements), on(b.offset) + on(b.elements))) return true;
  }
  return false;
}

/// Every pair of accesses of every pair of operations.
std::set<Finding> races_by_pairs(StepProgram const& program) {
  auto const& role = program.roles.front();
  auto const before = chains(role);
  auto found = std::set<Finding>{};
  for (std::size_t second = 0; second < role.operations.size(); ++second)
    for (std::size_t first = 0; first < second; ++first) {
      if (before[second][first]) continue;
      for (auto const& a : role.accesses_of(role.operations[first]))
        for (auto const& b : role.accesses_of(role.operations[second])) {
          auto const both_read = a.mode == AccessMode::kRead && b.mode == AccessMode::kRead;
          if (both_read || !overlap(program, a.region, b.region)) continue;
          auto const stream = role.operations[first].stream;
          found.insert({std::string{program.text(role.buffers[a.region.buffer.index()].name)}, second,
                        std::string{program.text(role.streams[stream.index()].name)}});
        }
    }
  return found;
}

/// What stands in `text` between two marks, from `position` on.
std::string between(std::string const& text, char const* begin, char const* end, std::size_t position = 0) {
  auto const first = text.find(begin, position) + std::string_view{begin}.size();
  return text.substr(first, text.find(end, first) - first);
}

std::set<Finding> races_found(StepProgram const& program) {
  auto found = std::set<Finding>{};
  for (auto const& text : find_races(program))
    found.insert({between(text, "buffer \"", "\""), std::stoul(between(text, "(op ", ",", text.find(" while "))),
                  between(between(text, "(op ", ")"), ", ", ")")});
  return found;
}

}  // namespace

TEST_CASE("an operation races with a stream exactly where a pair of accesses without order says so",
          "[program][races][property]") {
  auto with_races = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    auto const program = RandomProgram{seed}.finish();
    REQUIRE(find_defects(program) == std::vector<std::string>{});
    auto const expected = races_by_pairs(program);
    REQUIRE(races_found(program) == expected);
    with_races += expected.empty() ? 0 : 1;
  }
  CHECK(with_races > 40);
  CHECK(with_races < 360);
}
