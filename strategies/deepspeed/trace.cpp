#include "strategies/deepspeed/trace.hpp"

#include <algorithm>
#include <deque>
#include <span>

#include "strategies/parts/computation.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// Notes the modules of a step that is written for that alone.
class Recorder : public DataParallel {
 public:
  explicit Recorder(StepContext& context) : DataParallel{context} {
    for (std::size_t i = 0; i < context.parameters.count(); ++i)
      places_.push_back(context.role.whole(context.role.buffer(
          {.elements = context.parameters.elements(ParameterId{i}), .type = context.plan.kernels.precision})));
  }
  Region parameter(ParameterId id) override { return places_[id.index()]; }
  Region gradient(ParameterId id) override { return places_[id.index()]; }
  void before_module(ModuleId module, Pass pass) override { visits.push_back({module, pass, {}, {}, {}}); }
  void update() override {}

  std::vector<ModuleVisit> visits;

 private:
  std::vector<Region> places_;
};

/// The coordinator's view while it goes through the trace.
class Coordinator {
 public:
  Coordinator(std::vector<ModuleVisit>& trace, StepContext const& context, std::vector<bool> const& is_persistent)
      : trace_{trace},
        options_{context.plan.strategy.get<DeepSpeedOptions>()},
        parameters_{context.parameters},
        is_persistent_{is_persistent},
        is_here_{is_persistent},
        queued_until_(context.parameters.count(), -1) {
    for (std::size_t step = 0; step < trace.size(); ++step)
      for (auto const id : parameters_of(step)) queue_.push_back({id, static_cast<std::ptrdiff_t>(step)});
  }

  void run() {
    for (std::size_t step = 0; step < trace_.size(); ++step) {
      fetch(step);
      prefetch(step);
      release(step);
    }
  }

 private:
  struct Use {
    ParameterId id;
    std::ptrdiff_t step;
  };

  [[nodiscard]] std::span<ParameterId const> parameters_of(std::size_t step) const {
    return parameters_.parameters_of(trace_[step].module);
  }
  void bring(ParameterId id, std::vector<ParameterId>& list) {
    is_here_[id.index()] = true;
    live_ += parameters_.elements(id);
    list.push_back(id);
  }

  void fetch(std::size_t step) {
    auto uses = std::size_t{0};
    for (auto const id : parameters_of(step)) {
      if (!is_here_[id.index()]) bring(id, trace_[step].fetch);
      if (queued_until_[id.index()] < static_cast<std::ptrdiff_t>(step)) ++uses;
    }
    for (; uses > 0 && !queue_.empty(); --uses) take();
  }

  Use take() {
    auto const use = queue_.front();
    queue_.pop_front();
    queued_until_[use.id.index()] = std::max(queued_until_[use.id.index()], use.step);
    return use;
  }

  void prefetch(std::size_t step) {
    auto const most = std::min(options_.stage3_max_live_parameters - live_, options_.stage3_prefetch_bucket_size);
    auto elements = std::int64_t{0};
    while (!queue_.empty() && elements < most) {
      auto const id = take().id;
      if (is_here_[id.index()]) continue;
      bring(id, trace_[step].prefetch);
      elements += parameters_.elements(id);
    }
  }

  void release(std::size_t step) {
    for (auto const id : parameters_of(step)) {
      auto const is_queued = queued_until_[id.index()] > static_cast<std::ptrdiff_t>(step) + 1;
      if (is_persistent_[id.index()] || is_queued || occurs_again(id, step)) continue;
      is_here_[id.index()] = false;
      live_ -= parameters_.elements(id);
      trace_[step].release.push_back(id);
    }
  }

  [[nodiscard]] bool occurs_again(ParameterId id, std::size_t step) const {
    auto distance = std::int64_t{0};
    while (++step < trace_.size() && distance < options_.stage3_max_reuse_distance) {
      for (auto const other : parameters_of(step)) {
        if (other == id) return true;
        distance += parameters_.elements(other);
      }
    }
    return false;
  }

  std::vector<ModuleVisit>& trace_;
  DeepSpeedOptions const& options_;
  Parameters const& parameters_;
  std::vector<bool> const& is_persistent_;
  std::vector<bool> is_here_;                 // or on its way
  std::vector<std::ptrdiff_t> queued_until_;  // by parameter: its latest use that has left the queue
  std::deque<Use> queue_;
  std::int64_t live_ = 0;  // elements
};

}  // namespace

std::vector<ModuleVisit> record_trace(StepContext const& context) {
  auto groups = context.groups;
  auto builder = ProgramBuilder{groups.grid()};
  auto& role = builder.role("recording");
  constexpr auto first = std::int64_t{0};
  auto named = std::vector<NamedGroup>{};
  for (auto const& group : context.named_groups)
    named.push_back({group.name, builder.communicator(group.name, groups.all_axes()), role.stream(group.name)});
  auto scratch = StepContext{.plan = context.plan,
                             .model = context.model,
                             .parameters = context.parameters,
                             .program = builder,
                             .role = role,
                             .compute = role.stream("compute"),
                             .groups = groups,
                             .micro_step = first,
                             .named_groups = named};
  auto recorder = Recorder{scratch};
  auto const recomputed = RecomputedUnits{context.model, context.plan};
  auto const set = ParameterSet{scratch, recorder};
  auto computation = Computation{scratch, std::span{&set, 1}, recomputed};
  computation.begin({0, context.units()}, 0);
  for (std::size_t unit = 0; unit < context.model.units.size(); ++unit) computation.forward(unit);
  for (auto unit = context.model.units.size(); unit-- > 0;) computation.backward(unit);
  return std::move(recorder.visits);
}

void schedule_fetches(std::vector<ModuleVisit>& trace, StepContext const& context,
                      std::vector<bool> const& is_persistent) {
  Coordinator{trace, context, is_persistent}.run();
}

}  // namespace twinstep::strategies
