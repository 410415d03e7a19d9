#include <map>
#include <utility>
#include <vector>

#include "explore/plan/bound.hpp"
#include "strategies/compile.hpp"
#include "strategies/model/kept.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::explore::plan {
namespace {

using strategies::Recomputation;
using strategies::UnitWork;

/// Kernels one after another, and the host's time to launch them.
struct Kernels {
  Duration device;
  Duration host;
  Kernels& operator+=(Kernels const& other) {
    device += other.device;
    host += other.host;
    return *this;
  }
};

class Summing {
 public:
  Summing(strategies::ModelWork const& model, strategies::Plan const& plan, engine::Machine const& machine)
      : model_{model}, machine_{machine}, recomputed_{model, plan}, offloads_{plan.states.offload.activations} {
    for (auto const& kind : model.kinds) {
      passes_.push_back(sum(kind.forward));
      passes_.back() += sum(kind.backward);
    }
  }

  Bound bound() {
    for (std::size_t unit = 0; unit < model_.units.size(); ++unit) add(unit);
    return {std::max(run_.device, run_.host), kept_, {}, {}};
  }

 private:
  [[nodiscard]] Kernels cost(strategies::Kernel const& kernel) const {
    auto const* elementwise = std::get_if<program::Elementwise>(&kernel.work);
    auto const demand =
        machine_.kernels().demand(kernel.work, elementwise != nullptr ? elementwise->elements.base : 0, 0);
    auto const& node = machine_.cluster().node();
    return {demand.start + std::max(demand.compute, transfer_time(demand.memory, node.gpu.memory_bandwidth.value)),
            node.host.launch.value * kernel.launches};
  }
  [[nodiscard]] Kernels sum(std::vector<strategies::Kernel> const& kernels) const {
    auto out = Kernels{};
    for (auto const& kernel : kernels) out += cost(kernel);
    return out;
  }

  /// Of units of one kind that recompute alike, as all but a few do.
  struct Again {
    Kernels kernels;
    Bytes kept;
  };
  Again const& again(UnitWork const& work, Recomputation const& recomputation) {
    auto const [entry, is_new] = again_.try_emplace(&recomputation);
    if (is_new) {
      for (auto const i : recomputation.kernels) entry->second.kernels += cost(work.forward[i]);
      entry->second.kept = strategies::saved_bytes(work, recomputation.kept);
    }
    return entry->second;
  }

  void add(std::size_t unit) {
    auto const kind = static_cast<std::size_t>(model_.units[unit].kind);
    auto const& [kernels, bytes] = again(model_.kinds[kind], recomputed_.of(unit));
    run_ += passes_[kind];
    run_ += kernels;
    auto const is_block = model_.units[unit].index >= 0;
    if (!is_block) {
      kept_ += bytes;
    } else if (!offloads_) {
      kept_ += last_block_;
      last_block_ = bytes;
    }
  }

  strategies::ModelWork const& model_;
  engine::Machine const& machine_;
  strategies::RecomputedUnits recomputed_;
  bool offloads_;
  std::vector<Kernels> passes_;  // by kind
  std::map<Recomputation const*, Again> again_;
  Kernels run_;
  Bytes kept_;
  Bytes last_block_;  // of which backward may have dropped a part when it has made the first of its own tensors
};

}  // namespace

Bound states_bound(strategies::ModelSpec const& model, strategies::Plan const& plan, engine::Machine const& machine) {
  auto held = program_bound(strategies::compile_states(model, plan), machine);
  held.step_time = {};
  return held;
}

Bound micro_batch_bound(strategies::ModelSpec const& model, strategies::Plan const& plan,
                        engine::Machine const& machine) {
  auto const work = strategies::planned_work(model, plan);
  return Summing{work, plan, machine}.bound();
}

Bound step_bound(Bound const& states, Bound const& micro_batch, std::int64_t micro_batches) {
  return {micro_batch.step_time * micro_batches, states.device + micro_batch.device, states.host, states.nvme};
}

}  // namespace twinstep::explore::plan
