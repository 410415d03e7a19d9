#include "sim/base/module.hpp"
#include "validate/cpu/environment.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/cpu/supported.hpp"
#include "validate/measure/real_executor.hpp"

// The module behind load_gloo: an executor by Gloo and BLAS.

namespace twinstep::measure {
namespace {

class GlooExecutor : public RealExecutor {
 public:
  explicit GlooExecutor(launch::Launch const& launch)
      : gloo_{launch}, environment_{fill_with_known_values, cpu::Fresh::kAsLeft} {
    auto const& facts = gloo_.facts();
    job_ = {.ranks = facts.ranks,
            .ranks_per_node = facts.ranks_per_node,
            .is_first_process = facts.rank == 0,
            .backend = "gloo",
            .library = facts.library,
            .device = facts.processor};
  }

  void require_supported(program::StepProgram const& program) const override { cpu::require_supported(program); }

  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program) override {
    return gloo_.run(program, environment_);
  }

  [[nodiscard]] std::vector<RankId> local_ranks() const override { return {own()}; }

  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                         std::size_t count) const override {
    return environment_.read(rank, name, scope, first, count);
  }

 protected:
  bool write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) override {
    if (!environment_.holds(rank, name, scope)) return false;
    environment_.write(rank, name, scope, values);
    return true;
  }

 private:
  [[nodiscard]] RankId own() const { return RankId{static_cast<std::size_t>(gloo_.facts().rank)}; }

  cpu::GlooJob gloo_;
  cpu::Environment environment_;
};

}  // namespace

}  // namespace twinstep::measure

TWINSTEP_MODULE_FUNCTION twinstep::measure::Executor* twinstep_make_gloo_executor(
    twinstep::launch::Launch const& launch) {
  return std::make_unique<twinstep::measure::GlooExecutor>(launch).release();
}
