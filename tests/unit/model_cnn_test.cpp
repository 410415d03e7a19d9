#include <algorithm>

#include "sim/base/input_error.hpp"
#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/kept.hpp"
#include "strategies/model/read_model.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using Catch::Contains;

namespace {

Cnn read_cnn(std::string text) {
  auto warnings = std::vector<std::string>{};
  return std::get<Cnn>(read_model(io::parse({"scenario.json", std::move(text)}), ".", warnings));
}
Cnn published(std::string const& name) {
  return read_cnn(R"({"family": "cnn", "name": ")" + name + R"("})");
}
double forward_flops(Cnn const& model) {
  auto const work = work_of(model, {.compute_type = DataType::kFp32});
  auto flops = Flops{};
  for (auto const unit : work.units) flops += flops_of(work.work(unit)).forward;
  return flops.count();
}
UnitWork unit(Cnn const& model, std::string_view name, std::int64_t images) {
  auto work = work_of(model, {.micro_batch = images, .compute_type = DataType::kFp32});
  auto const found = std::ranges::find(work.units, name, [&](UnitRef ref) { return unit_name(work, ref); });
  REQUIRE(found != work.units.end());
  return work.work(*found);
}
program::Gemm const& product(std::vector<Kernel> const& kernels, std::string_view name) {
  auto const found = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE(found != kernels.end());
  return std::get<program::Gemm>(found->work);
}

}  // namespace

TEST_CASE("residual networks have their published number of parameters", "[model][cnn]") {
  // torchvision's weights, "num_params" in its resnet.py. ResNet-18 by hand: stem 9408 + 128; stages of 147,968,
  // 525,568, 2,099,712 and 8,393,728; fc 513,000.
  CHECK(parameter_count(published("resnet18")) == 9536 + 147'968 + 525'568 + 2'099'712 + 8'393'728 + 513'000);
  CHECK(parameter_count(published("resnet18")) == 11'689'512);
  CHECK(parameter_count(published("resnet34")) == 21'797'672);
  CHECK(parameter_count(published("resnet50")) == 25'557'032);
  CHECK(parameter_count(published("resnet101")) == 44'549'160);
  CHECK(parameter_count(published("resnext50_32x4d")) == 25'028'904);
  CHECK(parameter_count(published("resnext101_32x8d")) == 88'791'336);
}

TEST_CASE("a residual block registers convolutions and norms in turn, then its projection", "[model][cnn]") {
  auto const units = parameters_of(published("resnet18"));
  // Stem; layer1 of two blocks that are alike; three stages of a block with a projection and one without; head.
  REQUIRE(units.size() == 9);
  CHECK(units[1].count == 2);
  auto const& tensors = units[2].tensors;
  auto names = std::vector<std::string>{};
  for (auto const& tensor : tensors) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight",
                                          "bn2.bias", "downsample.0.weight", "downsample.1.weight",
                                          "downsample.1.bias"});
  CHECK(tensors[0] == Tensor{"conv1.weight", 128, 64 * 9});
  CHECK(tensors[6] == Tensor{"downsample.0.weight", 128, 64});
}

TEST_CASE("ResNet-50 takes 4.089 billion multiply-adds an image, and three times that with its gradients",
          "[model][cnn]") {
  // torchvision's weights, "_ops": 4.089; ResNet-18 1.814, ResNeXt-50 4.230, ResNeXt-101 16.414.
  CHECK(forward_flops(published("resnet50")) == Approx(2 * 4.089e9).epsilon(0.001));
  CHECK(forward_flops(published("resnet18")) == Approx(2 * 1.814e9).epsilon(0.001));
  CHECK(forward_flops(published("resnext50_32x4d")) == Approx(2 * 4.230e9).epsilon(0.001));
  CHECK(forward_flops(published("resnext101_32x8d")) == Approx(2 * 16.414e9).epsilon(0.001));
  auto const work = work_of(published("resnet50"), {.micro_batch = 32});
  CHECK(work.tokens_per_micro_batch == 32);
  CHECK(work.model_flops_per_micro_batch.count() == Approx(32 * 3 * 2 * 4.089e9).epsilon(0.001));
}

TEST_CASE("batch norms hold mean and variance of each channel, and a count", "[model][cnn]") {
  // ResNet-18: 64 + 2 * 2 * 64 + 5 * (128 + 256 + 512) = 4800 channels in 20 norms.
  CHECK(buffer_elements(published("resnet18")) == 2 * 4800 + 20);
  CHECK(work_of(published("resnet18"), {}).buffer_elements == 9620);
  CHECK(buffer_elements(Mlp{"mlp", {3, 2}}) == 0);
}

