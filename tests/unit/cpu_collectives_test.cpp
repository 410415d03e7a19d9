#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"
#include "tests/support/programs.hpp"

using namespace twinstep;
using namespace twinstep::literals;

namespace {

using Values = std::vector<double>;

/// What rank `rank` has at place `i` of its send buffer: small integers, so fp32 sums are exact.
double sent(std::int64_t rank, std::size_t i) {
  return static_cast<double>(100 * (rank + 1)) + static_cast<double>(i);
}

void fill_sent(program::FreshBuffer const& buffer, std::span<double> values) {
  if (buffer.name != "sent" && buffer.name != "mine" && buffer.name != "gradient") return;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = sent(static_cast<std::int64_t>(buffer.rank.index()), i);
}

struct Outcome {
  std::vector<Values> received;  // by rank
  TotalBytes wire;
};

Outcome outcome_of(program::StepProgram const& program, std::string_view buffer = "received") {
  auto environment = cpu::Environment{fill_sent};
  auto out = Outcome{};
  out.wire = cpu::run(program, environment).wire.intra;
  for (std::int64_t rank = 0; rank < program.grids.world_size(); ++rank)
    out.received.push_back(environment.read(RankId{static_cast<std::size_t>(rank)}, buffer, ""));
  return out;
}

/// Calls `check(ranks, elements)` for 1 to 4 ranks and sizes that do and do not divide.
template <class Check>
void for_all_sizes(Check check) {
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks)
    for (std::int64_t const elements : {1, 7, 12}) check(ranks, elements);
}

std::size_t begin(std::int64_t elements, std::int64_t ranks, std::int64_t place) {
  return static_cast<std::size_t>(chunk_begin(elements, ranks, place));
}

/// Sum over ranks of element `i`.
double total(std::int64_t ranks, std::size_t i) {
  auto out = 0.0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) out += sent(rank, i);
  return out;
}

Values totals(std::int64_t ranks, std::size_t first, std::size_t last) {
  auto out = Values{};
  for (auto i = first; i < last; ++i) out.push_back(total(ranks, i));
  return out;
}

/// All chunks of all ranks, one after another.
Values concatenated(std::int64_t ranks, std::int64_t elements) {
  auto out = Values{};
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < begin(elements, ranks, rank + 1) - begin(elements, ranks, rank); ++i)
      out.push_back(sent(rank, i));
  return out;
}

Values sent_by(std::int64_t rank, std::size_t first, std::size_t last) {
  auto out = Values{};
  for (auto i = first; i < last; ++i) out.push_back(sent(rank, i));
  return out;
}

bool is_untouched(Values const& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// Every number of rank r begins as r + 1.
cpu::Environment counting_from_one() {
  return cpu::Environment{[](program::FreshBuffer const& buffer, std::span<double> values) {
    for (auto& value : values) value = static_cast<double>(buffer.rank.index() + 1);
  }};
}

}  // namespace

TEST_CASE("all_reduce gives every rank the sum", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kAllReduce, ranks, elements));
    for (auto const& received : outcome.received)
      CHECK(received == totals(ranks, 0, static_cast<std::size_t>(elements)));
  });
}

TEST_CASE("all_reduce works in place", "[cpu][collectives]") {
  for (auto const& received : outcome_of(tests::in_place_all_reduce(3, 7), "gradient").received)
    CHECK(received == totals(3, 0, 7));
}

TEST_CASE("average, maximum and minimum are taken over ranks", "[cpu][collectives]") {
  auto const reduce = [](program::Reduction reduction) {
    return outcome_of(tests::one_collective(CollectiveKind::kAllReduce, 3, 2, 0, reduction)).received[1];
  };
  // Ranks 0, 1, 2 send {100, 101}, {200, 201}, {300, 301}.
  CHECK(reduce(program::Reduction::kAverage) == Values{200, 201});
  CHECK(reduce(program::Reduction::kMax) == Values{300, 301});
  CHECK(reduce(program::Reduction::kMin) == Values{100, 101});
}

TEST_CASE("all_gather gives every rank the chunks in the order of ranks", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kAllGather, ranks, elements));
    for (auto const& received : outcome.received) CHECK(received == concatenated(ranks, elements));
  });
}

