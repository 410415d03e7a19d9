#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "explore/sweep/evaluate.hpp"
#include "explore/sweep/table.hpp"

/// A sweep on the cores of this machine, by oneTBB's pipeline: points come and go in order (explore/ask/parallel.hpp is
/// for what is counted beforehand).
namespace twinstep::explore::sweep {

/// A point's row, or nothing where a constraint leaves the point out.
using Answer = std::optional<Row>;
/// The next point, or nothing at the end. Called by one thread at a time.
using Source = std::function<std::optional<std::int64_t>()>;
/// Takes answers one at a time, in the order in which the source gave their points.
using Sink = std::function<void(Answer)>;

/// Cores that this process may use.
[[nodiscard]] int available_cores();

/// Answers every point of the source on `jobs` threads. Throws what the evaluator, the source or the sink throws, after
/// all threads have ended.
void answer_all(Source const& source, Evaluator const& evaluator, Sink const& sink, int jobs);

}  // namespace twinstep::explore::sweep
