#include "validate/records/kineto_trace.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using io::Node;
using program::WorkKind;

enum class Category { kOther, kKernel, kCopy, kFill, kLaunch, kOperator, kAnnotation };

/// libkineto's names of today, and of 2021.
Category category_of(std::string_view text) {
  if (text == "kernel" || text == "Kernel") return Category::kKernel;
  if (text == "gpu_memcpy" || text == "Memcpy") return Category::kCopy;
  if (text == "gpu_memset" || text == "Memset") return Category::kFill;
  if (text == "cuda_runtime" || text == "cuda_driver" || text == "hip_runtime" || text == "Runtime")
    return Category::kLaunch;
  if (text == "cpu_op" || text == "Operator") return Category::kOperator;
  return text == "user_annotation" ? Category::kAnnotation : Category::kOther;
}

/// Bytes of an element, by c10's names; 1 for those of one byte and for what is not known.
std::int64_t element_size(std::string_view type) {
  if (type == "Double" || type == "Long" || type == "ComplexFloat") return 8;
  if (type == "Float" || type == "Int") return 4;
  return type == "Half" || type == "BFloat16" || type == "Short" ? 2 : 1;
}

std::optional<std::int64_t> whole(std::optional<Node> const& node) {
  if (!node || !node->is(Node::Type::kNumber)) return std::nullopt;
  return node->integer();
}

constexpr double kLatest = 4e15;        // us: the year 2096, for traces that count from 1970
constexpr double kLongestEvent = 9e12;  // us: 104 days
constexpr Nanoseconds kLatestBase = 4'000'000'000'000'000'000;

class TraceReader {
 public:
  explicit TraceReader(Node const& document) : document_{document} { trace_.file = document.source().name; }

  KinetoTrace read() && {
    read_head();
    for (auto const& event : document_.at("traceEvents").elements())
      if (auto const phase = event.find("ph"); phase && phase->string() == "X") read_event(event);
    auto const by_time = [](KinetoEvent const& event) { return std::tuple{event.start, event.row}; };
    std::ranges::stable_sort(trace_.device, {}, by_time);
    // Of two that start together the longer one is the outer one.
    std::ranges::stable_sort(trace_.host, {}, [](KinetoEvent const& event) {
      return std::tuple{event.start, -event.end};
    });
    keep_outermost();
    if (trace_.device.empty() && trace_.host.empty())
      document_.at("traceEvents")
          .fail("found no kernel, copy or operator, expected a trace of torch.profiler",
                "profile with activities=[CPU, CUDA]");
    return std::move(trace_);
  }

 private:
  void read_head() {
    if (!document_.is(Node::Type::kObject) || !document_.has("traceEvents"))
      document_.fail("found JSON without \"traceEvents\", expected a trace of torch.profiler",
                     "write one with export_chrome_trace or tensorboard_trace_handler");
    if (auto const base = document_.find("baseTimeNanoseconds")) {
      base_ = base->integer_from(0);
      if (base_ > kLatestBase)
        base->fail(fmt::format("found {}, expected {} at most", base_, kLatestBase), "correct what wrote the trace");
    }
    if (auto const distributed = document_.find("distributedInfo")) {
      trace_.rank = whole(distributed->find("rank"));
      trace_.world_size = whole(distributed->find("world_size"));
    }
    if (auto const devices = document_.find("deviceProperties"))
      for (auto const& device : devices->elements())
        if (auto const memory = whole(device.find("totalGlobalMem")); memory && trace_.device_memory == Bytes{})
          trace_.device_memory = Bytes{*memory};
  }

  /// Microseconds with three decimals, below `limit`.
  static Nanoseconds nanoseconds(Node const& node, double limit) {
    auto const value = node.number();
    if (!(value >= 0 && value < limit))
      node.fail(fmt::format("found {} us, expected 0 to {:g}", value, limit), "correct what wrote the trace");
    auto const whole = std::floor(value);  // apart: a double does not hold nanoseconds since 1970
    return static_cast<Nanoseconds>(whole) * 1000 + std::llround((value - whole) * 1e3);
  }

  KinetoEvent event_at(Node const& node) const {
    auto event = KinetoEvent{};
    event.name = one_line(node.at("name").string());
    event.start = base_ + nanoseconds(node.at("ts"), kLatest);
    auto const length = node.find("dur");
    event.end = event.start + (length ? nanoseconds(*length, kLongestEvent) : 0);
    event.row = {whole(node.find("pid")).value_or(0), whole(node.find("tid")).value_or(0)};
    return event;
  }

