#include "explore/sweep/processes.hpp"

#define OMPI_SKIP_MPICXX 1
#include <cstdlib>
#include <mpi.h>

namespace twinstep::explore::sweep {

std::unique_ptr<MpiJob> MpiJob::join() {
  return std::unique_ptr<MpiJob>{new MpiJob};
}

MpiJob::MpiJob() {
  auto provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  auto machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &local_size_);
  MPI_Comm_free(&machine);
}

MpiJob::~MpiJob() {
  MPI_Finalize();
}

int MpiJob::agreed(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

void MpiJob::send(int to, Subject subject, std::string_view content) {
  MPI_Send(content.data(), static_cast<int>(content.size()), MPI_BYTE, to, static_cast<int>(subject), MPI_COMM_WORLD);
}

std::optional<MpiJob::Message> MpiJob::receive() {
  auto is_there = 0;
  auto status = MPI_Status{};
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
  if (is_there == 0) return std::nullopt;
  auto size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  auto message = Message{status.MPI_SOURCE, static_cast<Subject>(status.MPI_TAG),
                         std::string(static_cast<std::size_t>(size), '\0')};
  MPI_Recv(message.content.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

void MpiJob::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);  // what a broken MPI leaves
}

}  // namespace twinstep::explore::sweep
