#include "validate/fit/compute_calibration.hpp"

#include <algorithm>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "validate/fit/compute_fit.hpp"

using namespace twinstep;
using namespace twinstep::validate;

namespace {

hardware::Node shipped() {
  return hw_profiles::read_node(io::string_node("dgx-h100", "node"));
}

/// A node that differs from the shipped one in everything that kernels decide: gemm, k0, attention forward and
/// backward, memory, kernel start in us, PCIe in GB/s.
hardware::Node other() {
  return with_values(shipped(), {0.55, 300, 0.4, 0.25, 0.7, 5, 30});
}

KernelRecord record(program::Work const& work, hardware::Node const& node) {
  auto out = KernelRecord{.device = "D", .work = work};
  out.time = out.low = out.high = kernel_time(out, node);
  return out;
}

std::vector<KernelRecord> gemms(hardware::Node const& node, std::vector<std::int64_t> const& inner_sizes) {
  auto out = std::vector<KernelRecord>{};
  for (auto const k : inner_sizes)
    for (auto const n : {2048, 4096, 8192}) out.push_back(record(program::Gemm{.m = 4096, .n = n, .k = k}, node));
  return out;
}

/// What `node` would measure.
std::vector<KernelRecord> sweep(hardware::Node const& node) {
  auto out = gemms(node, {128, 1024, 8192});
  for (auto const is_backward : {false, true})
    for (auto const length : {2048, 8192})
      out.push_back(record(program::Attention{.batch = 2,
                                              .heads = 32,
                                              .kv_heads = 32,
                                              .query_length = length,
                                              .key_length = length,
                                              .head_size = 128,
                                              .backward = is_backward},
                           node));
  for (auto const elements : {1'000, 2'000, 100'000'000, 400'000'000})
    out.push_back(record(program::Elementwise{.elements = elements, .bytes_per_element = 6}, node));
  for (auto const bytes : {100'000'000, 400'000'000})
    out.push_back(record(program::Copy{.direction = program::CopyDirection::kHostToDevice, .bytes = bytes}, node));
  return out;
}

FittedNumber const& number(ComputeCalibration const& calibration, std::string const& path) {
  auto const found = std::ranges::find(calibration.numbers, path, &FittedNumber::path);
  REQUIRE(found != calibration.numbers.end());
  return *found;
}

CalibrationErrors const& errors(ComputeCalibration const& calibration, std::string const& kind) {
  auto const found = std::ranges::find(calibration.errors, kind, &CalibrationErrors::kind);
  REQUIRE(found != calibration.errors.end());
  return *found;
}

/// A step of one large GEMM and both attentions, as `node` would run it.
StepSample step(std::int64_t tokens, hardware::Node const& node) {
  auto const predict = [tokens](hardware::Node const& on) {
    auto const attention = [&](bool backward) {
      return kernel_time({.work = program::Attention{.batch = 1,
                                                     .heads = 32,
                                                     .kv_heads = 32,
                                                     .query_length = 8192,
                                                     .key_length = 8192,
                                                     .head_size = 128,
                                                     .backward = backward}},
                         on);
    };
    auto const gemm = kernel_time({.work = program::Gemm{.m = tokens, .n = 16384, .k = 4096}}, on);
    return gemm + attention(false) + attention(true);
  };
  return {"step", predict(node), predict};
}

}  // namespace

TEST_CASE("kernels of another node give back its numbers", "[calibrate]") {
  auto const calibration = calibrate_compute({sweep(other()), {}}, shipped());
  auto const near = [&](std::string const& path, double value) {
    INFO(path);
    auto const& fitted = number(calibration, path);
    CHECK(fitted.value == Approx(value).epsilon(0.03));
    CHECK(fitted.left_out.empty());
    CHECK(fitted.low <= fitted.value);
    CHECK(fitted.high >= fitted.value);
    CHECK(fitted.points > 0);
  };
  near("node.gpu.efficiency.gemm", 0.55);
  near("node.gpu.efficiency.gemm_half_k", 300);
  near("node.gpu.efficiency.attention_forward", 0.4);
  near("node.gpu.efficiency.attention_backward", 0.25);
  near("node.gpu.efficiency.memory", 0.7);
  near("node.gpu.kernel_start", 5);
  near("node.pcie", 30);
  CHECK(errors(calibration, "gemm").before > 0.1);
  CHECK(errors(calibration, "gemm").fitted < 0.01);
  CHECK(errors(calibration, "gemm").held_out.value() < 0.05);
  CHECK(calibration.node.gpu.efficiency.gemm.value == number(calibration, "node.gpu.efficiency.gemm").value);
}

