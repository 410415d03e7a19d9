#pragma once

#include <functional>

#include "app/measure/measure.hpp"
#include "validate/launch/launch.hpp"
#include "validate/measure/executor.hpp"
#include "validate/measure/sampling.hpp"

namespace twinstep::app {

/// Runs `body` in every process of the job, on the executor of the backend that was named, and gives its exit code.
/// Started alone, a gloo job makes its ranks itself: `ranks`, or `otherwise` where the options do not say.
/// GPUs that fail are one line and exit code 3. Throws Absent for what is not there (a GPU, Gloo), InputError for an
/// unknown backend, for ranks that contradict the launcher, and for a peer that died.
[[nodiscard]] int run_job(MeasureOptions const& options, int otherwise,
                          std::function<void(measure::Executor&)> const& body);

/// The same for what needs GPUs and no executor.
[[nodiscard]] int on_gpus(MeasureOptions const& options, std::function<void(launch::Launch const&)> const& body);

/// Throws InputError for a backend that there is not.
void check_backend(MeasureOptions const& options);

[[nodiscard]] measure::Sampling sampling_of(MeasureOptions const& options);

/// The element type of an option. Throws InputError.
[[nodiscard]] DataType read_type(std::string const& text);
/// A collective, or nothing for "send_recv". Throws InputError.
[[nodiscard]] std::optional<CollectiveKind> read_op(std::string const& option, std::string const& text);

/// Warns of what makes measurements of `what` doubtful.
void warn_of_doubts(std::string const& what, measure::Spread const& spread, measure::Sampling const& sampling);

}  // namespace twinstep::app
