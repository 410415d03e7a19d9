#include "validate/study/cnn_calibration.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/read_step.hpp"
#include "validate/study/step_prediction.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// A row of PyTorch's DDP benchmark: milliseconds of a step on `ranks` V100, without DDP on one.
validate::StepRecord row(std::string_view network, int ranks, double milliseconds) {
  return read_step(fmt::format(
      R"({{"id": "{0}", "family": "ddp", "model": {{"name": "{0}", "kind": "CNN"}}, "precision": "fp32",
          "parallelism": {{"dp": {1}, "zero_stage": 0, "ddp": "torch DDP"{2}}}, "micro_batch": 32,
          "global_batch": {3}, "activation_recompute": "none", "optimizer": "SGD",
          "measured": {{"step_time_s": {4}}},
          "cluster": {{"gpu": "v100-16g", "gpus_per_node": 8, "nodes": 1, "intra": "cube-mesh"}}}})",
      network, ranks, ranks == 1 ? "" : R"(, "bucket_cap_mb": 25)", 32 * ranks, milliseconds / 1000));
}

study::StepReplay replay(validate::StepRecord const& record) {
  return std::get<study::StepReplay>(study::replay_of(record, std::nullopt));
}

double milliseconds(study::StepReplay const& step, double compute) {
  return study::simulated_time(study::with_compute(step.scenario, compute)).count() * 1000;
}

}  // namespace

TEST_CASE("a network's kernels take what its own row without DDP measured", "[steps]") {
  auto const bare = row("resnet18", 1, 42);
  auto const factors = study::CnnCalibration{{bare}, std::nullopt}.factors_of(bare, replay(bare));
  CHECK(milliseconds(replay(bare), factors.compute) == Approx(42).epsilon(1e-4));
  CHECK(factors.replicas == 1);
  CHECK(factors.has_seen);
}

TEST_CASE("without such a row they run as those of ResNet-50", "[steps]") {
  auto const bare = row("resnet50", 1, 97);
  auto const other = row("resnet18", 1, 42);
  auto const networks = study::CnnCalibration{{bare}, std::nullopt};
  auto const factors = networks.factors_of(other, replay(other));
  CHECK(factors.compute == networks.factors_of(bare, replay(bare)).compute);
  CHECK(factors.notes == std::vector<std::string>{"compute from resnet50's row without DDP"});
}

TEST_CASE("grouped convolutions fill a part of their tiles: ResNeXts are predicted from ResNet-50 alone", "[steps]") {
  // Rows without DDP of PyTorch's benchmark on a V100 (benchmarks/distributed/ddp/README.md), in ms. Without
  // tiles the predictions are a fifth less.
  auto const bare = row("resnet50", 1, 97);
  auto const networks = study::CnnCalibration{{bare}, std::nullopt};
  auto const predicted = [&](std::string_view network, double measured) {
    auto const other = row(network, 1, measured);
    return milliseconds(replay(other), networks.factors_of(other, replay(other)).compute);
  };
  CHECK(predicted("resnext50_32x4d", 145) == Approx(145).epsilon(0.05));
  CHECK(predicted("resnext101_32x8d", 415) == Approx(415).epsilon(0.05));
}

TEST_CASE("what replicas wait for each other is taken from ResNet-50 and predicts other networks", "[steps]") {
  auto const bare = row("resnet50", 1, 97);
  auto const one = study::CnnCalibration{{bare}, std::nullopt};
  auto const with_ddp = row("resnet50", 4, 110);
  auto const alone = milliseconds(replay(with_ddp), one.factors_of(bare, replay(bare)).compute);

  auto const other = row("resnet18", 2, 50);
  auto const networks = study::CnnCalibration{{bare, with_ddp, other}, std::nullopt};
  CHECK(networks.factors_of(with_ddp, replay(with_ddp)).replicas == Approx(110 / alone));
  CHECK(networks.factors_of(with_ddp, replay(with_ddp)).has_seen);
  CHECK(networks.factors_of(other, replay(other)).replicas == Approx(110 / alone));
  CHECK_FALSE(networks.factors_of(other, replay(other)).has_seen);
}

TEST_CASE("transformers are left as they are", "[steps]") {
  auto const record = read_step(foundry_record());
  auto const factors = study::CnnCalibration{{row("resnet50", 1, 97)}, std::nullopt}.factors_of(record, replay(record));
  CHECK(factors.compute == 1);
  CHECK(factors.replicas == 1);
}
