#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "sim/program/tensor_lists.hpp"
#include "validate/cuda/module/kernels.hpp"

// The memory-bound kernels of programs, and the delay. All arithmetic is in float, or in double where the kernel says
// so; formulas and their sources: validate/cpu/kernels.hpp.

namespace twinstep::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;  // a thread then takes several elements

int blocks_for(std::int64_t items) {
  auto const blocks = (items + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

__device__ std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t item_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// What is computed from two inputs; a function with fewer ignores the others.

struct Fill {
  double scalar;
  template <class Number>
  __device__ Number operator()(Number, Number) const {
    return static_cast<Number>(scalar);
  }
};
struct AddScalar {
  double scalar;
  template <class Number>
  __device__ Number operator()(Number x, Number) const {
    return x + static_cast<Number>(scalar);
  }
};
struct Scale {
  double scalar;
  template <class Number>
  __device__ Number operator()(Number x, Number) const {
    return static_cast<Number>(scalar) * x;
  }
};
struct Add {
  template <class Number>
  __device__ Number operator()(Number a, Number b) const {
    return a + b;
  }
};
template <class Number>
__device__ Number normal_distribution(Number x) {
  return Number(0.5) * (Number(1) + erf(x * Number(0.70710678118654752440)));  // 1 / sqrt(2)
}
struct Gelu {
  template <class Number>
  __device__ Number operator()(Number x, Number) const {
    return x * normal_distribution(x);
  }
};
struct GeluBackward {
  template <class Number>
  __device__ Number operator()(Number x, Number gradient) const {
    auto const density = Number(0.39894228040143267794) * exp(-x * x / Number(2));  // 1 / sqrt(2 pi)
    return gradient * (normal_distribution(x) + x * density);
  }
};
struct SquaredError {
  double scalar;
  template <class Number>
  __device__ Number operator()(Number prediction, Number target) const {
    return static_cast<Number>(scalar) * (prediction - target);
  }
};

/// Elements of a type that is known when the kernel runs.
struct Elements {
  void* memory = nullptr;
  DataType type = DataType::kFp32;

  template <class Number>
  __device__ Number load(std::int64_t i) const {
    switch (type) {
      case DataType::kFp64: return static_cast<Number>(static_cast<double const*>(memory)[i]);
      case DataType::kBf16: return static_cast<Number>(__bfloat162float(static_cast<__nv_bfloat16 const*>(memory)[i]));
      case DataType::kFp16: return static_cast<Number>(__half2float(static_cast<__half const*>(memory)[i]));
      default: return static_cast<Number>(static_cast<float const*>(memory)[i]);
    }
  }
  template <class Number>
  __device__ void store(std::int64_t i, Number value) const {
    switch (type) {
      case DataType::kFp64: static_cast<double*>(memory)[i] = static_cast<double>(value); return;
      case DataType::kBf16:
        static_cast<__nv_bfloat16*>(memory)[i] = __float2bfloat16(static_cast<float>(value));
        return;
      case DataType::kFp16: static_cast<__half*>(memory)[i] = __float2half(static_cast<float>(value)); return;
      default: static_cast<float*>(memory)[i] = static_cast<float>(value);
    }
  }
};

Elements elements_of(Operand const& operand) {
  return {operand.memory, operand.type};
}

template <class Number, class Function>
__global__ void map_any(Function function, int inputs, Elements a, Elements b, Elements out, std::int64_t count) {
  for (auto i = first_item(); i < count; i += item_stride()) {
    auto const x = inputs > 0 ? a.load<Number>(i) : Number(0);
    auto const y = inputs > 1 ? b.load<Number>(i) : Number(0);
    out.store<Number>(i, function(x, y));
  }
}

template <class Element>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(Element);
  Element at[kSize];
};

__device__ inline double widen(double x) {
  return x;
}
__device__ inline float widen(float x) {
  return x;
}
__device__ inline float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline float widen(__half x) {
  return __half2float(x);
}
__device__ inline void narrow(double x, double& out) {
  out = x;
}
__device__ inline void narrow(float x, float& out) {
  out = x;
}
__device__ inline void narrow(float x, __nv_bfloat16& out) {
  out = __float2bfloat16(x);
}
__device__ inline void narrow(float x, __half& out) {
  out = __float2half(x);
}

/// All operands of one type, 16 bytes at a time.
template <class Element, class Function>
__global__ void map_packs(Function function, int inputs, Pack<Element> const* a, Pack<Element> const* b,
                          Pack<Element>* out, std::int64_t packs) {
  for (auto i = first_item(); i < packs; i += item_stride()) {
    auto const x = inputs > 0 ? a[i] : Pack<Element>{};
    auto const y = inputs > 1 ? b[i] : Pack<Element>{};
    auto result = Pack<Element>{};
    for (int j = 0; j < Pack<Element>::kSize; ++j) narrow(function(widen(x.at[j]), widen(y.at[j])), result.at[j]);
    out[i] = result;
  }
}

template <class Element, class Function>
void launch_packs(Function function, Kernel const& kernel, cudaStream_t stream) {
  using Of = Pack<Element>;
  auto const inputs = static_cast<int>(kernel.operands.size()) - 1;
  auto const packs = kernel.operands.back().elements / Of::kSize;
  auto const at = [&](int i) { return static_cast<Of*>(kernel.operands[static_cast<std::size_t>(i)].memory); };
  map_packs<Element><<<blocks_for(packs), kThreads, 0, stream>>>(function, inputs, inputs > 0 ? at(0) : nullptr,
                                                                 inputs > 1 ? at(1) : nullptr, at(inputs), packs);
}

/// Whether all operands have one type, in which the kernel can compute, and consist of whole aligned packs.
bool are_packs(Kernel const& kernel) {
  constexpr std::uintptr_t kPack = 16;
  auto const type = kernel.operands.front().type;
  if ((type == DataType::kFp64) != (kernel.type == DataType::kFp64)) return false;
  for (auto const& operand : kernel.operands) {
    auto const bytes = static_cast<std::uintptr_t>((size_of(type) * operand.elements).count());
    if (operand.type != type || bytes % kPack != 0 || reinterpret_cast<std::uintptr_t>(operand.memory) % kPack != 0)
      return false;
  }
  return true;
}

template <class Function>
void launch_map(Function function, Kernel const& kernel, cudaStream_t stream) {
  auto const& operands = kernel.operands;
  if (are_packs(kernel)) {
    switch (operands.front().type) {
      case DataType::kFp64: return launch_packs<double>(function, kernel, stream);
      case DataType::kBf16: return launch_packs<__nv_bfloat16>(function, kernel, stream);
      case DataType::kFp16: return launch_packs<__half>(function, kernel, stream);
      default: return launch_packs<float>(function, kernel, stream);
    }
  }
  auto const inputs = static_cast<int>(operands.size()) - 1;
  auto const count = operands.back().elements;
  auto const a = inputs > 0 ? elements_of(operands[0]) : Elements{};
  auto const b = inputs > 1 ? elements_of(operands[1]) : Elements{};
  auto const out = elements_of(operands.back());
  if (kernel.type == DataType::kFp64)
    map_any<double><<<blocks_for(count), kThreads, 0, stream>>>(function, inputs, a, b, out, count);
  else
    map_any<float><<<blocks_for(count), kThreads, 0, stream>>>(function, inputs, a, b, out, count);
}

/// One that accumulates reads what it adds to.
void launch_fill(Kernel const& kernel, cudaStream_t stream) {
  if (!kernel.accumulate) return launch_map(Fill{kernel.scalar}, kernel, stream);
  Operand const in_and_out[] = {kernel.operands.front(), kernel.operands.front()};
  auto adding = kernel;
  adding.operands = in_and_out;
  launch_map(AddScalar{kernel.scalar}, adding, stream);
}

struct AdamWConstants {
  double rate, beta1, beta2, epsilon, decay, first_correction, second_correction;
};

template <class Number>
__global__ void adamw(AdamWConstants c, Elements master, Elements gradient, Elements first, Elements second,
                      Elements copy, std::int64_t count) {
  for (auto i = first_item(); i < count; i += item_stride()) {
    auto const g = gradient.load<Number>(i);
    auto const m = Number(c.beta1) * first.load<Number>(i) + Number(1 - c.beta1) * g;
    auto const v = Number(c.beta2) * second.load<Number>(i) + Number(1 - c.beta2) * g * g;
    first.store<Number>(i, m);
    second.store<Number>(i, v);
    auto const direction = m / Number(c.first_correction) / (sqrt(v / Number(c.second_correction)) + Number(c.epsilon));
    auto const old = master.load<Number>(i);
    auto const updated = old - Number(c.rate) * (direction + Number(c.decay) * old);
    master.store<Number>(i, updated);
    if (copy.memory != nullptr) copy.store<Number>(i, updated);
  }
}

template <class Number>
__global__ void sgd_momentum(AdamWConstants c, Elements master, Elements gradient, Elements momentum, Elements copy,
                             std::int64_t count) {
  for (auto i = first_item(); i < count; i += item_stride()) {
    auto const old = master.load<Number>(i);
    auto const v = Number(c.beta1) * momentum.load<Number>(i) + (gradient.load<Number>(i) + Number(c.decay) * old);
    auto const updated = old - Number(c.rate) * v;
    momentum.store<Number>(i, v);
    master.store<Number>(i, updated);
    if (copy.memory != nullptr) copy.store<Number>(i, updated);
  }
}

template <class Number>
__global__ void sgd(AdamWConstants c, Elements master, Elements gradient, Elements copy, std::int64_t count) {
  for (auto i = first_item(); i < count; i += item_stride()) {
    auto const old = master.load<Number>(i);
    auto const updated = old - Number(c.rate) * (gradient.load<Number>(i) + Number(c.decay) * old);
    master.store<Number>(i, updated);
    if (copy.memory != nullptr) copy.store<Number>(i, updated);
  }
}

AdamWConstants constants_of(Kernel const& kernel) {
  auto const& s = kernel.adamw;
  auto const step = static_cast<double>(kernel.step);
  return {s.learning_rate,
          s.beta1,
          s.beta2,
          s.epsilon,
          s.weight_decay,
          1 - std::pow(s.beta1, step),
          1 - std::pow(s.beta2, step)};
}

/// The list of tensors among the kernel's operands.
std::span<Operand const> tensors_of(Kernel const& kernel) {
  auto const size = [&](std::size_t i) { return kernel.operands[i].elements; };
  auto const list = program::tensor_list(kernel.function, kernel.operands.size(), size).value();
  return kernel.operands.subspan(list.first, list.count);
}

/// `operand` from element `begin` on.
Elements elements_from(Operand const& operand, std::int64_t begin) {
  auto* const memory = static_cast<std::byte*>(operand.memory) + (size_of(operand.type) * begin).count();
  return {memory, operand.type};
}

/// One launch for each gradient, on the stretch that it covers.
void launch_optimizer(Kernel const& kernel, cudaStream_t stream) {
  auto const constants = constants_of(kernel);
  auto const gradients = tensors_of(kernel);
  auto const states = kernel.operands.subspan(1 + gradients.size());
  auto const is_adamw = kernel.function == program::Function::kAdamW;
  auto const is_stateless = kernel.function == program::Function::kSgd;
  auto const own_states = std::size_t{is_adamw ? 2U : is_stateless ? 0U : 1U};
  auto const is_wide = kernel.type == DataType::kFp64;
  auto begin = std::int64_t{0};
  for (auto const& gradient : gradients) {
    auto const count = gradient.elements;
    if (count == 0) continue;
    auto const blocks = blocks_for(count);
    auto const at = [&](std::size_t i) { return elements_from(states[i], begin); };
    auto const master = elements_from(kernel.operands[0], begin);
    auto const copy = states.size() > own_states ? at(own_states) : Elements{};
    auto const g = elements_of(gradient);
    if (is_adamw) {
      auto* const run = is_wide ? adamw<double> : adamw<float>;
      run<<<blocks, kThreads, 0, stream>>>(constants, master, g, at(0), at(1), copy, count);
    } else if (is_stateless) {
      auto* const run = is_wide ? sgd<double> : sgd<float>;
      run<<<blocks, kThreads, 0, stream>>>(constants, master, g, copy, count);
    } else {
      auto* const run = is_wide ? sgd_momentum<double> : sgd_momentum<float>;
      run<<<blocks, kThreads, 0, stream>>>(constants, master, g, at(0), copy, count);
    }
    begin += count;
  }
}

// Sums of squares are added in the same order every time, so that ranks with equal gradients clip them equally: each
// block leaves its part, and one thread adds the parts. The parts are the device's: one norm at a time.
constexpr int kNormBlocks = 1024;
__device__ double norm_parts[kNormBlocks];

__global__ void squares_of_blocks(Elements in, std::int64_t count) {
  __shared__ double sums[kThreads];
  auto sum = 0.0;
  for (auto i = first_item(); i < count; i += item_stride()) {
    auto const x = in.load<double>(i);
    sum += x * x;
  }
  sums[threadIdx.x] = sum;
  for (auto half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) norm_parts[blockIdx.x] = sums[0];
}

__global__ void add_parts(int blocks, Elements norm) {
  auto sum = norm.load<double>(0);
  for (int i = 0; i < blocks; ++i) sum += norm_parts[i];
  norm.store<double>(0, sum);
}

void launch_squared_norm(Kernel const& kernel, cudaStream_t stream) {
  for (auto const& tensor : tensors_of(kernel)) {
    if (tensor.elements == 0) continue;
    auto const wanted = blocks_for(tensor.elements);
    auto const blocks = wanted < kNormBlocks ? wanted : kNormBlocks;
    squares_of_blocks<<<blocks, kThreads, 0, stream>>>(elements_of(tensor), tensor.elements);
    add_parts<<<1, 1, 0, stream>>>(blocks, elements_of(kernel.operands.back()));
  }
}

template <class Number>
__global__ void clip(double most, Elements norm, Elements x, std::int64_t count) {
  auto const found = sqrt(norm.load<double>(0)) + 1e-6;
  auto const factor = found > most ? most / found : 1.0;
  for (auto i = first_item(); i < count; i += item_stride()) x.store<Number>(i, Number(factor) * x.load<Number>(i));
}

void launch_clip(Kernel const& kernel, cudaStream_t stream) {
  auto const norm = elements_of(kernel.operands.front());
  auto* const run = kernel.type == DataType::kFp64 ? clip<double> : clip<float>;
  for (auto const& tensor : tensors_of(kernel)) {
    if (tensor.elements == 0) continue;
    run<<<blocks_for(tensor.elements), kThreads, 0, stream>>>(kernel.scalar, norm, elements_of(tensor),
                                                              tensor.elements);
  }
}

/// Reads or writes `words` of 16 bytes, going round where the memory has fewer.
struct Movement {
  uint4* memory = nullptr;
  std::int64_t size = 0;  // in words
  std::int64_t reads = 0;
  std::int64_t writes = 0;
};
constexpr int kMostMovements = 8;
struct Movements {
  Movement of[kMostMovements];
};

__global__ void move(Movements movements) {
  auto seen = 0U;
  // 1.0 in fp16, and finite in every other type.
  constexpr auto kPattern = 0x3c003c00U;
  for (auto const& m : movements.of) {
    for (auto i = first_item(); i < m.reads; i += item_stride()) {
      auto const word = m.memory[i % m.size];
      seen ^= word.x ^ word.y ^ word.z ^ word.w;
    }
    for (auto i = first_item(); i < m.writes; i += item_stride())
      m.memory[i % m.size] = make_uint4(kPattern, kPattern, kPattern, kPattern);
  }
  // Never so, but the compiler cannot know; without it nothing would be read.
  if (seen == 0x9e3779b9U && movements.of[0].size < 0) movements.of[0].memory[0].x = seen;
}

/// The kernel's traffic, in as many launches as it stands for, shared among the operands by their size.
void launch_movements(Kernel const& kernel, cudaStream_t stream) {
  constexpr std::int64_t kWord = 16;
  auto touched = std::int64_t{0};
  for (auto const& operand : kernel.operands)
    touched += (size_of(operand.type) * operand.elements).count() * (operand.is_read + operand.is_written);
  if (touched == 0 || kernel.launches == 0) return;
  auto const share = static_cast<double>(kernel.traffic.count()) / static_cast<double>(touched) / kernel.launches;
  auto movements = Movements{};
  auto used = 0;
  auto most = std::int64_t{0};
  for (auto const& operand : kernel.operands) {
    auto const misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.memory) % kWord);
    auto const skipped = misaligned == 0 ? 0 : kWord - misaligned;
    auto const bytes = (size_of(operand.type) * operand.elements).count();
    auto const size = (bytes - skipped) / kWord;
    if (size <= 0 || used == kMostMovements) continue;
    auto const words = static_cast<std::int64_t>(static_cast<double>(bytes) * share / kWord);
    movements.of[used++] = {reinterpret_cast<uint4*>(static_cast<std::byte*>(operand.memory) + skipped), size,
                            operand.is_read ? words : 0, operand.is_written ? words : 0};
    most = words > most ? words : most;
  }
  for (int i = 0; i < kernel.launches; ++i) move<<<blocks_for(most > 0 ? most : 1), kThreads, 0, stream>>>(movements);
}

