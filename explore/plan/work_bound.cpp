#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "explore/plan/bound.hpp"
#include "strategies/compile.hpp"
#include "strategies/parts/recompute.hpp"
#include "strategies/plan/planned_work.hpp"

namespace twinstep::explore::plan {
namespace {

using strategies::Recomputation;
using strategies::SlotKind;
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

  MicroBatchWork sum() {
    for (std::size_t unit = 0; unit < model_.units.size(); ++unit) add(unit);
    return sum_;
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
    Bytes kept;    // and read later
    Bytes stored;  // by who offloads, whether it is read later or not
    std::int64_t tensors = 0;
  };
  Again const& again(UnitWork const& work, Recomputation const& recomputation) {
    auto const [entry, is_new] = again_.try_emplace(&recomputation);
    if (!is_new) return entry->second;
    auto& [kernels, kept, stored, tensors] = entry->second;
    auto is_read = std::vector<bool>(work.slots.size());
    auto const read = [&](strategies::Kernel const& kernel) {
      for (auto const& access : kernel.accesses) is_read[static_cast<std::size_t>(access.slot)] = true;
    };
    std::ranges::for_each(work.backward, read);
    for (auto const i : recomputation.kernels) {
      kernels += cost(work.forward[i]);
      read(work.forward[i]);
    }
    for (std::size_t i = 0; i < work.slots.size(); ++i) {
      auto const& slot = work.slots[i];
      if (!recomputation.kept[i] || (slot.kind != SlotKind::kSaved && slot.kind != SlotKind::kTemporary)) continue;
      stored += size_of(slot.type) * slot.elements;
      if (is_read[i]) kept += size_of(slot.type) * slot.elements;
      ++tensors;
    }
    return entry->second;
  }
  [[nodiscard]] static Bytes input_of(UnitWork const& work) {
    auto const input = std::ranges::find(work.slots, SlotKind::kInput, &strategies::Slot::kind);
    return input != work.slots.end() ? size_of(input->type) * input->elements : Bytes{};
  }

  [[nodiscard]] static Bytes data_of(UnitWork const& work) {
    auto bytes = Bytes{};
    for (auto const& slot : work.slots)
      if (slot.kind == SlotKind::kData) bytes += size_of(slot.type) * slot.elements;
    return bytes;
  }

  void add(std::size_t unit) {
    auto const kind = static_cast<std::size_t>(model_.units[unit].kind);
    auto const& work = model_.kinds[kind];
    auto const& recomputation = recomputed_.of(unit);
    auto [kernels, kept, stored, tensors] = again(work, recomputation);
    kernels += passes_[kind];
    sum_.data += data_of(work);
    sum_.device += kernels.device;
    sum_.host += kernels.host;
    if (recomputation.keeps_input && recomputed_.segment_begin(unit) == unit) {
      kept += input_of(work);
      stored += input_of(work);
      ++tensors;
    }
    if (!offloads_ || model_.units[unit].index < 0) {
      sum_.kept += kept;
    } else if (tensors > 0) {
      sum_.offloaded += stored;
      sum_.copies += tensors;
      sum_.last_offloaded = stored;
    }
  }

  strategies::ModelWork const& model_;
  engine::Machine const& machine_;
  strategies::RecomputedUnits recomputed_;
  bool offloads_;
  std::vector<Kernels> passes_;  // by kind
  std::map<Recomputation const*, Again> again_;
  MicroBatchWork sum_;
};

}  // namespace

MicroBatchWork micro_batch_work(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                engine::Machine const& machine) {
  auto const work = strategies::planned_work(model, plan);
  return Summing{work, plan, machine}.sum();
}

}  // namespace twinstep::explore::plan
