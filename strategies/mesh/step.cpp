#include "strategies/mesh/step.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/mesh/neighbours.hpp"
#include "strategies/parts/communication.hpp"
#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// About how many operations a role has: the kernels, those that run again, and some communication.
std::size_t estimate_operations(ModelWork const& model, RecomputedUnits const& recomputed, std::size_t micro_batches) {
  auto kernels = std::size_t{0};
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) {
    auto const& work = model.work(model.units[unit]);
    kernels +=
        work.forward.size() + recomputed.of(unit).kernels.size() + work.backward.size() + 2 * work.parameters.size();
  }
  return kernels * micro_batches;
}

/// Communicators that all roles use.
struct Communicators {
  PipelineCommunicators pipeline;
  std::vector<CommunicatorId> groups;
  std::optional<CommunicatorId> model;
};

std::vector<std::size_t> begins_of(RoleSpec const& role) {
  auto begins = std::vector<std::size_t>{};
  for (auto const& chunk : role.chunks) begins.push_back(chunk.units.first);
  return begins;
}

class RoleWriter {
 public:
  RoleWriter(StepSpec& spec, RoleSpec& role, Communicators const& communicators, Plan const& plan,
             ProgramBuilder& program)
      : spec_{spec},
        role_{role},
        plan_{plan},
        program_{program},
        builder_{program.role(role.name, role.where)},
        compute_{builder_.stream("compute")},
        recomputed_{role.model, plan, begins_of(role)} {
    for (std::size_t i = 0; i < spec.groups.size(); ++i)
      groups_.push_back({spec.groups[i].name, communicators.groups[i], builder_.stream(spec.groups[i].name)});
    for (auto const& chunk : role.chunks) chunks_.push_back(chunk.units);
    if (communicators.model) model_group_ = NamedGroup{"model", *communicators.model, builder_.stream("model")};
    for (std::size_t set = 0; set < spec.sets.size(); ++set) add_set(set);
    computation_.emplace(contexts_.front(), sets_, recomputed_);
    neighbours_.emplace(contexts_.front(), *computation_, communicators.pipeline);
  }

  void write() {
    auto const passes = static_cast<std::size_t>(std::ranges::count(
        role_.schedule, std::pair{ScheduledPass::Kind::kForward, std::size_t{0}}, [](ScheduledPass const& pass) {
          return std::pair{pass.kind, pass.chunk};
        }));
    builder_.reserve(estimate_operations(role_.model, recomputed_, passes));
    for (std::size_t i = 0; i < role_.schedule.size(); ++i)
      write(role_.schedule[i], i + 1 < role_.schedule.size() ? &role_.schedule[i + 1] : nullptr);
    micro_step_ = accumulation(plan_) - 1;  // the update belongs to the last one
    builder_.enter({.pass = Pass::kUpdate});
    for (auto const& set : sets_) set.strategy.finish_gradients();
    if (role_.tied) add_tied_gradient(*role_.tied);
    add_partial_gradients();
    for (auto const& set : sets_) set.strategy.update();
  }

  [[nodiscard]] Flops recomputed_flops() const { return recomputed_.flops(); }

 private:
  /// Buffers of sets beside the first have the set's number as their scope.
  void add_set(std::size_t set) {
    auto const& parameters = parameters_.emplace_back(role_.model, static_cast<std::int32_t>(set));
    auto& context = contexts_.emplace_back(StepContext{.plan = plan_,
                                                       .model = role_.model,
                                                       .parameters = parameters,
                                                       .program = program_,
                                                       .role = builder_,
                                                       .compute = compute_,
                                                       .groups = spec_.sets[set],
                                                       .micro_step = micro_step_,
                                                       .named_groups = groups_,
                                                       .stage = role_.stage,
                                                       .chunks = chunks_,
                                                       .tied = tied_parameter(parameters, set),
                                                       .model_group = model_group_});
    if (set > 0) builder_.enter({.unit = program_.name("parameters." + std::to_string(set))});
    strategies_.push_back(
        std::visit([&](auto const& options) { return make_strategy(options, context); }, plan_.strategy.options()));
    sets_.push_back({context, *strategies_.back()});
  }

