#include <array>
#include <vector>

#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"
#include "strategies/textbook/textbook.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// ZeRO stage 3: every rank holds its shard of everything. A unit's parameters are gathered before its forward and
/// again before its backward, one unit ahead of the computation, and dropped after use; its gradients are
/// reduce-scattered after its backward. At most three units are gathered at a time: before it issues a gather, the host
/// waits until the unit three gathers ago is out of use. Moves 3 N elements (forward gather, backward gather,
/// gradients) for each micro-batch. In shard groups all that happens inside the group, and the sums are reduced over
/// replicas in the last micro-batch. Source: Rajbhandari et al., ZeRO, arXiv 1910.02054, sections 5.3 and 7.2.2.
class Zero3 : public DataParallel {
 public:
  explicit Zero3(StepContext& context)
      : DataParallel{context},
        lanes_{shard_lanes(context)},
        layout_{context.parameters, by_unit(context.parameters), context.groups.shard_ranks()},
        parameters_{persistent_buffer(context, "parameter_shard", layout_.total() / context.groups.shard_ranks(),
                                      context.plan.kernels.precision, MemoryCategory::kParameters)},
        gradients_{context, layout_, lanes_},
        optimizer_{context, layout_.total() / context.groups.shard_ranks()},
        gathered_name_{context.program.name("gathered_parameters")},
        gather_name_{context.program.name("unit.all_gather")},
        limit_name_{context.program.name("unit.all_gather.limit")},
        gathered_(context.model.units.size()) {}

  Region parameter(ParameterId id) override {
    return layout_.place_in_group(gathered_[context_.parameters.unit_of(id)].buffer, id);
  }
  Region gradient(ParameterId id) override {
    auto& buffer = gathered_[context_.parameters.unit_of(id)].gradients;
    if (!buffer.exists()) buffer = gradients_.make_whole(group_of(context_.parameters.unit_of(id)), "unit_gradients");
    return layout_.place_in_group(buffer, id);
  }
  bool adds_to_gradients() const override { return false; }

  void before_forward(std::size_t unit) override {
    use(unit);
    if (unit + 1 < gathered_.size()) gather(unit + 1);
  }
  void after_forward(std::size_t unit) override { drop(unit, false); }
  void before_backward(std::size_t unit) override {
    use(unit);
    if (unit > 0) gather(unit - 1);
  }
  void after_backward(std::size_t unit) override {
    if (has_parameters(unit))
      gradients_.reduce(group_of(unit), std::exchange(gathered_[unit].gradients, {}),
                        context_.role.last_on(context_.compute));
    drop(unit, true);
  }

  void update() override {
    wait_for(context_, lanes_);
    clip_gradients(context_, gradients_.shard(), lanes_.inside);
    optimizer_.update(0, context_.role.whole(parameters_), gradients_.shard());
  }

 private:
  struct Unit {
    BufferId buffer;     // of the gathered parameters; none while they are dropped
    OpId gathered;       // by this operation
    BufferId gradients;  // of the unit whose backward runs
  };

  [[nodiscard]] bool has_parameters(std::size_t unit) const {
    return !context_.model.work(context_.model.units[unit]).parameters.empty();
  }
  [[nodiscard]] Group const& group_of(std::size_t unit) const {
    return layout_.groups()[layout_.group_of(context_.parameters.at(unit, 0))];
  }

  /// Makes the computation that follows wait for the unit's parameters.
  void use(std::size_t unit) {
    gather(unit);
    if (has_parameters(unit)) context_.role.wait(context_.compute, gathered_[unit].gathered);
  }

  void gather(std::size_t unit) {
    if (!has_parameters(unit) || gathered_[unit].buffer.exists()) return;
    limit_gathers();
    auto const& group = group_of(unit);
    auto const buffer = context_.role.buffer({.name = gathered_name_,
                                              .elements = group.elements,
                                              .type = context_.plan.kernels.precision,
                                              .category = MemoryCategory::kGatheredParameters});
    auto const own = layout_.place_shard(parameters_, group);
    gathered_[unit].buffer = buffer;
    gathered_[unit].gathered = all_gather(context_, lanes_.inside, gather_name_, own, context_.role.whole(buffer));
  }

  /// Parameters that another unit shares stay until their own backward; others go as soon as the unit is done.
  void drop(std::size_t unit, bool is_backward) {
    if (!has_parameters(unit) || (context_.parameters.is_shared(unit) && !is_backward)) return;
    last_uses_[drops_++ % last_uses_.size()] = context_.role.last_on(context_.compute);
    gathered_[unit].buffer = {};
  }

  void limit_gathers() {
    auto& oldest = last_uses_[drops_ % last_uses_.size()];
    if (!oldest.exists()) return;
    context_.role.host(limit_name_, std::span{&oldest, 1});
    oldest = {};
  }

  ShardLanes lanes_;
  FlatLayout layout_;
  BufferId parameters_;
  ShardedGradients gradients_;
  OptimizerStates optimizer_;
  NameId gathered_name_;
  NameId gather_name_;
  NameId limit_name_;
  std::vector<Unit> gathered_;       // by unit
  std::array<OpId, 2> last_uses_{};  // the last operations on the two units dropped most recently
  std::size_t drops_ = 0;
};

}  // namespace

std::unique_ptr<DataParallel> make_zero3(StepContext& context) {
  return std::make_unique<Zero3>(context);
}

}  // namespace twinstep::strategies
