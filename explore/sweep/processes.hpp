#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/sweep/workers.hpp"

/// One sweep by the processes that one mpirun started. Only mpi_job.cpp knows MPI: a module, loaded where it is joined.
namespace twinstep::explore::sweep {

/// The value of an environment variable, or nothing.
using Variable = std::function<std::optional<std::string>(std::string const& name)>;

/// Why this process cannot be one of those that its launcher started: tasks of srun that no MPI holds together would
/// all do the same. Nothing where all is well.
[[nodiscard]] std::optional<std::string> why_not_together(Variable const& variable);

/// Whether a launcher of MPI programs (mpirun, srun --mpi=…) started this process.
[[nodiscard]] bool is_started_by_mpi(Variable const& variable);

/// This process as one of a job. One thread at a time may use it.
class MpiJob {
 public:
  /// What a message is about; both sides know what follows from it.
  enum class Subject : int { kAsk = 1, kPoints, kAnswers, kGoodbye };
  struct Message {
    int from = 0;
    Subject subject{};
    std::string content;
  };

  /// Loads and initialises MPI, which takes a while. Throws Absent where there is none.
  [[nodiscard]] static std::unique_ptr<MpiJob> join();

  MpiJob() = default;
  MpiJob(MpiJob const&) = delete;
  MpiJob& operator=(MpiJob const&) = delete;
  /// Waits for all processes of the job.
  virtual ~MpiJob() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// How many of the processes share this machine.
  [[nodiscard]] virtual int local_size() const = 0;

  /// What process 0 passes, in every process. Waits for process 0.
  [[nodiscard]] virtual int agreed(int value) = 0;
  virtual void send(int to, Subject subject, std::string_view content) = 0;
  /// A message if one is there.
  [[nodiscard]] virtual std::optional<Message> receive() = 0;
  /// Ends all processes of the job at once.
  [[noreturn]] void abort(int exit_code);

 private:
  virtual void abort_all(int exit_code) = 0;
};

/// In process 0: answers the points of a ledger on `jobs` threads, and hands them out to the other processes, until all
/// are answered or the ledger was stopped. Throws what the evaluator, the sink or MPI throws.
void lead(MpiJob& job, Ledger& ledger, Evaluator const& evaluator, Sink const& sink, int jobs);

/// In every other process: asks process 0 for points, answers them on `jobs` threads and sends the answers, until there
/// are no more.
void follow(MpiJob& job, Evaluator const& evaluator, int jobs);

/// Appends an answer to a message between processes, which are one program on machines of one kind.
void encode(Answer const& answer, std::string& message);
/// The answers of a whole message. Requires one that `encode` wrote.
[[nodiscard]] std::vector<Answer> decode(std::string_view message);

}  // namespace twinstep::explore::sweep