  [[nodiscard]] std::optional<ParameterId> tied_parameter(Parameters const& parameters, std::size_t set) const {
    if (set > 0 || !role_.tied) return std::nullopt;
    return parameters.at(role_.tied->unit, role_.tied->tensor);
  }

  void write(ScheduledPass const& pass, ScheduledPass const* next) {
    using enum ScheduledPass::Kind;
    micro_step_ = pass.micro_batch;
    if (pass.kind == kForward && pass.chunk == 0)
      for (auto const& set : sets_) set.strategy.begin_micro_step();
    auto const input = take_input(pass);
    auto const units = role_.chunks[pass.chunk].units;
    computation_->begin(units, pass.micro_batch);
    if (pass.kind == kForward) {
      if (input) computation_->take_input(*input);
      for (auto unit = units.first; unit < units.end; ++unit) computation_->forward(unit);
      hand_on(pass, next, computation_->output());
      return;
    }
    if (input) computation_->take_output_gradient(*input);
    for (auto unit = units.end; unit-- > units.first;) backward(unit, pass.kind);
    if (pass.kind != kWeightGradient) hand_on(pass, next, computation_->input_gradient());
    if (pass.kind != kInputGradient) computation_->end();
  }

  void backward(std::size_t unit, ScheduledPass::Kind kind) {
    switch (kind) {
      case ScheduledPass::Kind::kForward: break;
      case ScheduledPass::Kind::kBackward: return computation_->backward(unit);
      case ScheduledPass::Kind::kInputGradient: return computation_->input_gradient(unit);
      case ScheduledPass::Kind::kWeightGradient: return computation_->weight_gradient(unit);
    }
  }

  /// The stage that a pass gets its input from, if it gets one.
  [[nodiscard]] std::optional<std::int64_t> from(ScheduledPass const& pass) const {
    if (pass.kind == ScheduledPass::Kind::kWeightGradient) return std::nullopt;
    auto const& chunk = role_.chunks[pass.chunk];
    return pass.kind == ScheduledPass::Kind::kForward ? chunk.before : chunk.after;
  }
  [[nodiscard]] std::optional<std::int64_t> to(ScheduledPass const& pass) const {
    auto const& chunk = role_.chunks[pass.chunk];
    return pass.kind == ScheduledPass::Kind::kForward ? chunk.after : chunk.before;
  }
  [[nodiscard]] static Neighbours::Way way_of(ScheduledPass const& pass) {
    return pass.kind == ScheduledPass::Kind::kForward ? Neighbours::Way::kForward : Neighbours::Way::kBackward;
  }

  /// What a pass works on: received before, left by another chunk of this stage, or to be received now.
  std::optional<Region> take_input(ScheduledPass const& pass) {
    auto const stage = from(pass);
    if (!stage) return std::nullopt;
    if (received_) return std::exchange(received_, std::nullopt);
    if (*stage != role_.stage) return neighbours_->receive(incoming(pass, *stage));
    auto const is_it = [&](HandedOn const& each) {
      return each.way == way_of(pass) && each.micro_batch == pass.micro_batch;
    };
    auto const found = std::ranges::find_if(handed_on_, is_it);
    TWINSTEP_CHECK(found != handed_on_.end(), "a chunk follows the one before it on the same stage");
    auto const region = found->region;
    handed_on_.erase(found);
    return region;
  }

  /// What a pass has made goes to who waits for it; with it may come what the next pass waits for.
  void hand_on(ScheduledPass const& pass, ScheduledPass const* next, Region made) {
    auto const stage = to(pass);
    if (!stage) return;
    if (*stage == role_.stage) {
      handed_on_.push_back({way_of(pass), pass.micro_batch, made});
      return;
    }
    auto const outgoing = Neighbours::Outgoing{way_of(pass), *stage, made};
    auto const next_from = next != nullptr ? from(*next) : std::nullopt;
    auto const comes_now = next_from && *next_from != role_.stage && way_of(*next) != way_of(pass);
    if (!neighbours_->pairs() || !comes_now) return neighbours_->send(outgoing);
    received_ = neighbours_->send_and_receive(outgoing, incoming(*next, *next_from));
  }

