#include "validate/measure/kernels.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::measure {
namespace {

using program::Attention;
using program::Copy;
using program::Elementwise;
using program::Gemm;

template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};

/// How large a workload is among those of its kind: operations where there are any, else bytes.
double volume(Workload const& work) {
  return std::visit(Overloaded{[](Gemm const& gemm) { return flops_of(gemm).count(); },
                               [](Attention const& attention) { return flops_of(attention).count(); },
                               [](Elementwise const& kernel) { return static_cast<double>(kernel.elements.base); },
                               [](Copy const& copy) { return static_cast<double>(copy.bytes.base); },
                               [](Exchange const& exchange) { return static_cast<double>(exchange.elements); }},
                    work);
}

/// Whether a point of `work` costs too much, after `slow`, which took too long, of the same kind.
bool is_too_large(Workload const& work, std::optional<Workload> const& slow) {
  return slow && slow->index() == work.index() && volume(work) > volume(*slow);
}

template <class Make>
std::vector<Workload> by_powers_of_four(Bytes smallest, Bytes largest, Make const& make) {
  auto works = std::vector<Workload>{};
  for (auto size = smallest; size <= largest; size *= 4) {
    works.push_back(make(size));
    if (size > largest / 4) break;
  }
  return works;
}

}  // namespace

std::vector<Workload> default_gemms(DataType type) {
  constexpr std::int64_t kSmallest = 128;
  constexpr std::int64_t kLargest = 16384;
  auto works = std::vector<Workload>{};
  for (auto size = kSmallest; size <= kLargest; size *= 2)
    for (auto const& [n, k] : {std::pair{size, size / 4}, {size, size}, {4 * size, size}})
      works.emplace_back(Gemm{.m = size, .n = n, .k = k, .type = type});
  return works;
}

std::vector<Workload> default_attentions(DataType type) {
  constexpr std::int64_t kShortest = 1024;
  constexpr std::int64_t kLongest = 8192;
  auto works = std::vector<Workload>{};
  for (auto length = kShortest; length <= kLongest; length *= 2)
    for (auto const is_backward : {false, true})
      works.emplace_back(Attention{.heads = 16,
                                   .kv_heads = 16,
                                   .query_length = length,
                                   .key_length = length,
                                   .head_size = 128,
                                   .type = type,
                                   .backward = is_backward});
  return works;
}

std::vector<Workload> memory_kernels(Bytes smallest, Bytes largest, DataType type) {
  auto const moved = 2 * size_of(type).count();
  return by_powers_of_four(smallest, largest, [&](Bytes size) -> Workload {
    return Elementwise{.function = program::Function::kScale,
                       .elements = std::max<std::int64_t>(size.count() / moved, 1),
                       .bytes_per_element = static_cast<std::int32_t>(moved),
                       .type = type};
  });
}

std::vector<Workload> copies(program::CopyDirection direction, Bytes smallest, Bytes largest) {
  constexpr std::int64_t kElement = 4;  // copied as fp32
  return by_powers_of_four(smallest, largest, [&](Bytes size) -> Workload {
    return Copy{.direction = direction, .bytes = round_up(size.count(), kElement)};
  });
}

Workload empty_kernel(DataType type) {
  return Elementwise{.function = program::Function::kFill,
                     .elements = 1,
                     .bytes_per_element = static_cast<std::int32_t>(size_of(type).count()),
                     .type = type,
                     .scalar = 0};
}

std::vector<Workload> kernels_of(program::StepProgram const& program) {
  auto works = std::vector<Workload>{};
  auto const add = [&works](auto kernel) {
    if constexpr (std::is_same_v<decltype(kernel), Gemm>) kernel.accumulate = false;  // costs and shape are the same
    auto const is_same = [&](Workload const& known) {
      auto const* same = std::get_if<decltype(kernel)>(&known);
      return same != nullptr && *same == kernel;
    };
    if (std::ranges::none_of(works, is_same)) works.emplace_back(kernel);
  };
  for (auto const& role : program.roles)
    for (auto const& op : role.operations) {
      if (auto const* gemm = std::get_if<Gemm>(&op.work)) add(*gemm);
      if (auto const* attention = std::get_if<Attention>(&op.work)) add(*attention);
    }
  return works;
}

void measure_kernels(Executor& executor, std::span<Workload const> works, std::optional<Exchange> const& beside,
                     Sampling const& sampling, KernelSink const& sink) {
  auto const is_first = executor.job().is_first_process;
  auto slow = std::optional<Workload>{};
  auto refused = std::set<std::size_t>{};  // kinds of work
  for (auto const& work : works) {
    if (is_too_large(work, slow) || refused.contains(work.index())) continue;
    auto const lane = Lane{work, 1, 1};
    try {
      executor.require_supported(program_of(std::span{&lane, 1}, executor.job().ranks));
    } catch (InputError const& reason) {
      if (is_first) sink.leave_out(fmt::format("{}, and others of its kind: {}", describe(work), reason.what()));
      refused.insert(work.index());
      continue;
    }
    auto point = KernelPoint{work, sample(executor, std::span{&work, 1}, sampling).front(), {}};
    if (beside) {
      auto const both = std::array<Workload, 2>{work, *beside};
      point.beside = sample(executor, both, sampling).front().each;
    }
    if (is_first) sink.take(point);
    auto const is_slow = is_first && to_seconds(point.alone.each.median) > sampling.max_time / 4;
    if (told_by_first(executor, is_slow ? 1 : 0) == 0) continue;
    slow = work;
    if (is_first)
      sink.leave_out(fmt::format("what is larger than {}: takes too long; allow more time", describe(work)));
  }
}

std::string describe(Workload const& work) {
  return std::visit(
      Overloaded{[](Gemm const& g) { return fmt::format("gemm {} x {} x {} {}", g.m, g.n, g.k, name_of(g.type)); },
                 [](Attention const& a) {
                   return fmt::format("attention{} {} x {} heads, {} x {} {}", a.backward ? " backward" : "", a.batch,
                                      a.heads, a.query_length, a.head_size, name_of(a.type));
                 },
                 [](Elementwise const& e) {
                   return fmt::format("memory {} B {}", e.elements.base * e.bytes_per_element, name_of(e.type));
                 },
                 [](Copy const& c) { return fmt::format("copy {} {} B", name_of(c.direction), c.bytes.base); },
                 [](Exchange const& e) {
                   return fmt::format("{} {} B", e.kind ? name_of(*e.kind) : "send_recv",
                                      e.elements * size_of(e.type).count());
                 }},
      work);
}

}  // namespace twinstep::measure
