#include <random>
#include <set>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

using Strings = std::vector<std::string>;

std::string name_of_strategy(std::size_t i) {
  return std::string{name_of(static_cast<strategies::StrategyName>(i))};
}

StepProgram of_strategy(std::size_t i, std::int64_t ranks) {
  return compiled(strategies::ModelSpec{tiny_llama()},
                  {.strategy = static_cast<strategies::StrategyName>(i),
                   .parallel = {.data = ranks},
                   .batch = {.micro_batch = 1, .global_batch = ranks, .sequence_length = 32}});
}

/// A program over two axes: every communicator gathers shards that are even, gathers some that are not, and sends the
/// whole from one rank, the only one that holds it.
StepProgram of_two_axes(std::int64_t ranks) {
  auto builder = ProgramBuilder{Grid{{{"outer", ranks / 3}, {"inner", 3}}}};
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const add = [&](std::string_view name, std::initializer_list<std::string_view> axes, std::int64_t size) {
    auto const along = builder.along(axes);
    auto const communicator = builder.communicator(name, axes);
    auto const whole = role.buffer(fp32(builder.name("whole"), 4 * size, true));
    auto const by_place = builder.variation({along, 4, {}});
    role.add(stream, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, communicator, 4 * size),
             {whole, RankValue{0, by_place}, 4}, role.whole(whole));
    auto const uneven = 4 * size + size / 2;
    auto table = std::vector<std::int64_t>{};
    for (std::int64_t i = 0; i < size; ++i)
      table.push_back(chunk_begin(uneven, size, i + 1) - chunk_begin(uneven, size, i));
    auto const chunk = role.buffer(fp32(builder.name("chunk"), {0, builder.variation({along, 0, table})}, true));
    auto const all = role.buffer(fp32(builder.name("all"), uneven, true));
    role.add(stream, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, communicator, uneven),
             role.whole(chunk), role.whole(all));
    table.assign(static_cast<std::size_t>(size), 0);
    table[static_cast<std::size_t>(size / 2)] = 8;
    auto const sent = role.buffer(fp32(builder.name("sent"), {0, builder.variation({along, 0, table})}, true));
    auto const received = role.buffer(fp32(builder.name("received"), 8, true));
    role.add(stream, builder.name("tell"), fp32_collective(CollectiveKind::kBroadcast, communicator, 8, size / 2),
             role.whole(sent), role.whole(received));
  };
  add("outer", {"outer"}, ranks / 3);
  add("inner", {"inner"}, 3);
  add("all", {"outer", "inner"}, ranks);
  return std::move(builder).finish();
}

/// Breaks one thing of a program, or nothing that matters.
class Mutation {
 public:
  Mutation(StepProgram& program, unsigned seed) : program_{program}, role_{program.roles.front()}, random_{seed} {}

