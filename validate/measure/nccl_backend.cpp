#include <set>
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
        environment_{*device_, connection_.ranks, std::ref(values_)},
        executor_{*device_, connection_},
        health_{cuda::read_health(*device_, connection_.ranks)} {
    job_ = job_on_gpus(*device_, connection_, launch);
  }

  void require_supported(program::StepProgram const& program) const override { cuda::require_supported(program); }

  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program) override {
    values_.belong_to(program);
    executor_.flush_caches();
    auto timeline = executor_.run(program, environment_);
    look_at_health();
    return timeline;
  }

  [[nodiscard]] std::vector<std::string> take_doubts() override {
    auto const doubts = std::exchange(doubts_, {});
    return {doubts.begin(), doubts.end()};
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

  [[nodiscard]] std::vector<std::string> doubts() override {
    return cuda::find_doubts(health_, cuda::read_health(*device_, connection_.ranks));
  }

 protected:
  bool write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) override {
    if (!environment_.holds(rank, name, scope)) return false;
    environment_.write(rank, name, scope, values);
    return true;
  }

 private:
  /// Right after work, so that idling is not taken for a low clock; the first reading is what the later ones are held
  /// to.
  void look_at_health() {
    auto now = cuda::read_health(*device_, connection_.ranks);
    if (first_health_.empty()) first_health_ = now;
    for (auto& doubt : cuda::find_doubts(first_health_, now)) doubts_.insert(std::move(doubt));
  }

  std::unique_ptr<cuda::DeviceApi> device_;
  cuda::Connection connection_;
  cuda::Environment environment_;
  cuda::Executor executor_;
  std::vector<cuda::HealthReading> health_;  // before anything ran
  std::vector<cuda::HealthReading> first_health_;
  std::set<std::string> doubts_;
};

}  // namespace

std::unique_ptr<Executor> nccl_executor(std::unique_ptr<cuda::DeviceApi> device, launch::Launch const& launch,
                                        std::optional<int> gpus) {
  return std::make_unique<NcclExecutor>(std::move(device), launch, gpus);
}

}  // namespace twinstep::measure