TEST_CASE("reduce_scatter gives every rank its chunk of the sum", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kReduceScatter, ranks, elements));
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      CHECK(outcome.received[static_cast<std::size_t>(rank)] ==
            totals(ranks, begin(elements, ranks, rank), begin(elements, ranks, rank + 1)));
  });
}

TEST_CASE("broadcast gives every rank what the root has", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const root = ranks - 1;
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kBroadcast, ranks, elements, root));
    for (auto const& received : outcome.received)
      CHECK(received == sent_by(root, 0, static_cast<std::size_t>(elements)));
  });
}

TEST_CASE("reduce gives the root the sum and leaves the others alone", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const root = static_cast<std::size_t>(ranks / 2);
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kReduce, ranks, elements, ranks / 2));
    for (std::size_t rank = 0; rank < outcome.received.size(); ++rank) {
      if (rank == root)
        CHECK(outcome.received[rank] == totals(ranks, 0, static_cast<std::size_t>(elements)));
      else
        CHECK(is_untouched(outcome.received[rank]));
    }
  });
}

TEST_CASE("gather gives the root all chunks and leaves the others alone", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kGather, ranks, elements));
    CHECK(outcome.received[0] == concatenated(ranks, elements));
    for (std::size_t rank = 1; rank < outcome.received.size(); ++rank) CHECK(is_untouched(outcome.received[rank]));
  });
}

TEST_CASE("scatter gives every rank its chunk of what the root has", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const root = ranks - 1;
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kScatter, ranks, elements, root));
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      CHECK(outcome.received[static_cast<std::size_t>(rank)] ==
            sent_by(root, begin(elements, ranks, rank), begin(elements, ranks, rank + 1)));
  });
}

TEST_CASE("all_to_all gives every rank its chunk of what each rank has", "[cpu][collectives]") {
  for_all_sizes([](std::int64_t ranks, std::int64_t elements) {
    auto const outcome = outcome_of(tests::one_collective(CollectiveKind::kAllToAll, ranks, elements));
    for (std::int64_t to = 0; to < ranks; ++to) {
      auto expected = Values{};
      for (std::int64_t from = 0; from < ranks; ++from)
        for (auto i = begin(elements, ranks, to); i < begin(elements, ranks, to + 1); ++i)
          expected.push_back(sent(from, i));
      CHECK(outcome.received[static_cast<std::size_t>(to)] == expected);
    }
  });
}

TEST_CASE("in all_to_all ranks may send different amounts", "[cpu][collectives]") {
  auto small = tests::SmallProgram{2};
  auto const along = small.builder.along({"data"});
  auto const communicator = small.builder.communicator("experts", along);
  auto& role = small.builder.role("worker");
  // Rank 0 sends 2 elements, rank 1 sends 4; each receives half of both.
  auto const amount = program::RankValue{2, small.builder.variation({along, 2, {}})};
  auto const from = small.persistent(role, "sent", amount);
  auto const to = small.persistent(role, "received", 3);
  role.add(
      role.stream("comm"), small.builder.name("dispatch"),
      program::Collective{
          .kind = CollectiveKind::kAllToAll, .type = DataType::kFp32, .communicator = communicator, .elements = amount},
      role.whole(from), role.whole(to));
  auto const outcome = outcome_of(std::move(small.builder).finish());
  CHECK(outcome.received[0] == Values{100, 200, 201});
  CHECK(outcome.received[1] == Values{101, 202, 203});
  CHECK(outcome.wire == 12_B);  // 1 element from rank 0, 2 from rank 1, 4 bytes each
}

TEST_CASE("messages of a group go round a ring, and coalesced collectives add up", "[cpu][collectives]") {
  // After the shift rank r holds what rank r - 1 had; the sums over all ranks are then those of "mine".
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks)
    for (auto const& theirs : outcome_of(tests::groups_in_a_ring(ranks), "theirs").received)
      CHECK(theirs == totals(ranks, 0, 6));
}

TEST_CASE("uneven shards are reduced, updated and gathered", "[cpu][collectives]") {
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
    auto expected = totals(ranks, 0, 10);
    for (auto& value : expected) value = -value;
    for (auto const& parameters : outcome_of(tests::uneven_shards(ranks), "parameters").received)
      CHECK(parameters == expected);
  }
}

