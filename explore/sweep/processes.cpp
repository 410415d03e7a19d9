#include "explore/sweep/processes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/module.hpp"

namespace twinstep::explore::sweep {
namespace {

void put(std::int64_t number, std::string& message) {
  message.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void put(double number, std::string& message) {
  message.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void put(std::string const& text, std::string& message) {
  put(static_cast<std::int64_t>(text.size()), message);
  message += text;
}

void put(std::monostate, std::string&) {}

void put(std::vector<Cell> const& cells, std::string& message) {
  put(static_cast<std::int64_t>(cells.size()), message);
  for (auto const& cell : cells) {
    put(static_cast<std::int64_t>(cell.index()), message);
    std::visit([&message](auto const& value) { put(value, message); }, cell);
  }
}

class Decoder {
 public:
  explicit Decoder(std::string_view message) : rest_{message} {}

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  Answer answer() {
    if (number<std::int64_t>() == 0) return std::nullopt;
    auto row = Row{};
    row.point = number<std::int64_t>();
    row.settings = cells();
    row.status = static_cast<Status>(number<std::int64_t>());
    row.reason = text();
    row.figures = cells();
    return row;
  }

 private:
  std::string_view take(std::size_t size) {
    TWINSTEP_CHECK(size <= rest_.size(), "a message between processes is whole");
    auto const taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  template <class Number>
  Number number() {
    auto value = Number{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string text() { return std::string{take(static_cast<std::size_t>(number<std::int64_t>()))}; }

  Cell cell() {
    switch (number<std::int64_t>()) {
      case 1: return number<std::int64_t>();
      case 2: return number<double>();
      case 3: return text();
      default: return {};
    }
  }

  std::vector<Cell> cells() {
    auto list = std::vector<Cell>(static_cast<std::size_t>(number<std::int64_t>()));
    for (auto& each : list) each = cell();
    return list;
  }

  std::string_view rest_;
};

}  // namespace

void encode(Answer const& answer, std::string& message) {
  put(std::int64_t{answer.has_value()}, message);
  if (!answer) return;
  put(answer->point, message);
  put(answer->settings, message);
  put(static_cast<std::int64_t>(answer->status), message);
  put(answer->reason, message);
  put(answer->figures, message);
}

std::vector<Answer> decode(std::string_view message) {
  auto decoder = Decoder{message};
  auto answers = std::vector<Answer>{};
  while (!decoder.is_at_end()) answers.push_back(decoder.answer());
  return answers;
}

namespace {

using Subject = MpiJob::Subject;

/// Waiting for a message leaves the core to whoever computes; a message costs less than most points.
constexpr auto kPause = std::chrono::microseconds{200};

std::string encoded(std::vector<std::int64_t> const& points) {
  return {reinterpret_cast<char const*>(points.data()), points.size() * sizeof(std::int64_t)};
}

std::deque<std::int64_t> decoded_points(std::string const& message) {
  auto points = std::vector<std::int64_t>(message.size() / sizeof(std::int64_t));
  if (!points.empty()) std::memcpy(points.data(), message.data(), message.size());
  return {points.begin(), points.end()};
}

/// As many points as a message asks for; fewer, or none, at the end.
std::vector<std::int64_t> hand_out(Ledger& ledger, std::size_t wanted) {
  auto points = std::vector<std::int64_t>{};
  while (points.size() < wanted) {
    auto const point = ledger.next();
    if (!point) break;
    points.push_back(*point);
  }
  return points;
}

/// A worker's side of the messages. Threads share it.
class Correspondence {
 public:
  Correspondence(MpiJob& job, int batch) : job_{&job}, batch_{batch} {}

  /// The next point; asks process 0 for a few where none is left.
  std::optional<std::int64_t> next() {
    if (points_.empty() && !is_over_) ask();
    if (points_.empty()) return std::nullopt;
    auto const point = points_.front();
    points_.pop_front();
    return point;
  }

  void add(Answer const& answer) {
    encode(answer, answers_);
    constexpr auto kEnough = std::size_t{16} << 10;
    auto const now = Clock::now();
    if (answers_.size() >= kEnough || now - sent_ > std::chrono::milliseconds{100}) send_answers();
  }

  void finish() {
    send_answers();
    auto const lock = std::lock_guard{mutex_};
    job_->send(0, Subject::kGoodbye, {});
  }

 private:
  using Clock = std::chrono::steady_clock;

  void ask() {
    {
      auto const lock = std::lock_guard{mutex_};
      job_->send(0, Subject::kAsk, std::to_string(batch_));
    }
    for (;; std::this_thread::sleep_for(kPause)) {
      auto const lock = std::lock_guard{mutex_};
      auto const message = job_->receive();
      if (!message) continue;
      points_ = decoded_points(message->content);
      is_over_ = points_.empty();
      return;
    }
  }

  void send_answers() {
    if (answers_.empty()) return;
    auto const lock = std::lock_guard{mutex_};
    job_->send(0, Subject::kAnswers, answers_);
    answers_.clear();
    sent_ = Clock::now();
  }

  MpiJob* job_;
  int batch_;
  std::mutex mutex_;  // of the job
  std::deque<std::int64_t> points_;
  bool is_over_ = false;
  std::string answers_;
  Clock::time_point sent_ = Clock::now();
};

/// Serves the other processes until all have said goodbye, or `is_over` holds.
void serve(MpiJob& job, Ledger& ledger, Sink const& sink, std::atomic<bool> const& is_over) {
  for (auto workers = job.size() - 1; workers > 0 && !is_over;) {
    auto const message = job.receive();
    if (!message) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    switch (message->subject) {
      case Subject::kAsk:
        job.send(message->from, Subject::kPoints, encoded(hand_out(ledger, std::stoul(message->content))));
        break;
      case Subject::kAnswers:
        for (auto& answer : decode(message->content)) sink(std::move(answer));
        break;
      default: --workers;
    }
  }
}

}  // namespace

void lead(MpiJob& job, Ledger& ledger, Evaluator const& evaluator, Sink const& sink, int jobs) {
  auto mutex = std::mutex{};
  auto const take = [&](Answer answer) {
    auto const lock = std::lock_guard{mutex};
    sink(std::move(answer));
  };
  auto is_over = std::atomic<bool>{false};
  auto failure = std::exception_ptr{};
  // The only thread that uses MPI meanwhile.
  auto server = std::jthread{[&] {
    try {
      serve(job, ledger, take, is_over);
    } catch (...) {
      failure = std::current_exception();
      ledger.stop();
    }
  }};
  try {
    answer_all([&ledger] { return ledger.next(); }, evaluator, take, jobs);
  } catch (...) {
    is_over = true;
    throw;
  }
  // Who was interrupted with this process answers soon or never.
  if (ledger.is_stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{500});
  is_over = ledger.is_stopped();
  server.join();
  if (failure) std::rethrow_exception(failure);
}

void follow(MpiJob& job, Evaluator const& evaluator, int jobs) {
  constexpr auto kPointsPerThread = 4;
  auto correspondence = Correspondence{job, jobs * kPointsPerThread};
  answer_all([&] { return correspondence.next(); }, evaluator,
             [&](Answer const& answer) { correspondence.add(answer); }, jobs);
  correspondence.finish();
}

std::unique_ptr<MpiJob> MpiJob::join() {
  auto* const join = function_of<MpiJob*()>({.file = "libtwinstep_mpi.so",
                                             .function = "twinstep_join_mpi_job",
                                             .is_for = "MPI, whose launcher started this process",
                                             .packages = "MPI (libopenmpi-dev)"});
  return std::unique_ptr<MpiJob>{join()};
}

void MpiJob::abort(int exit_code) {
  abort_all(exit_code);
  std::_Exit(exit_code);  // what a broken MPI leaves
}

bool is_started_by_mpi(Variable const& variable) {
  // Open MPI's mpirun; what starts by PMIx (srun --mpi=pmix); MPICH's mpiexec and srun --mpi=pmi2.
  constexpr auto kNames = std::to_array<char const*>({"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"});
  return std::ranges::any_of(kNames, [&variable](char const* name) { return variable(name).has_value(); });
}

std::optional<std::string> why_not_together(Variable const& variable) {
  if (is_started_by_mpi(variable)) return std::nullopt;
  // A batch script has SLURM_NTASKS too; only srun's tasks have the number of their step.
  auto const tasks = variable("SLURM_STEP_NUM_TASKS").value_or("1");
  auto const task = variable("SLURM_PROCID").value_or("0");
  if (tasks == "1" && task == "0") return std::nullopt;
  return fmt::format(
      "found task {} of {} that srun started without MPI, expected processes that know each other; start them with "
      "mpirun, or with srun --mpi=pmix",
      task, variable("SLURM_NTASKS").value_or(tasks));
}

}  // namespace twinstep::explore::sweep
