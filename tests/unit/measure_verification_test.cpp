#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"
#include "validate/measure/backends.hpp"
#include "validate/measure/collective_sweep.hpp"

using namespace twinstep;
using namespace twinstep::measure;

namespace {

/// Ranks are threads of this process, on real numbers.
class ThreadedExecutor : public tests::ClockedExecutor {
 public:
  explicit ThreadedExecutor(std::int64_t ranks)
      : ClockedExecutor{ranks,
                        [this](program::StepProgram const& program) { return cpu::run(program, environment_); }} {}
  [[nodiscard]] std::vector<RankId> local_ranks() const override {
    auto ranks = std::vector<RankId>{};
    for (std::int64_t rank = 0; rank < job().ranks; ++rank) ranks.emplace_back(static_cast<std::size_t>(rank));
    return ranks;
  }
  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                         std::size_t count) const override {
    auto values = environment_.read(rank, name, scope, first, count);
    if (rank == spoilt_) values.front() += 0.01;
    return values;
  }
  /// From now on the first number that `rank` received is wrong.
  void spoil(RankId rank) { spoilt_ = rank; }

 private:
  cpu::Environment environment_{[](program::FreshBuffer const& buffer, std::span<double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = initial_value(buffer.rank, i);
  }};
  RankId spoilt_;
};

/// Every exchange there is, in place and out of place.
std::vector<Exchange> all_exchanges(std::int64_t elements) {
  auto exchanges = std::vector<Exchange>{{.kind = std::nullopt, .elements = elements}};
  for (auto const name : all_names<CollectiveKind>())
    for (auto const is_in_place : {false, true}) {
      auto const exchange = Exchange{.kind = find_enum<CollectiveKind>(name), .elements = elements};
      if (is_in_place && !exchange.can_be_in_place()) continue;
      exchanges.push_back(exchange);
      exchanges.back().is_in_place = is_in_place;
    }
  return exchanges;
}

}  // namespace

TEST_CASE("every exchange is right on data, in and out of place, for any number of ranks", "[measure][verification]") {
  for (auto const ranks : {1, 2, 3, 5})
    for (auto const& exchange : all_exchanges(12 * ranks)) {
      INFO((exchange.kind ? name_of(*exchange.kind) : "send_recv") << " on " << ranks << ", " << exchange.is_in_place);
      auto executor = ThreadedExecutor{ranks};
      CHECK(count_wrong(executor, exchange, 100) == 0);
      CHECK(count_wrong(executor, exchange, 100) == 0);  // the buffers are used again
    }
}

TEST_CASE("every exchange is right on data on GPUs that are not there", "[measure][verification][cuda]") {
  auto const executor = nccl_executor(std::make_unique<tests::FakeDevice>(3), {}, {});
  CHECK(executor->job().ranks == 3);
  CHECK(executor->job().ranks_per_node == 3);
  for (auto const& exchange : all_exchanges(36)) {
    INFO((exchange.kind ? name_of(*exchange.kind) : "send_recv") << ", in place: " << exchange.is_in_place);
    CHECK(count_wrong(*executor, exchange, 100) == 0);
  }
}

TEST_CASE("a GPU that was throttled makes what it measured doubtful", "[measure][cuda]") {
  auto device = std::make_unique<tests::FakeDevice>(1);
  auto* const gpu = device.get();
  auto const executor = nccl_executor(std::move(device), {}, {});
  CHECK(executor->sum(1) == 1);  // a run
  CHECK(executor->doubts().empty());
  gpu->set_health(0, {.throttled_by = {"power cap"}});
  CHECK(executor->sum(1) == 1);
  gpu->set_health(0, {});
  CHECK(executor->sum(1) == 1);  // what is over stays in doubt
  REQUIRE(executor->doubts().size() == 1);
  CHECK_THAT(executor->doubts()[0], Catch::Contains("power cap"));
}

TEST_CASE("the processes agree by a sum", "[measure][verification][cuda]") {
  auto const executor = nccl_executor(std::make_unique<tests::FakeDevice>(2), {}, {});
  CHECK(executor->sum(7) == 7);  // one process
  CHECK(executor->sum(-3) == -3);
}

TEST_CASE("every reduction is right on data", "[measure][verification]") {
  for (auto const name : all_names<program::Reduction>())
    for (auto const type : {DataType::kFp32, DataType::kFp64}) {
      INFO(name);
      auto executor = ThreadedExecutor{3};
      auto const exchange = Exchange{.reduction = *find_enum<program::Reduction>(name), .type = type, .elements = 30};
      CHECK(count_wrong(executor, exchange, 30) == 0);
    }
}

TEST_CASE("a wrong element is counted at the rank that received it", "[measure][verification]") {
  for (auto const& exchange : all_exchanges(16)) {
    INFO((exchange.kind ? name_of(*exchange.kind) : "send_recv"));
    auto executor = ThreadedExecutor{4};
    executor.spoil(RankId{0});  // the root, where there is one
    CHECK(count_wrong(executor, exchange, 16) == 1);
  }
}