TEST_CASE("communicators of a mesh join the ranks along their axes", "[cpu][collectives]") {
  auto environment = counting_from_one();
  static_cast<void>(cpu::run(tests::two_communicators_on_a_mesh(), environment));
  // Ranks hold 1, 2, 3, 4. Along data (0 with 2, 1 with 3): 4, 6, 4, 6; over all: 20. Along tensor (0 with 1, 2 with
  // 3): 3, 3, 7, 7; over all: 20.
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(environment.read(RankId{rank}, "a", "") == Values(7, 20));
    CHECK(environment.read(RankId{rank}, "b", "") == Values(5, 20));
  }
}

TEST_CASE("communicators of two grids join the ranks along the axes of theirs", "[cpu][collectives]") {
  auto environment = counting_from_one();
  static_cast<void>(cpu::run(tests::folded_experts(), environment));
  // Ranks hold 1 to 8. Four experts are neighbours: 1 + 2 + 3 + 4 and 5 + 6 + 7 + 8. Tensor ranks are pairs: 1 + 2, 3 +
  // 4, …. Along the experts' data lie ranks four apart: 1 + 5, 2 + 6, ….
  for (std::size_t rank = 0; rank < 8; ++rank) {
    auto const pair = static_cast<double>(rank / 2);
    CHECK(environment.read(RankId{rank}, "a", "") == Values(5, rank < 4 ? 10 : 26));
    CHECK(environment.read(RankId{rank}, "b", "") == Values(5, 3 + 4 * pair));
    CHECK(environment.read(RankId{rank}, "c", "") == Values(5, 6 + 2 * static_cast<double>(rank % 4)));
  }
}

TEST_CASE("grids need not fold each other", "[cpu][collectives]") {
  auto environment = counting_from_one();
  static_cast<void>(cpu::run(tests::crossed_grids(), environment));
  // Ranks hold 1 to 6: in threes 6 and 15, in pairs 3, 7 and 11.
  for (std::size_t rank = 0; rank < 6; ++rank) {
    CHECK(environment.read(RankId{rank}, "a", "") == Values(5, rank < 3 ? 6 : 15));
    CHECK(environment.read(RankId{rank}, "b", "") == Values(5, 3 + 4 * static_cast<double>(rank / 2)));
  }
}

TEST_CASE("all ranks hold the same bits of a sum, in either precision", "[cpu][collectives]") {
  for (auto const type : {DataType::kFp32, DataType::kFp64}) {
    auto environment = cpu::Environment{[](program::FreshBuffer const& buffer, std::span<double> values) {
      for (auto& value : values) value = 0.1 * static_cast<double>(buffer.rank.index() + 1);
    }};
    auto const program = tests::one_collective(CollectiveKind::kAllReduce, 4, 3, 0, program::Reduction::kSum, type);
    static_cast<void>(cpu::run(program, environment));
    auto const first = environment.read(RankId{0}, "received", "");
    CHECK(first[0] == Approx(1.0));
    for (std::size_t rank = 1; rank < 4; ++rank) CHECK(environment.read(RankId{rank}, "received", "") == first);
  }
}

TEST_CASE("wire bytes are those that leave ranks on a ring", "[cpu][collectives]") {
  auto const wire = [](CollectiveKind kind) { return outcome_of(tests::one_collective(kind, 3, 7, 2)).wire; };
  // 3 ranks, 28 bytes. Chunks of 7 elements: 2, 2, 3; the root is place 2 with 12 bytes.
  CHECK(wire(CollectiveKind::kAllReduce) == 112_B);  // 2 (n - 1) N
  CHECK(wire(CollectiveKind::kAllGather) == 56_B);   // (n - 1) N
  CHECK(wire(CollectiveKind::kReduceScatter) == 56_B);
  CHECK(wire(CollectiveKind::kBroadcast) == 56_B);
  CHECK(wire(CollectiveKind::kReduce) == 56_B);
  CHECK(wire(CollectiveKind::kGather) == 16_B);  // all but the root's own chunk
  CHECK(wire(CollectiveKind::kScatter) == 16_B);
  CHECK(wire(CollectiveKind::kAllToAll) == 56_B);  // 3 · 28 less the diagonal: 8 + 8 + 12
}