  [[nodiscard]] Neighbours::Incoming incoming(ScheduledPass const& pass, std::int64_t stage) const {
    auto const units = role_.chunks[pass.chunk].units;
    auto const is_forward = pass.kind == ScheduledPass::Kind::kForward;
    auto const& like =
        is_forward ? slot(units.first, SlotKind::kInput) : slot(units.end - 1, SlotKind::kOutputGradient);
    return {way_of(pass), stage, &like};
  }

  /// Both stages that have a tied matrix add up its gradients.
  void add_tied_gradient(TiedCopy const& tied) {
    auto const& set = sets_.front();
    if (auto const own = set.strategy.finished_gradient(*set.context.tied))
      neighbours_->exchange_and_add(tied.stage, *own);
  }

  /// Gradients of which each rank of the tensor group has a part: one sum of all of them, through a buffer.
  void add_partial_gradients() {
    for (auto const& [context, strategy] : sets_) {
      auto partial = std::vector<Region>{};
      for (std::size_t i = 0; i < context.parameters.count(); ++i)
        if (context.parameters.tensor(ParameterId{i}).has_partial_gradient)
          if (auto const own = strategy.finished_gradient(ParameterId{i})) partial.push_back(*own);
      if (!partial.empty()) sum_together(context, context.group("tensor"), partial);
    }
  }

  [[nodiscard]] Slot const& slot(std::size_t unit, SlotKind kind) const {
    auto const& slots = role_.model.work(role_.model.units[unit]).slots;
    auto const found = std::ranges::find(slots, kind, &Slot::kind);
    TWINSTEP_CHECK(found != slots.end(), "a stage that receives a tensor has a unit that uses it");
    return *found;
  }

  StepSpec& spec_;
  RoleSpec& role_;
  Plan const& plan_;
  ProgramBuilder& program_;
  RoleBuilder& builder_;
  StreamId compute_;
  RecomputedUnits recomputed_;
  std::int64_t micro_step_ = 0;
  std::vector<NamedGroup> groups_;
  std::vector<UnitRange> chunks_;
  std::optional<NamedGroup> model_group_;
  std::deque<Parameters> parameters_;  // by set
  std::deque<StepContext> contexts_;
  std::vector<std::unique_ptr<DataParallel>> strategies_;
  std::vector<ParameterSet> sets_;
  /// From one chunk of the stage to the next.
  struct HandedOn {
    Neighbours::Way way;
    std::int64_t micro_batch;
    Region region;
  };

  std::optional<Computation> computation_;
  std::optional<Neighbours> neighbours_;
  std::optional<Region> received_;  // for the next pass
  std::vector<HandedOn> handed_on_;
};

Communicators communicators_of(StepSpec const& spec, ProgramBuilder& program) {
  auto communicators = Communicators{};
  if (!spec.pipeline.axes.empty()) {
    communicators.pipeline = {program.communicator("pipeline.forward", spec.pipeline),
                              program.communicator("pipeline.backward", spec.pipeline)};
  }
  if (spec.model) communicators.model = program.communicator("model", *spec.model);
  for (auto const& group : spec.groups) communicators.groups.push_back(program.communicator(group.name, group.along));
  return communicators;
}

}  // namespace

ModelWork part_of(ModelWork const& model, UnitRange units) {
  auto part = model;
  part.units.assign(model.units.begin() + static_cast<std::ptrdiff_t>(units.first),
                    model.units.begin() + static_cast<std::ptrdiff_t>(units.end));
  return part;
}

StepProgram write_step(StepSpec spec, Plan const& plan) {
  auto program = ProgramBuilder{spec.grids};
  auto const communicators = communicators_of(spec, program);
  auto flops = spec.model_flops_per_micro_batch;
  for (auto& role : spec.roles) {
    auto writer = RoleWriter{spec, role, communicators, plan, program};
    writer.write();
    flops += static_cast<double>(plan.parallel.tensor) * writer.recomputed_flops();
  }
  auto const micro_batches = accumulation(plan) * plan.parallel.data;
  program.facts() = {.tokens = spec.roles.front().model.tokens_per_micro_batch * micro_batches,
                     .model_flops = spec.model_flops_per_micro_batch * static_cast<double>(micro_batches),
                     .hardware_flops = flops * static_cast<double>(micro_batches),
                     .compute_type = plan.kernels.precision};
  return std::move(program).finish();
}

}  // namespace twinstep::strategies
