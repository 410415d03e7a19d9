#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/core.h>

#include "tests/conformance/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/shared_numbers.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/launch/local_ranks.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

/// One process for each rank. The others run steps for as long as this one does, and show their parameters after each.
class GlooTraining {
 public:
  GlooTraining(std::int64_t ranks, program::Initialiser const& initialise)
      : ranks_{static_cast<int>(ranks)},
        shown_{static_cast<std::size_t>(ranks), 1 + kMostParameters},
        initialise_{initialise},
        environment_{initialise} {}

  timeline::Timeline step(program::StepProgram const& program) {
    if (!others_) begin(program);
    auto timeline = job_->run(program, environment_);
    show(environment_, RankId{0});
    return timeline;
  }

  std::vector<double> read(RankId rank, std::string_view name) {
    auto const shown = shown_.of(rank.index());
    while (std::atomic_ref{shown[0]}.load() < static_cast<double>(environment_.steps())) std::this_thread::yield();
    auto const own = environment_.read(RankId{0}, name, "");  // all have equally many
    return {shown.begin() + 1, shown.begin() + 1 + static_cast<std::ptrdiff_t>(own.size())};
  }

 private:
  static constexpr std::size_t kMostParameters = 1024;

  void begin(program::StepProgram const& program) {
    others_.emplace(ranks_, [&](launch::Launch const& launch) {
      auto job = cpu::GlooJob{launch};
      auto environment = cpu::Environment{initialise_};
      while (true) {  // until process 0 goes away
        static_cast<void>(job.run(program, environment));
        show(environment, RankId{static_cast<std::size_t>(launch.process)});
      }
    });
    job_.emplace(others_->launch());
  }

  /// First the parameters, then the number of steps that made them.
  void show(cpu::Environment const& environment, RankId rank) const {
    auto const shown = shown_.of(rank.index());
    for (auto const* name : {"parameters", "parameter_shard"})
      if (environment.holds(rank, name, "")) std::ranges::copy(environment.read(rank, name, ""), shown.begin() + 1);
    std::atomic_ref{shown[0]}.store(static_cast<double>(environment.steps()));
  }

  int ranks_;
  SharedNumbers shown_;
  program::Initialiser initialise_;
  cpu::Environment environment_;
  std::optional<launch::LocalRanks> others_;
  std::optional<cpu::GlooJob> job_;
};

TrainingJob over_gloo(std::int64_t ranks, program::Initialiser const& initialise) {
  auto const training = std::make_shared<GlooTraining>(ranks, initialise);
  return {.step = [=](program::StepProgram const& step) { return training->step(step); },
          .read = [=](RankId rank, std::string_view name, std::string_view) { return training->read(rank, name); }};
}

}  // namespace

// 1e-12 as in training on threads.
TEST_CASE("strategies over Gloo train like a single rank", "[conformance][strategies][gloo]") {
  constexpr std::int64_t kMicroBatch = 2;
  for (std::int64_t const ranks : {2, 3}) {
    auto const global_batch = kMicroBatch * ranks * 2;
    auto const reference = train_alone(global_batch, DataType::kFp64, over_gloo);
    for (auto const name : kAllStrategies) {
      INFO(fmt::format("{}, {} ranks", name_of(name), ranks));
      auto const trained = train({.strategy = with_buckets(name, 1_KiB, 256_B),
                                  .parallel = {.data = ranks},
                                  .batch = {.micro_batch = kMicroBatch, .global_batch = global_batch},
                                  .kernels = {.precision = DataType::kFp64}},
                                 over_gloo);
      CHECK(largest_difference(trained, reference) < 1e-12);
    }
  }
}
