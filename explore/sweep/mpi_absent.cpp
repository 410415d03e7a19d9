#include <cstdlib>

#include "explore/sweep/processes.hpp"
#include "sim/base/input_error.hpp"

/// In place of mpi_job.cpp where MPI was not found.
namespace twinstep::explore::sweep {

std::unique_ptr<MpiJob> MpiJob::join() {
  throw InputError{
      "this twinstep was built without MPI, and a launcher of MPI programs started it; start it alone, or "
      "build it where MPI is found (libopenmpi-dev)"};
}

MpiJob::MpiJob() = default;
MpiJob::~MpiJob() = default;

int MpiJob::agreed(int value) {
  return value;
}

void MpiJob::send(int, Subject, std::string_view) {}

std::optional<MpiJob::Message> MpiJob::receive() {
  return std::nullopt;
}

void MpiJob::abort(int exit_code) {
  std::exit(exit_code);
}

}  // namespace twinstep::explore::sweep
