#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/plan/plan_options.hpp"
#include "reports/job.hpp"
#include "sim/hardware/cluster.hpp"

/// The goal of a plan as the command line says it.
namespace twinstep::explore::plan {

/// "15T", "300 B tokens", "4 M", "2e12": K, M, B and T are thousands, millions, billions and trillions.
[[nodiscard]] double read_amount(std::string const& option, std::string text);
/// "30d", "3 weeks", "720 h", "10 min"; above zero.
[[nodiscard]] Seconds read_long_time(std::string const& option, std::string const& text);
/// "2 M USD", "350000 EUR".
[[nodiscard]] reports::Money read_money(std::string const& option, std::string const& text);
/// "2.5 USD/GPU-hour@2026-11", "20 USD/node-hour@2026-11-05": a price without its date is refused.
[[nodiscard]] reports::Price read_price(std::string const& text, std::int64_t gpus_per_node);
/// "10.2 kW/node", "1275 W/GPU".
[[nodiscard]] double read_watts_per_gpu(std::string const& text, std::int64_t gpus_per_node);
/// "2 GWh", "350 MWh", in kWh.
[[nodiscard]] double read_energy(std::string const& option, std::string const& text);
/// "5%", "7.5 %", as a share of one, at least 0 and below 1.
[[nodiscard]] double read_share(std::string const& option, std::string const& text);
/// "50000 h/GPU", "260 d/node".
[[nodiscard]] Seconds read_between_failures(std::string const& text, std::int64_t gpus_per_node);

/// "512", "64..4096", "64,128,256": ranges hold every number of GPUs that whole nodes make.
struct GpuRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] std::vector<GpuRange> read_gpus(std::string const& text);

/// What is left free of each GPU's memory where the user says nothing.
/// Source: the measured limit of reports::memory_warning, beyond which a third of the records ran slower.
inline constexpr double kHeadroom = 0.05;
[[nodiscard]] double read_headroom(PlanOptions const& options);

/// What options say of the job on such nodes; how often they fail, their profile may say. Throws InputError for what is
/// missing: a budget needs a price, a deadline tokens, failures the cost of a checkpoint and of a restart.
[[nodiscard]] reports::Goal read_goal(PlanOptions const& options, hardware::Node const& node);

}  // namespace twinstep::explore::plan
