#pragma once

#include <atomic>

#include "explore/sweep/ledger.hpp"
#include "explore/sweep/mpi_job.hpp"
#include "explore/sweep/workers.hpp"

/// One sweep by the processes of a job: process 0 hands out points and takes answers, all compute.
namespace twinstep::explore::sweep {

/// In process 0, beside its own computing: serves the others until all have said goodbye, or `is_over` holds. `sink`
/// may be called by this thread at any moment.
void serve(MpiJob& job, Ledger& ledger, Sink const& sink, std::atomic<bool> const& is_over);

/// In every other process: asks process 0 for points, answers them on `jobs` threads and sends the answers, until there
/// are no more.
void work_for(MpiJob& job, Evaluator const& evaluator, int jobs);

}  // namespace twinstep::explore::sweep
