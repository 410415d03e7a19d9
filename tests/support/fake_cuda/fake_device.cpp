#include "tests/support/fake_cuda/fake_device.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "validate/cpu/kernels.hpp"
#include "validate/cuda/elements.hpp"

namespace twinstep::tests {

using namespace literals;

namespace {

struct FakeMemory final : cuda::DeviceMemory {
  FakeMemory(Bytes size, std::shared_ptr<std::atomic<int>> live)
      : bytes(static_cast<std::size_t>(size.count())), live_allocations{std::move(live)} {
    ++*live_allocations;
  }
  ~FakeMemory() override { --*live_allocations; }
  [[nodiscard]] std::byte* data() const override { return const_cast<std::byte*>(bytes.data()); }
  std::vector<std::byte> bytes;
  std::shared_ptr<std::atomic<int>> live_allocations;
};

struct FakeEvent final : cuda::DeviceEvent {
  FakeEvent(int on, int index) : device{on}, number{index} {}
  int device;
  int number;
  std::shared_ptr<FakeMark> mark = std::make_shared<FakeMark>();  // of what was recorded last
};

FakeStream& as_fake(cuda::DeviceStream& stream) {
  return static_cast<FakeStream&>(stream);
}
FakeEvent const& as_fake(cuda::DeviceEvent const& event) {
  return static_cast<FakeEvent const&>(event);
}
std::vector<double> read(void const* memory, std::int64_t elements, DataType type) {
  auto values = std::vector<double>(static_cast<std::size_t>(elements));
  cuda::decode(static_cast<std::byte const*>(memory), type, values);
  return values;
}

}  // namespace

FakeDevice::FakeDevice(int devices) : devices_(static_cast<std::size_t>(devices)) {}
/// Lets those go who still wait for ranks that never came.
FakeDevice::~FakeDevice() {
  auto lock = std::unique_lock{machine_.mutex};
  is_ending_ = true;
  machine_.changed.notify_all();
  machine_.changed.wait(lock, [&] { return waiting_ == 0; });
}

int FakeDevice::collectives() const {
  auto count = 0;
  for (auto const& group : groups_) count += group->collectives;
  return count;
}

cuda::DeviceFacts FakeDevice::facts(int /*device*/) {
  return {.name = "fake", .compute_capability = "0.0", .multiprocessors = 1, .memory = 1_GiB, .l2_cache = 1_KiB};
}

std::unique_ptr<cuda::DeviceMemory> FakeDevice::allocate(int /*device*/, Bytes size, cuda::MemoryPlace /*place*/) {
  return std::make_unique<FakeMemory>(size, live_allocations_);
}

std::unique_ptr<cuda::DeviceStream> FakeDevice::make_stream(int device) {
  return std::make_unique<FakeStream>(machine_, device, fmt::format("stream {}", at(device).streams++));
}

std::unique_ptr<cuda::DeviceEvent> FakeDevice::make_event(int device) {
  return std::make_unique<FakeEvent>(device, at(device).events++);
}

void FakeDevice::enqueue(cuda::DeviceStream& stream, std::string const& call, FakeStream::Task task) {
  auto& fake = as_fake(stream);
  auto const name = call.substr(0, call.find(' '));
  if (name == failing_at_once_) throw cuda::DeviceError{name + ": refused"};
  if (name == failing_later_) task = [name](Time) -> Time { throw cuda::DeviceError{name + ": broke off"}; };
  at(fake.device()).log.push_back(fake.name() + ": " + call);
  fake.enqueue(at(fake.device()).host, std::move(task));
}

void FakeDevice::record(cuda::DeviceEvent& event, cuda::DeviceStream& stream) {
  auto& fake = static_cast<FakeEvent&>(event);
  auto const mark = fake.mark = std::make_shared<FakeMark>();
  auto& on = as_fake(stream);
  enqueue(stream, fmt::format("record event {}", fake.number), [this, mark, &on](Time begin) {
    auto const lock = std::scoped_lock{machine_.mutex};
    *mark = {true, on.failure(), begin};
    return begin;
  });
}

void FakeDevice::wait(cuda::DeviceStream& stream, cuda::DeviceEvent const& event) {
  auto const mark = as_fake(event).mark;
  auto& on = as_fake(stream);
  enqueue(stream, fmt::format("wait for event {}", as_fake(event).number), [this, mark, &on](Time begin) {
    auto lock = std::unique_lock{machine_.mutex};
    on.wait(lock, [&] { return mark->has_happened; });
    if (!mark->failure.empty()) throw cuda::DeviceError{mark->failure};
    return std::max(begin, mark->time);
  });
}

bool FakeDevice::has_happened(cuda::DeviceEvent const& event) {
  auto const lock = std::scoped_lock{machine_.mutex};
  auto const& mark = *as_fake(event).mark;
  if (!mark.failure.empty()) throw cuda::DeviceError{mark.failure};
  auto& host = at(as_fake(event).device).host;
  if (mark.has_happened) host = std::max(host, mark.time);
  return mark.has_happened;
}

Duration FakeDevice::elapsed(cuda::DeviceEvent const& from, cuda::DeviceEvent const& to) {
  auto const lock = std::scoped_lock{machine_.mutex};
  TWINSTEP_CHECK(as_fake(from).mark->has_happened && as_fake(to).mark->has_happened, "time passes between two events");
  return as_fake(to).mark->time - as_fake(from).mark->time;
}

void FakeDevice::copy(cuda::DeviceStream& stream, void* to, void const* from, Bytes size) {
  enqueue(stream, "copy", [=](Time begin) {
    if (size > Bytes{}) std::memmove(to, from, static_cast<std::size_t>(size.count()));
    return begin + 1_us + 1_ns * size.count();
  });
}

void FakeDevice::fill_bytes(cuda::DeviceStream& stream, void* to, std::uint8_t value, Bytes size) {
  enqueue(stream, "fill_bytes", [=](Time begin) {
    if (size > Bytes{}) std::memset(to, value, static_cast<std::size_t>(size.count()));
    return begin + 1_us;
  });
}

void FakeDevice::multiply(cuda::DeviceStream& stream, program::Gemm const& gemm, void const* a, void const* b,
                          void* c) {
  enqueue(stream, "multiply", [=](Time begin) {
    auto in_double = gemm;
    in_double.type = DataType::kFp64;
    auto left = read(a, gemm.batch * gemm.m * gemm.k, gemm.type);
    auto right = read(b, gemm.batch * gemm.k * gemm.n, gemm.type);
    auto result = read(c, gemm.batch * gemm.m * gemm.n, gemm.type);
    cpu::multiply(in_double, cpu::Numbers{std::span{left}}, cpu::Numbers{std::span{right}},
                  cpu::Numbers{std::span{result}});
    cuda::encode(result, gemm.type, static_cast<std::byte*>(c));
    return begin + 1_us;
  });
}

void FakeDevice::compute(cuda::DeviceStream& stream, cuda::Kernel const& kernel) {
  auto const operands = std::vector<cuda::Operand>(kernel.operands.begin(), kernel.operands.end());
  auto const call = fmt::format("compute {}", name_of(kernel.function));
  enqueue(stream, call, [kernel, operands](Time begin) {
    if (only_costs(kernel.function)) return begin + 1_us;
    auto values = std::vector<std::vector<double>>{};
    auto numbers = std::vector<cpu::Numbers>{};
    for (auto const& operand : operands) values.push_back(read(operand.memory, operand.elements, operand.type));
    for (auto& each : values) numbers.emplace_back(std::span{each});
    auto const elementwise = program::Elementwise{.function = kernel.function,
                                                  .elements = kernel.elements,
                                                  .accumulate = kernel.accumulate,
                                                  .scalar = kernel.scalar,
                                                  .rows = kernel.rows};
    cpu::compute(elementwise, numbers, {kernel.adamw, kernel.step});
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].is_written)
        cuda::encode(values[i], operands[i].type, static_cast<std::byte*>(operands[i].memory));
    return begin + 1_us;
  });
}

void FakeDevice::delay(cuda::DeviceStream& stream, Duration duration) {
  enqueue(stream, "delay", [=](Time begin) { return begin + duration; });
}

}  // namespace twinstep::tests