  void apply() {
    switch (below(8)) {
      case 0: return change(any(role_.accesses).region.offset);
      case 1: return change(any(role_.accesses).region.elements);
      case 2: return change(any(role_.buffers).elements);
      case 3: return std::visit([&](auto& part) { change(part.elements); }, any(role_.parts));
      case 4:
        if (auto* const collective = std::get_if<Collective>(&any(role_.parts))) change(collective->root);
        return;
      case 5: return change_work(any(role_.operations).work);
      case 6: return forget_a_wait();
      default:
        if (!program_.variations.empty()) change(any(program_.variations));
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  std::int64_t a_little() { return static_cast<std::int64_t>(below(5)) - 2; }
  template <class Entry>
  Entry& any(std::vector<Entry>& list) {
    return list[below(list.size())];
  }
  void change(RankValue& value) {
    if (below(2) == 0) {
      value.base += a_little();
    } else if (below(2) == 0) {
      program_.variations.push_back({{GridId{0}, all_axes()}, a_little(), {}});
      if (below(2) == 0) change(program_.variations.back());
      value.variation = VariationId{program_.variations.size() - 1};
    } else {
      value.variation = {};
    }
  }
  void change(Variation& variation) {
    if (below(3) == 0) {
      variation.stride += a_little();
      return;
    }
    variation.table.resize(static_cast<std::size_t>(program_.grids.size(variation.along)));
    any(variation.table) += a_little();
  }
  void forget_a_wait() {
    auto const first = below(role_.operations.size());
    for (std::size_t i = 0; i < role_.operations.size(); ++i) {
      auto& op = role_.operations[(first + i) % role_.operations.size()];
      if (op.waits.count == 0) continue;
      --op.waits.count;
      return;
    }
  }
  void change_work(Work& work) {
    if (auto* const elementwise = std::get_if<Elementwise>(&work)) change(elementwise->elements);
    if (auto* const copy = std::get_if<Copy>(&work)) change(copy->bytes);
  }
  AxisSet all_axes() const {
    auto axes = AxisSet{};
    for (std::size_t i = 0; i < program_.grids[GridId{0}].axes().size(); ++i) axes.insert(AxisId{i});
    return axes;
  }

  StepProgram& program_;
  Role& role_;
  std::mt19937 random_;
};

/// The same program beside grids that are not nested, where no rank may stand for another.
StepProgram with_every_rank_asked(StepProgram program) {
  auto grids = program.grids.all();
  auto const rest = program.grids.world_size() / 6;
  grids.emplace_back(std::vector<GridAxis>{{"two", 2}, {"rest", 3 * rest}}, "by halves");
  grids.emplace_back(std::vector<GridAxis>{{"three", 3}, {"others", 2 * rest}}, "by thirds");
  program.grids = Grids{std::move(grids)};
  REQUIRE(!program.grids.are_nested());
  return program;
}

/// Races without the rank on which they were seen.
std::set<std::string> races(StepProgram const& program) {
  auto found = std::set<std::string>{};
  for (auto const& text : find_races(program)) found.insert(text.substr(0, text.find(" its elements [")));
  return found;
}

/// 0 where the program is right; otherwise which of the checks found something wrong, from 1.
std::size_t expect_same_findings(StepProgram const& program) {
  auto const every_rank = with_every_rank_asked(program);
  auto const defects = find_defects(program);
  REQUIRE(defects == find_defects(every_rank));
  if (!defects.empty()) return 1;
  auto const found = races(program);
  REQUIRE(found == races(every_rank));
  if (!found.empty()) return 2;
  auto const fits = find_mismatches(program).empty();
  REQUIRE(fits == find_mismatches(every_rank).empty());
  return fits ? 0 : 3;
}

}  // namespace

TEST_CASE("asking a few ranks finds what asking every rank finds in broken programs", "[program][property]") {
  constexpr auto kStrategies = std::size_t{11};
  auto counts = std::array<std::size_t, 4>{};
  for (std::size_t kind = 0; kind <= kStrategies; ++kind)
    for (auto const ranks : {6, 18}) {
      auto const whole = kind < kStrategies ? of_strategy(kind, ranks) : of_two_axes(ranks);
      CAPTURE(kind < kStrategies ? name_of_strategy(kind) : "two axes", ranks);
      REQUIRE(expect_same_findings(whole) == 0);
      for (unsigned seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto program = whole;
        Mutation{program, seed}.apply();
        ++counts[expect_same_findings(program)];
      }
    }
  CAPTURE(counts);
  for (auto const count : counts) CHECK(count > 10);
}

TEST_CASE("what checks look at does not grow with ranks", "[program][property]") {
  // A program of 6 ranks and one of 6 * 2^20 of the same strategy: asking every one of six million ranks for each of a
  // few hundred operations would take minutes.
  for (std::size_t kind = 0; kind < 11; ++kind) {
    auto const name = static_cast<strategies::StrategyName>(kind);
    CAPTURE(name_of(name));
    auto const program = of_strategy(kind, std::int64_t{6} << 20);
    CHECK(find_defects(program) == Strings{});
    CHECK(find_races(program) == Strings{});
    CHECK(find_mismatches(program) == Strings{});
  }
}
