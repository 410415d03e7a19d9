#pragma once

#include <string>

#include "app/commands.hpp"
#include "explore/plan/plan_question.hpp"

namespace twinstep::app {

/// The changes that one --what-if makes together: "cluster.node.nic=800 Gb/s,cluster.fabric.port=800 Gb/s" has two. A
/// comma parts them unless it stands in double quotes, braces or brackets, so a plain text that holds one goes into
/// quotes. Throws InputError for a part without "=", and where one changes what another one does.
[[nodiscard]] explore::plan::WhatIf read_what_if(std::string const& text);

/// What the options of `plan` ask, with the scenario that they name. Throws InputError for options that cannot be, or
/// not together, and for changes of what a plan searches itself.
[[nodiscard]] explore::plan::PlanQuestion read_plan_question(PlanOptions const& options);

}  // namespace twinstep::app
