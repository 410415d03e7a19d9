#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/flat_layout.hpp"
#include "strategies/model/cnn_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::literals;

namespace {

std::vector<Bytes> bucket_sizes(std::string_view network, Bytes cap) {
  auto const model = work_of(*find_cnn(network), {.compute_type = DataType::kFp32, .gradient_type = DataType::kFp32});
  auto const parameters = Parameters{model};
  auto out = std::vector<Bytes>{};
  for (auto const& bucket : bucketed(parameters, DataType::kFp32, {1_MiB, cap})) {
    out.emplace_back();
    for (auto const id : bucket) out.back() += size_of(DataType::kFp32) * parameters.elements(id);
  }
  return out;
}

}  // namespace

TEST_CASE("ResNet-18's gradients fill the buckets that PyTorch's DDP was seen to fill", "[model][cnn][ddp]") {
  // bucket_cap_mb counts 1024²: with 35 * 10^6 the second bucket would close at 35,936,256 bytes.
  CHECK(bucket_sizes("resnet18", 25_MiB) == std::vector{2'052'000_B, 28'852'224_B, 15'853'824_B});
  CHECK(bucket_sizes("resnet18", 35_MiB) == std::vector{2'052'000_B, 38'297'600_B, 6'408'448_B});
}

TEST_CASE("a step of a residual network is a well-formed program", "[model][cnn]") {
  for (auto const strategy : tests::kAllStrategies) {
    auto const program = tests::compiled(
        *find_cnn("resnext50_32x4d"),
        {.strategy = strategy, .ranks = 4, .micro_batch = 2, .global_batch = 16, .precision = DataType::kFp32});
    CHECK(program::find_defects(program).empty());
    CHECK(program::find_races(program).empty());
  }
}
