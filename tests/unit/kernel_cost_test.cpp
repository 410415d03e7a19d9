#include "sim/cost/kernel_cost.hpp"

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;

namespace {

/// 100 TFLOP/s, half of it reached by GEMMs and attention; every byte of its memory bandwidth reached.
hardware::Gpu gpu() {
  auto gpu = hardware::Gpu{};
  gpu.peaks = {{DataType::kBf16, {FlopsPerSecond{100e12}}}};
  gpu.memory_bandwidth.value = 100_GBps;
  gpu.sm_count.value = 100;
  gpu.efficiency.gemm.value = 0.5;
  gpu.efficiency.attention_forward.value = gpu.efficiency.attention_backward.value = 0.5;
  gpu.efficiency.memory.value = 1;
  return gpu;
}

// 2 · 1000³ FLOP at 50 TFLOP/s are 40 us.
constexpr auto kGemm = program::Gemm{.m = 1000, .n = 1000, .k = 1000};

cost::KernelDemand demand(hardware::Stack const& stack, program::Work const& work, double wait = 1) {
  return cost::KernelModel{gpu(), stack, wait}.demand(work, 1000, 0);
}

Bytes bytes(hardware::Stack const& stack, program::KernelFamily family,
            program::Function function = program::Function::kAdd) {
  return demand(stack, program::Elementwise{.function = function, .bytes_per_element = 4, .family = family}).memory;
}

}  // namespace

TEST_CASE("without a software stack kernels cost the least that their work needs", "[cost]") {
  CHECK(demand({}, kGemm).compute == 40_us);
  CHECK(bytes({}, program::KernelFamily::kModel) == 4000_B);
}

TEST_CASE("a software stack multiplies arithmetic, and the bytes of each kind of memory-bound kernel", "[cost]") {
  auto stack = hardware::Stack{};
  stack.compute.value = 1.25;
  stack.elementwise.value = 2;
  stack.loss.value = 0.5;
  stack.optimizer.value = 3;
  CHECK(demand(stack, kGemm).compute == 50_us);
  CHECK(bytes(stack, program::KernelFamily::kModel) == 8000_B);
  CHECK(bytes(stack, program::KernelFamily::kLoss) == 2000_B);
  CHECK(bytes(stack, program::KernelFamily::kStrategy, program::Function::kAdamW) == 12000_B);
  CHECK(bytes(stack, program::KernelFamily::kStrategy) == 4000_B);  // a strategy's own kernels are what they are
}

TEST_CASE("only the gradient of a weight waits for the copies that the stack makes of it", "[cost]") {
  // 1000² elements of 20 bytes at 100 GB/s are 200 us.
  auto stack = hardware::Stack{};
  stack.gradient_bytes.value = 20;
  auto gradient = kGemm;
  gradient.transpose_a = true;
  CHECK(demand(stack, gradient).start == 200_us);
  CHECK(demand(stack, gradient).compute == 40_us);
  CHECK(demand(stack, kGemm).start == 0_us);
  gradient.batch = 8;  // scores of unfused attention
  CHECK(demand(stack, gradient).start == 0_us);
}

TEST_CASE("kernels of ranks that wait for a later one take as much longer", "[cost]") {
  CHECK(demand({}, kGemm, 1.05).compute == 42_us);
  CHECK(demand({}, program::Elementwise{.bytes_per_element = 4}, 1.05).memory == 4200_B);
}

TEST_CASE("SMs that a collective holds cost a GEMM of known tiles whole waves, or nothing", "[cost]") {
  // 40 us alone. Tiles of 100 x 100: 100 of them, one wave on 100 SMs, two on 99. Tiles of 100 x 125: 80, one wave on
  // 80 SMs still, two on 79. Without tiles, the share that is left.
  auto const time = [](std::int64_t rows, std::int64_t columns, std::int64_t held) {
    auto on = gpu();
    if (rows > 0) on.efficiency.gemm_tile = {{rows}, {columns}};
    return cost::KernelModel{on}.demand(kGemm, 0, held).compute;
  };
  CHECK(time(100, 100, 0) == 40_us);
  CHECK(time(100, 100, 1) == 80_us);
  CHECK(time(100, 125, 20) == 40_us);
  CHECK(time(100, 125, 21) == 80_us);
  CHECK(time(0, 0, 20) == 50_us);
}

TEST_CASE("attention is the kernel that the software names, where the GPU has it", "[cost]") {
  auto const work = program::Attention{.heads = 1, .query_length = 1000, .key_length = 1000, .head_size = 100};
  auto on = gpu();
  on.efficiency.attention_kernels = {{"newer", {1.0}, {0.25}}};
  auto const time = [&](std::string const& name, bool backward) {
    auto stack = hardware::Stack{};
    stack.attention = name;
    auto each = work;
    each.backward = backward;
    return cost::KernelModel{on, stack}.demand(each, 0, 0).compute;
  };
  // At half of the peak; at all of it, and at a quarter.
  CHECK(time("newer", false) * 2 == time("", false));
  CHECK(time("newer", true) == time("", true) * 2);
  CHECK(time("unknown", false) == time("", false));
}

TEST_CASE("GEMMs of 8 bits have an efficiency of their own where the GPU says so", "[cost]") {
  // 2 · 1000³ FLOP at 200 TFLOP/s: 20 us at half of it, 40 us at a quarter.
  auto on = gpu();
  on.peaks.push_back({DataType::kFp8, {FlopsPerSecond{200e12}}});
  auto gemm = kGemm;
  gemm.type = DataType::kFp8;
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 20_us);
  on.efficiency.gemm_fp8 = {0.25};
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 40_us);
}

TEST_CASE("a convolution fills whole tiles, the smaller side of its product along the smaller of the tile", "[cost]") {
  // 10 columns of 40, 1000 rows of 2000: an eighth of the tiles. kGemm's time is 40 us for 10⁹ products.
  auto on = gpu();
  on.efficiency.convolution_tile = {{2000}, {40}};
  auto gemm = program::Gemm{.m = 1000, .n = 10, .k = 1000, .batch = 100};
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 40_us);
  gemm.windows = program::Windows::kA;
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 320_us);
  std::swap(gemm.m, gemm.n);
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 320_us);
}

TEST_CASE("fp32 convolutions run in TF32 where the GPU has it, and fp32 kernels cast nothing", "[cost]") {
  // 10 TFLOP/s in fp32, 100 in TF32, half reached: 400 us and 40 us.
  auto on = gpu();
  on.peaks = {{DataType::kFp32, {FlopsPerSecond{10e12}}}};
  auto gemm = kGemm;
  gemm.type = DataType::kFp32;
  gemm.windows = program::Windows::kA;
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 400_us);
  on.peaks.push_back({DataType::kTf32, {FlopsPerSecond{100e12}}});
  CHECK(cost::KernelModel{on}.demand(gemm, 0, 0).compute == 40_us);

  auto stack = hardware::Stack{};
  stack.elementwise.value = 2;
  auto const kernel = program::Elementwise{.bytes_per_element = 4, .type = DataType::kFp32};
  CHECK(demand(stack, kernel).memory == 4000_B);
}
