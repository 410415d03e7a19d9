#include "explore/plan/work_terms.hpp"

#include <map>
#include <utility>
#include <vector>

#include "strategies/compile.hpp"
#include "strategies/model/kept.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::explore::plan {
namespace {

using strategies::Recomputation;
using strategies::Recompute;
using strategies::UnitWork;

constexpr std::int64_t kSomeSms = 8;  ///< held to see what one of them costs

/// Kernels one after another.
struct Kernels {
  double free = 0;  ///< seconds with all SMs
  double held = 0;  ///< with some of them held
  double launches = 0;
  Kernels& operator+=(Kernels const& other) {
    free += other.free;
    held += other.held;
    launches += other.launches;
    return *this;
  }
};

class Summing {
 public:
  Summing(strategies::ModelWork const& model, strategies::Plan const& plan, engine::Machine const& machine)
      : model_{model},
        machine_{machine},
        recomputed_{model, plan},
        offloads_{plan.states.offload.activations},
        casts_again_{plan.kernels.recompute != Recompute::kNone && plan.kernels.recompute != Recompute::kSelective} {
    for (auto const& kind : model.kinds) {
      forward_.push_back(sum(kind.forward));
      backward_.push_back(sum(kind.backward));
    }
  }

  WorkTerms terms() {
    auto terms = WorkTerms{.offloads_activations = offloads_, .casts_again = casts_again_};
    for (std::size_t unit = 0; unit < model_.units.size(); ++unit) add(unit, terms.kept);
    put(Pass::kForward, run_forward_, terms.sheet, terms.slowdown_forward);
    put(Pass::kBackward, run_backward_, terms.sheet, terms.slowdown_backward);
    if (offloads_) {
      auto const copy = static_cast<double>(offloaded_.count()) / host_copy_rate(machine_).count();
      terms.sheet.at(Pass::kForward, Part::kCopies) = terms.sheet.at(Pass::kBackward, Part::kCopies) = copy;
    }
    return terms;
  }

 private:
  [[nodiscard]] Kernels cost(strategies::Kernel const& kernel) const {
    auto const* elementwise = std::get_if<program::Elementwise>(&kernel.work);
    auto const elements = elementwise != nullptr ? elementwise->elements.base : 0;
    return {kernel_seconds(kernel.work, elements, 0, machine_),
            kernel_seconds(kernel.work, elements, kSomeSms, machine_), static_cast<double>(kernel.launches)};
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

  void add(std::size_t unit, Bytes& kept) {
    auto const kind = static_cast<std::size_t>(model_.units[unit].kind);
    auto const& [kernels, bytes] = again(model_.kinds[kind], recomputed_.of(unit));
    run_forward_ += forward_[kind];
    run_backward_ += backward_[kind];
    run_backward_ += kernels;
    auto const is_block = model_.units[unit].index >= 0;
    (offloads_ && is_block ? offloaded_ : kept) += bytes;
  }

  void put(Pass pass, Kernels const& kernels, Sheet& sheet, double& slowdown) const {
    sheet.at(pass, Part::kCompute) = kernels.free;
    sheet.at(pass, Part::kHost) = kernels.launches * to_seconds(machine_.cluster().node().host.launch.value).count();
    slowdown = (kernels.held - kernels.free) / kSomeSms;
  }

  strategies::ModelWork const& model_;
  engine::Machine const& machine_;
  strategies::RecomputedUnits recomputed_;
  bool offloads_;
  bool casts_again_;
  std::vector<Kernels> forward_;   // by kind
  std::vector<Kernels> backward_;  // by kind
  std::map<Recomputation const*, Again> again_;
  Kernels run_forward_;
  Kernels run_backward_;
  Bytes offloaded_;
};

}  // namespace

double kernel_seconds(program::Work const& work, std::int64_t elements, std::int64_t held_sms,
                      engine::Machine const& machine) {
  auto const demand = machine.kernels().demand(work, elements, held_sms);
  auto const hbm = machine.cluster().node().gpu.memory_bandwidth.value;
  return to_seconds(demand.start + std::max(demand.compute, transfer_time(demand.memory, hbm))).count();
}

BytesPerSecond host_copy_rate(engine::Machine const& machine) {
  auto const& topology = machine.topology();
  auto rate = machine.cluster().node().pcie.value;
  for (auto const link : topology.host_to_device()) rate = std::min(rate, topology.bandwidth_of(link, 0));
  return rate;
}

WorkTerms work_terms(strategies::ModelSpec const& model, strategies::Plan const& plan, engine::Machine const& machine) {
  auto const work = strategies::planned_work(model, plan);
  return Summing{work, plan, machine}.terms();
}

}  // namespace twinstep::explore::plan
