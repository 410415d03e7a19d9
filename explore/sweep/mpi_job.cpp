#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "explore/sweep/processes.hpp"
#include "sim/base/module.hpp"

// The module behind MpiJob::join.

namespace twinstep::explore::sweep {
namespace {

class MpiProcess final : public MpiJob {
 public:
  MpiProcess() {
    auto provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    auto machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &local_size_);
    MPI_Comm_free(&machine);
  }
  ~MpiProcess() override { MPI_Finalize(); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_size() const override { return local_size_; }

  [[nodiscard]] int agreed(int value) override {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
  }

  void send(int to, Subject subject, std::string_view content) override {
    MPI_Send(content.data(), static_cast<int>(content.size()), MPI_BYTE, to, static_cast<int>(subject), MPI_COMM_WORLD);
  }

  [[nodiscard]] std::optional<Message> receive() override {
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

 private:
  void abort_all(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
};

}  // namespace
}  // namespace twinstep::explore::sweep

TWINSTEP_MODULE_FUNCTION twinstep::explore::sweep::MpiJob* twinstep_join_mpi_job() {
  return std::make_unique<twinstep::explore::sweep::MpiProcess>().release();
}
