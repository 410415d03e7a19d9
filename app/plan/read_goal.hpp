#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "reports/job.hpp"

/// The goal of a plan as the command line says it.
namespace twinstep::app::plan {

/// "15T", "300 B tokens", "4 M", "2e12": K, M, B and T are thousands, millions, billions and trillions.
[[nodiscard]] double read_amount(std::string const& option, std::string text);
/// "30d", "720 h", "6 w", and what io::read_duration reads; above zero.
[[nodiscard]] Seconds read_long_time(std::string const& option, std::string const& text);
/// "2 M USD", "350000 EUR".
[[nodiscard]] reports::Money read_money(std::string const& option, std::string const& text);
/// "2.5 USD/GPU-hour@2026-11", "20 USD/node-hour@2026-11-05": a price without its date is refused.
[[nodiscard]] reports::Price read_price(std::string const& text, std::int64_t gpus_per_node);
/// "10.2 kW/node", "1275 W/GPU".
[[nodiscard]] double read_watts_per_gpu(std::string const& text, std::int64_t gpus_per_node);
/// "50000 h/GPU", "260 d/node".
[[nodiscard]] Seconds read_between_failures(std::string const& text, std::int64_t gpus_per_node);

/// "512", "64..4096", "64,128,256": ranges hold every number of GPUs that whole nodes make.
struct GpuRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] std::vector<GpuRange> read_gpus(std::string const& text);

/// What options say of the job, on nodes of so many GPUs. Throws InputError for what is missing: a budget needs a
/// price, a deadline tokens, failures the cost of a checkpoint and of a restart.
[[nodiscard]] reports::Goal read_goal(PlanOptions const& options, std::int64_t gpus_per_node);

}  // namespace twinstep::app::plan
