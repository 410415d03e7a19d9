#include <utility>

#include "validate/cuda/cuda_executor.hpp"
#include "validate/cuda/hygiene.hpp"
#include "validate/cuda/supported.hpp"
#include "validate/measure/backends.hpp"
#include "validate/measure/gpu_ranks.hpp"
#include "validate/measure/real_executor.hpp"

namespace twinstep::measure {
namespace {

class NcclExecutor : public RealExecutor {
 public:
  NcclExecutor(std::unique_ptr<cuda::DeviceApi> device, launch::Launch const& launch, std::optional<int> gpus)
      : device_{std::move(device)},
        connection_{connect_gpus(*device_, launch, gpus)},
        environment_{*device_, connection_.ranks, fill_with_known_values},
        executor_{*device_, connection_} {
    job_ = job_on_gpus(*device_, connection_, launch);
  }

  void require_supported(program::StepProgram const& program) const override { cuda::require_supported(program); }

  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program) override {
    executor_.flush_caches();
    auto timeline = executor_.run(program, environment_);
    look_at_health();
    return timeline;
  }

  [[nodiscard]] std::vector<RankId> local_ranks() const override {
    auto out = std::vector<RankId>{};
    for (int i = 0; i < connection_.ranks.local_ranks; ++i)
      out.emplace_back(static_cast<std::size_t>(connection_.ranks.rank_of(i)));
    return out;
  }

  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                         std::size_t count) const override {
    return environment_.read(rank, name, scope, first, count);
  }

  [[nodiscard]] std::vector<std::string> doubts() const override {
    return cuda::find_doubts(first_health_, worst_health_);
  }

 protected:
  bool write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) override {
    if (!environment_.holds(rank, name, scope)) return false;
    environment_.write(rank, name, scope, values);
    return true;
  }

 private:
  /// Right after work, so that idling is not taken for a low clock; what follows is held to the first reading.
  void look_at_health() {
    auto const now = cuda::read_health(*device_, connection_.ranks);
    if (first_health_.empty()) first_health_ = now;
    worst_health_ = cuda::worst_of(std::move(worst_health_), now);
  }

  std::unique_ptr<cuda::DeviceApi> device_;
  cuda::Connection connection_;
  cuda::Environment environment_;
  cuda::Executor executor_;
  std::vector<cuda::HealthReading> first_health_;
  std::vector<cuda::HealthReading> worst_health_;
};

}  // namespace

std::unique_ptr<Executor> nccl_executor(std::unique_ptr<cuda::DeviceApi> device, launch::Launch const& launch,
                                        std::optional<int> gpus) {
  return std::make_unique<NcclExecutor>(std::move(device), launch, gpus);
}

}  // namespace twinstep::measure
