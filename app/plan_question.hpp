#pragma once

#include <string>
#include <vector>

#include "app/commands.hpp"
#include "explore/plan/goal.hpp"
#include "explore/plan/gpu_counts.hpp"
#include "explore/plan/plan_question.hpp"

namespace twinstep::app {

/// The changes that one --what-if makes together: "cluster.node.nic=800 Gb/s,cluster.fabric.port=800 Gb/s" has two. A
/// comma parts them unless it stands in double quotes, braces or brackets, so a plain text that holds one goes into
/// quotes. Throws InputError for a part without "=", and where one changes what another one does.
[[nodiscard]] explore::plan::WhatIf read_what_if(std::string const& text);

/// What the options of `plan` ask, with the scenario that they name. Throws InputError for options that cannot be, or
/// not together, and for changes of what a plan searches itself.
[[nodiscard]] explore::plan::PlanQuestion read_plan_question(PlanOptions const& options);

// What options of `plan` say: amounts with their units. Each throws InputError that names the option.

/// "15T", "300 B tokens", "4 M", "2e12": K, M, B and T are thousands, millions, billions and trillions.
[[nodiscard]] double read_amount(std::string const& option, std::string const& text);
/// "30d", "3 weeks", "720 h", "10 min"; above zero.
[[nodiscard]] Seconds read_long_time(std::string const& option, std::string const& text);
/// "2 M USD", "350000 EUR".
[[nodiscard]] reports::Money read_money(std::string const& option, std::string const& text);
/// "2.5 USD/GPU-hour@2026-11", "20 USD/node-hour@2026-11-05": a price without its date is refused.
[[nodiscard]] explore::plan::HourlyPrice read_price(std::string const& text);
/// "10.2 kW/node", "1275 W/GPU".
[[nodiscard]] explore::plan::OfEach<double> read_watts(std::string const& text);
/// "2 GWh", "350 MWh", in kWh.
[[nodiscard]] double read_energy(std::string const& option, std::string const& text);
/// "5%", "7.5 %", as a share of one, at least 0 and below 1.
[[nodiscard]] double read_share(std::string const& option, std::string const& text);
/// "50000 h/GPU", "260 d/node".
[[nodiscard]] explore::plan::OfEach<Seconds> read_between_failures(std::string const& text);
/// "512", "64..4096", "64,128,256": ranges hold every number of GPUs that whole nodes make.
[[nodiscard]] std::vector<explore::plan::GpuRange> read_gpus(std::string const& text);

/// What options say of the job. Throws InputError for what is missing: a budget needs a price, a deadline tokens,
/// failures the cost of a checkpoint and of a restart.
[[nodiscard]] explore::plan::Goal read_goal(PlanOptions const& options);

}  // namespace twinstep::app