__global__ void spin(std::uint64_t nanoseconds) {
  auto const now = [] {
    auto time = std::uint64_t{};
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  };
  auto const begin = now();
  while (now() - begin < nanoseconds) __nanosleep(100);
}

}  // namespace

void launch(Kernel const& kernel, cudaStream_t stream) {
  if (only_costs(kernel.function) || is_of_transformer(kernel.function)) return launch_movements(kernel, stream);
  if (kernel.operands.empty() || kernel.operands.back().elements == 0) return;
  switch (kernel.function) {
    case program::Function::kFill: return launch_fill(kernel, stream);
    case program::Function::kScale: return launch_map(Scale{kernel.scalar}, kernel, stream);
    case program::Function::kAdd: return launch_map(Add{}, kernel, stream);
    case program::Function::kGelu: return launch_map(Gelu{}, kernel, stream);
    case program::Function::kGeluBackward: return launch_map(GeluBackward{}, kernel, stream);
    case program::Function::kSquaredError: return launch_map(SquaredError{kernel.scalar}, kernel, stream);
    case program::Function::kAdamW:
    case program::Function::kSgdMomentum:
    case program::Function::kSgd: return launch_optimizer(kernel, stream);
    case program::Function::kSquaredNorm: return launch_squared_norm(kernel, stream);
    case program::Function::kClip: return launch_clip(kernel, stream);
    default: return;
  }
}

void launch_delay(Duration duration, cudaStream_t stream) {
  auto const nanoseconds = divide_up(duration.count(), 1000);
  if (nanoseconds > 0) spin<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(nanoseconds));
}

}  // namespace twinstep::cuda