TEST_CASE("a convolution is a product of the output's pixels with their windows", "[model][cnn]") {
  // The 3 × 3 convolution of ResNeXt-50's first block: 56² pixels, 32 groups of 4 channels, windows of 4 * 9.
  auto const block = unit(published("resnext50_32x4d"), "layer1.0", 2);
  auto const& forward = product(block.forward, "conv2.forward");
  CHECK((forward.m == 2 * 56 * 56 && forward.n == 4 && forward.k == 36 && forward.batch == 32));
  // In memory windows overlap: no operand is larger than the image, 2 images of 128 channels.
  CHECK(program::operand_elements(forward) ==
        std::array<std::int64_t, 3>{2 * 128 * 56 * 56, 32 * 4 * 36, 2 * 128 * 56 * 56});
  for (auto const* name : {"conv2.data_gradient", "conv2.weight_gradient"})
    CHECK(program::flops_of(product(block.backward, name)) == program::flops_of(forward));
}

TEST_CASE("a stride makes the image smaller", "[model][cnn]") {
  auto const block = unit(published("resnet50"), "layer2.0", 1);
  CHECK(product(block.forward, "conv1.forward").m == 56 * 56);
  CHECK(product(block.forward, "conv2.forward").m == 28 * 28);
  CHECK(product(block.forward, "downsample.0.forward").m == 28 * 28);
}

TEST_CASE("a residual block keeps each convolution's input and result", "[model][cnn]") {
  // ResNet-18, layer1, one image: 64 * 56² fp32 numbers each: the input, two results and the ReLU between them; and two
  // numbers a channel of each norm.
  CHECK(saved_bytes(unit(published("resnet18"), "layer1.1", 1)) == Bytes{4 * (4 * 64 * 56 * 56 + 2 * 2 * 64)});
}

TEST_CASE("convolutions know no 8-bit linear layers", "[model][cnn]") {
  auto const plain = work_of(published("resnet18"), {});
  auto const chosen = work_of(published("resnet18"), {.linear_type = DataType::kFp8});
  for (std::size_t i = 0; i < plain.kinds.size(); ++i) {
    CHECK(plain.kinds[i].forward == chosen.kinds[i].forward);
    CHECK(plain.kinds[i].backward == chosen.kinds[i].backward);
  }
}

TEST_CASE("a network can be given by its stages", "[model][cnn]") {
  auto const model = read_cnn(R"({"family": "cnn", "name": "mine", "bottleneck": true, "classes": 10, "image_size": 32,
                              "stages": [{"blocks": 3}, {"blocks": 4, "width": 128}, {"blocks": 6, "width": 256},
                                         {"blocks": 3, "width": 512}]})");
  CHECK(model.name == "mine");
  // ResNet-50 with ten classes: 990 rows of 2048 and as many biases fewer.
  CHECK(parameter_count(model) == 25'557'032 - 990 * 2049);
}

TEST_CASE("an impossible network is refused with a way out", "[model][cnn]") {
  CHECK_THROWS_WITH(published("resnet51"), Contains("/name") && Contains("resnet51") && Contains("resnet50"));
  CHECK_THROWS_WITH(read_cnn(R"({"family": "cnn"})"), Contains("stages") && Contains("resnet50"));
  CHECK_THROWS_WITH(read_cnn(R"({"family": "cnn", "stages": []})"),
                    Contains("/stages") && Contains("one stage or more"));
  CHECK_THROWS_WITH(read_cnn(R"({"family": "cnn", "stages": [{"blocks": 0}]})"), Contains("/stages/0/blocks"));
  CHECK_THROWS_WITH(read_cnn(R"({"family": "cnn", "stages": [{"blocks": 1}], "groups": 2})"), Contains("bottleneck"));
  CHECK_THROWS_WITH(read_cnn(R"({"family": "cnn", "stages": [{"blocks": 1}], "bottleneck": true, "groups": 65536,
                             "width_per_group": 65536})"),
                    Contains("/width_per_group") && Contains("at most"));
  CHECK_THROWS_AS(read_cnn(R"({"family": "cnn", "stages": [{"blocks": 1, "wide": 2}]})"), InputError);
}