TEST_CASE("one kernel that was disturbed hardly moves the fit", "[calibrate]") {
  auto records = gemms(other(), {128, 1024, 8192});
  records[8].time = records[8].high = records[8].time * 3.0;
  auto const calibration = calibrate_compute({records, {}}, shipped());
  CHECK(number(calibration, "node.gpu.efficiency.gemm").value == Approx(0.55).epsilon(0.05));
}

TEST_CASE("what the measurements do not decide stays, and says why", "[calibrate]") {
  auto const calibration = calibrate_compute({gemms(other(), {4096, 8192}), {}}, shipped());
  auto const stays = [&](std::string const& path, double value, std::string const& why) {
    INFO(path);
    CHECK(number(calibration, path).value == Approx(value));
    CHECK_THAT(number(calibration, path).left_out, Catch::Contains(why));
  };
  auto const& efficiency = shipped().gpu.efficiency;
  stays("node.gpu.efficiency.gemm_half_k", efficiency.gemm_half_k.value, "within a factor of four");
  stays("node.gpu.efficiency.attention_forward", efficiency.attention_forward.value, "no forward attention");
  stays("node.gpu.efficiency.memory", efficiency.memory.value, "no memory-bound kernel");
  stays("node.pcie", shipped().pcie.value.count() / 1e9, "no copy");
  stays("node.host.launch", to_seconds(shipped().host.launch.value).count() * 1e6, "no launches");
}

TEST_CASE("launches give the host's time for one", "[calibrate]") {
  auto const launches = [](double time) { return KernelRecord{.device = "D", .launches = 100, .time = Seconds{time}}; };
  // 100 launches in 400, 500 and 900 us: the median is 5 us each.
  auto const calibration = calibrate_compute({{launches(4e-4), launches(5e-4), launches(9e-4)}, {}}, shipped());
  CHECK(number(calibration, "node.host.launch").value == Approx(5));
  CHECK(calibration.node.host.launch.value == to_duration(Seconds{5e-6}));
}

TEST_CASE("steps alone fix GEMMs and the mix of attention, not its two halves", "[calibrate]") {
  // 10 % less than the shipped GEMM efficiency, and half of both rates of attention.
  auto values = values_of(shipped());
  values[static_cast<std::size_t>(ComputeNumber::kGemm)] *= 0.9;
  values[static_cast<std::size_t>(ComputeNumber::kAttentionForward)] *= 0.5;
  values[static_cast<std::size_t>(ComputeNumber::kAttentionBackward)] *= 0.5;
  auto const node = with_values(shipped(), values);
  auto measured = ComputeMeasurements{};
  for (auto const tokens : {4096, 8192, 16384, 32768, 65536, 131072}) measured.steps.push_back(step(tokens, node));
  auto const calibration = calibrate_compute(measured, shipped());
  auto const& prior = shipped().gpu.efficiency;
  CHECK(number(calibration, "node.gpu.efficiency.gemm").value == Approx(0.9 * prior.gemm.value).epsilon(0.02));
  CHECK(number(calibration, "node.gpu.efficiency.attention_forward").value ==
        Approx(0.5 * prior.attention_forward.value).epsilon(0.05));
  CHECK_THAT(number(calibration, "node.gpu.efficiency.attention_forward / attention_backward").left_out,
             Catch::Contains("their ratio is the profile's"));
  CHECK_THAT(number(calibration, "node.gpu.efficiency.memory").left_out, Catch::Contains("trade off"));
}

TEST_CASE("kernels beside a collective tell their slowdown and decide nothing", "[calibrate]") {
  auto records = gemms(shipped(), {4096, 8192});
  auto slow = records.front();
  slow.beside = "all_reduce";
  slow.time = slow.high = slow.time * 1.25;
  records.push_back(slow);
  auto const calibration = calibrate_compute({records, {}}, shipped());
  CHECK(number(calibration, "slowdown beside all_reduce").value == Approx(1.25));
  CHECK(number(calibration, "node.gpu.efficiency.gemm").value ==
        Approx(shipped().gpu.efficiency.gemm.value).epsilon(0.01));
}

TEST_CASE("kernels of two types of device are not calibrated together", "[calibrate]") {
  auto records = gemms(shipped(), {4096});
  records.back().device = "E";
  CHECK_THROWS_WITH(calibrate_compute({records, {}}, shipped()), Catch::Contains("expected one type of device"));
}