  void read_event(Node const& node) {
    auto const text = node.find("cat");
    auto const category = text ? category_of(text->string()) : Category::kOther;
    switch (category) {
      case Category::kOther: return;
      case Category::kKernel:
      case Category::kCopy:
      case Category::kFill: return read_device_event(node, category);
      case Category::kLaunch: return read_launch(node);
      case Category::kOperator:
      case Category::kAnnotation: return read_host_event(node, category);
    }
  }

  void read_device_event(Node const& node, Category category) {
    auto event = event_at(node);
    auto const args = node.find("args");
    auto const arg = [&](std::string_view key) { return args ? args->find(key) : std::nullopt; };
    event.row = {whole(arg("device")).value_or(event.row.process), whole(arg("stream")).value_or(event.row.thread)};
    event.correlation = whole(arg("correlation"));
    auto const collective = arg("Collective name");
    if (category == Category::kKernel)
      event.kind = kernel_kind(event.name, collective ? std::optional{collective->string()} : std::nullopt);
    else
      event.kind = category == Category::kCopy ? WorkKind::kCopy : WorkKind::kElementwise;
    // Our own traces say it; ROCm's tracer has a "kind" of its own there ("HtoD", "Dispatch Kernel").
    if (auto const kind = arg("kind"); kind && kind->is(Node::Type::kString))
      event.kind = find_enum<WorkKind>(kind->string()).value_or(event.kind);
    if (program::is_communication(event.kind)) event.bytes = message_size(args);
    if (category == Category::kCopy) event.bytes = Bytes{whole(arg("bytes")).value_or(0)};
    trace_.device.push_back(std::move(event));
  }

  static std::int64_t element_count(Node const& node) {
    constexpr std::int64_t kMost = std::int64_t{1} << 59;
    auto const count = node.integer_from(0);
    if (count > kMost) node.fail(fmt::format("found {} elements, expected {} at most", count, kMost), "correct it");
    return count;
  }

  /// The large side: what goes in or what comes out.
  static Bytes message_size(std::optional<Node> const& args) {
    if (!args) return {};
    auto elements = std::int64_t{0};
    for (auto const* const key : {"In msg nelems", "Out msg nelems"})
      if (auto const node = args->find(key); node && node->is(Node::Type::kNumber))
        elements = std::max(elements, element_count(*node));
    auto const type = args->find("dtype");
    return Bytes{elements} * (type ? element_size(type->string()) : 1);
  }

  void read_launch(Node const& node) {
    auto const args = node.find("args");
    auto const correlation = args ? whole(args->find("correlation")) : std::nullopt;
    if (correlation) trace_.launches.try_emplace(*correlation, event_at(node).start);
  }

  void read_host_event(Node const& node, Category category) {
    auto event = event_at(node);
    constexpr std::string_view kStep = "ProfilerStep#";
    if (event.name.starts_with(kStep)) {
      if (auto const number = whole_number<std::int64_t>(std::string_view{event.name}.substr(kStep.size())))
        trace_.steps.try_emplace(*number, KinetoStep{event.start, event.end});
      return;
    }
    event.kind = WorkKind::kHost;
    if (category == Category::kOperator) trace_.host.push_back(std::move(event));
  }

  void keep_outermost() {
    auto ends = std::map<KinetoRow, Nanoseconds>{};
    std::erase_if(trace_.host, [&](KinetoEvent const& event) {
      auto const [entry, is_first] = ends.try_emplace(event.row, event.end);
      if (is_first) return false;
      if (event.start < entry->second) return true;
      entry->second = event.end;
      return false;
    });
  }

  Node const& document_;
  KinetoTrace trace_;
  Nanoseconds base_ = 0;
};

}  // namespace

Nanoseconds KinetoTrace::launch_of(KinetoEvent const& event) const {
  if (!event.correlation) return event.start;
  auto const found = launches.find(*event.correlation);
  return found == launches.end() ? event.start : std::min(found->second, event.start);
}

KinetoTrace read_kineto_trace(Node const& document) {
  return TraceReader{document}.read();
}

}  // namespace twinstep::records
