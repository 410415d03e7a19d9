#include "strategies/mesh/step.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "sim/base/check.hpp"
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

/// One direction between a role and a neighbour: messages that follow each other on a stream of their own.
class Link {
 public:
  Link(StepContext& context, CommunicatorId pipeline, std::int64_t peer, std::string_view name)
      : context_{context},
        communicator_{pipeline},
        peer_{peer},
        name_{context.name(name)},
        stream_{context.role.stream(name)} {}

  /// Sends what compute has made so far.
  void send(Region region) {
    context_.role.wait(stream_, context_.role.last_on(context_.compute));
    exchange(true, region);
  }
  /// Compute waits for it.
  Region receive(Slot const& like) {
    auto const region = context_.role.whole(
        context_.role.buffer({.name = name_, .elements = like.elements, .type = like.type, .category = like.category}));
    context_.role.wait(context_.compute, exchange(false, region));
    return region;
  }

 private:
  OpId exchange(bool sends, Region region) {
    auto const part = CommunicationPart{PointToPoint{.sends = sends,
                                                     .type = context_.role.get(region.buffer).type,
                                                     .communicator = communicator_,
                                                     .peer = peer_,
                                                     .elements = region.elements}};
    auto const access = sends ? reads(region) : writes(region);
    return context_.role.group(stream_, name_, std::span{&part, 1}, std::span{&access, 1});
  }

  StepContext& context_;
  CommunicatorId communicator_;
  std::int64_t peer_;
  NameId name_;
  StreamId stream_;
};

/// Communicators that all roles use, one for each direction along the pipeline.
struct Communicators {
  CommunicatorId forward;
  CommunicatorId backward;
  std::vector<CommunicatorId> groups;
};

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
        recomputed_{role.model, plan} {
    for (std::size_t i = 0; i < spec.groups.size(); ++i)
      groups_.push_back({spec.groups[i].name, communicators.groups[i], builder_.stream(spec.groups[i].name)});
    for (std::size_t set = 0; set < spec.sets.size(); ++set) add_set(set);
    computation_.emplace(contexts_.front(), sets_, recomputed_);
    auto& context = contexts_.front();
    if (role.before) {
      input_.emplace(context, communicators.forward, *role.before, "input.receive");
      input_gradient_.emplace(context, communicators.backward, *role.before, "input_gradient.send");
    }
    if (role.after) {
      output_.emplace(context, communicators.forward, *role.after, "output.send");
      output_gradient_.emplace(context, communicators.backward, *role.after, "output_gradient.receive");
    }
  }

  void write() {
    auto const passes = static_cast<std::size_t>(std::ranges::count(
        role_.schedule, std::pair{ScheduledPass::Kind::kForward, std::size_t{0}}, [](ScheduledPass const& pass) {
          return std::pair{pass.kind, pass.chunk};
        }));
    builder_.reserve(estimate_operations(role_.model, recomputed_, passes));
    for (auto const& pass : role_.schedule) write(pass);
    micro_step_ = accumulation(plan_) - 1;  // the update belongs to the last one
    builder_.enter({.pass = Pass::kUpdate});
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
                                                       .named_groups = groups_});
    if (set > 0) builder_.enter({.unit = program_.name("parameters." + std::to_string(set))});
    strategies_.push_back(
        std::visit([&](auto const& options) { return make_strategy(options, context); }, plan_.strategy.options()));
    sets_.push_back({context, *strategies_.back()});
  }

  void write(ScheduledPass const& pass) {
    using enum ScheduledPass::Kind;
    auto const chunk = role_.chunks[pass.chunk];
    micro_step_ = pass.micro_batch;
    if (pass.kind == kForward && pass.chunk == 0)
      for (auto const& set : sets_) set.strategy.begin_micro_step();
    computation_->begin(chunk, pass.micro_batch);
    switch (pass.kind) {
      case kForward: return forward(chunk);
      case kBackward:
        backward(chunk, [this](std::size_t unit) { computation_->backward(unit); });
        return computation_->end();
      case kInputGradient: return backward(chunk, [this](std::size_t unit) { computation_->input_gradient(unit); });
      case kWeightGradient:
        for (auto unit = chunk.end; unit-- > chunk.first;) computation_->weight_gradient(unit);
        return computation_->end();
    }
  }

  void forward(UnitRange chunk) {
    if (input_) computation_->take_input(input_->receive(slot(chunk.first, SlotKind::kInput)));
    for (auto unit = chunk.first; unit < chunk.end; ++unit) computation_->forward(unit);
    if (output_) output_->send(computation_->output());
  }

  template <class Backward>
  void backward(UnitRange chunk, Backward const& of_unit) {
    if (output_gradient_)
      computation_->take_output_gradient(output_gradient_->receive(slot(chunk.end - 1, SlotKind::kOutputGradient)));
    for (auto unit = chunk.end; unit-- > chunk.first;) of_unit(unit);
    if (input_gradient_) input_gradient_->send(computation_->input_gradient());
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
  std::deque<Parameters> parameters_;  // by set
  std::deque<StepContext> contexts_;
  std::vector<std::unique_ptr<DataParallel>> strategies_;
  std::vector<ParameterSet> sets_;
  std::optional<Computation> computation_;
  std::optional<Link> input_, output_, input_gradient_, output_gradient_;
};

Communicators communicators_of(StepSpec const& spec, ProgramBuilder& program) {
  auto communicators = Communicators{};
  if (!spec.pipeline.axes.empty()) {
    communicators.forward = program.communicator("pipeline.forward", spec.pipeline);
    communicators.backward = program.communicator("pipeline.backward", spec.pipeline);
  }
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
    flops += writer.recomputed_flops();
  }
  auto const micro_batches = accumulation(plan) * plan.parallel.ranks;
  program.facts() = {.tokens = spec.roles.front().model.tokens_per_micro_batch * micro_batches,
                     .model_flops = spec.model_flops_per_micro_batch * static_cast<double>(micro_batches),
                     .hardware_flops = flops * static_cast<double>(micro_batches),
                     .compute_type = plan.kernels.precision};
  return std::move(program).finish();
}

}  // namespace twinstep::strategies
