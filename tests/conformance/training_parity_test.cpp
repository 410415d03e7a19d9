#include <memory>

#include <fmt/core.h>

#include "tests/conformance/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "validate/cpu/executor.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

TrainingJob on_cpus(std::int64_t /*ranks*/, Initialise const& initialise) {
  auto const environment = std::make_shared<cpu::Environment>(initialise);
  return {.step = [=](program::StepProgram const& step) { return cpu::run(step, *environment); },
          .read = [=](RankId rank, std::string_view name,
                      std::string_view scope) { return environment->read(rank, name, scope); }};
}

constexpr std::int64_t kMicroBatch = 2;

}  // namespace

// One rank computes the whole global batch at once; the others cut it into ranks and micro-batches. AdamW moves a
// weight by about the learning rate, 3e-4; sums in another order differ by some 1e-16 of the gradients, which it can
// magnify by the ratio of the learning rate to the smallest gradients (about 1e-3 here), so 1e-12 is rounding and
// nothing else.
TEST_CASE("every strategy trains like a single rank", "[conformance][strategies][cpu]") {
  for (auto const recompute : {Recompute::kNone, Recompute::kFull}) {
    for (std::int64_t const ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (std::int64_t const micro_batches : {1, 3}) {
        auto const global_batch = kMicroBatch * ranks * micro_batches;
        auto const reference = train_alone(global_batch, DataType::kFp64, on_cpus);
        for (auto const name : kAllStrategies) {
          INFO(fmt::format("{}, {} ranks, {} micro-batches, recompute {}", name_of(name), ranks, micro_batches,
                           name_of(recompute)));
          auto const trained = train({.strategy = name,
                                      .recompute = recompute,
                                      .ranks = ranks,
                                      .micro_batch = kMicroBatch,
                                      .global_batch = global_batch,
                                      .precision = DataType::kFp64,
                                      .bucket = 1_KiB,
                                      .first_bucket = 256_B},
                                     on_cpus);
          CHECK(largest_difference(trained, reference) < 1e-12);
        }
      }
    }
  }
}
