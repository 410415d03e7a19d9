#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "explore/sweep/export.hpp"
#include "explore/sweep/identity.hpp"
#include "explore/sweep/outcome.hpp"
#include "explore/sweep/processes.hpp"
#include "explore/sweep/results.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

using io::Outputs;

using namespace sweep;
using Clock = std::chrono::steady_clock;

constexpr auto kInterrupted = 130;  ///< what shells say of a program that SIGINT ended

std::optional<std::string> environment(std::string const& name) {
  auto const* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

engine::RunOptions run_options(SweepOptions const& options) {
  return {.fidelity = find_enum<engine::Fidelity>(options.fidelity).value_or(engine::Fidelity::kFolded),
          .replays_allocator = !options.skips_allocator};
}

int jobs_of(SweepOptions const& options, MpiJob const* job) {
  auto const here = job == nullptr ? 1 : job->local_size();
  return static_cast<int>(options.jobs.value_or(std::max(1, available_cores() / here)));
}

/// While it lives, SIGINT and SIGTERM end the handing out of points, once; the next one ends the program.
class Interruption {
 public:
  explicit Interruption(Ledger& ledger) {
    ledger_ = &ledger;
    for (auto const signal : {SIGINT, SIGTERM}) {
      struct sigaction action {};
      action.sa_handler = [](int) { ledger_.load()->stop(); };
      action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
      sigaction(signal, &action, nullptr);
    }
  }
  ~Interruption() {
    for (auto const signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    ledger_ = nullptr;
  }
  Interruption(Interruption const&) = delete;
  Interruption& operator=(Interruption const&) = delete;

 private:
  static inline std::atomic<Ledger*> ledger_ = nullptr;  // a signal's handler gets nothing else to act on
};

void check_size(Sweep const& sweep, SweepOptions const& options) {
  if (sweep.points() <= options.max_points) return;
  auto const is_allowable = sweep.points() <= kMostPoints;
  throw InputError{fmt::format(
      "{}: found {}{} points, more than the {} of --max-points; leave values out{}", one_line(options.sweep),
      is_allowable ? "" : "at least ", is_allowable ? sweep.points() : kMostPoints, options.max_points,
      is_allowable ? fmt::format(", or allow so many with --max-points {}", sweep.points()) : std::string{})};
}

/// The exports, refused where they would replace one of the `inputs` or the results.
Outputs exports_of(SweepOptions const& options, std::vector<std::string> inputs) {
  if (options.out) inputs.push_back(*options.out);
  auto outputs = Outputs{std::move(inputs)};
  if (options.csv) outputs.expect("--csv", *options.csv);
  if (options.jsonl) outputs.expect("--jsonl", *options.jsonl);
  return outputs;
}

/// A sweep on its way into its results file, in the process that writes it.
class Leader {
 public:
  Leader(SweepOptions const& options)
      : options_{&options},
        sweep_{options.sweep},
        evaluator_{sweep_, run_options(options)},
        writer_{open()},
        ledger_{sweep_.points(), writer_->points_done()} {}

  /// Answers all points that are not in the file yet, together with the other processes of `job` if there is one.
  void run(MpiJob* job) {
    auto const interruption = Interruption{ledger_};
    auto progress = Progress{"sweep", "points"};
    progress.at(0, ledger_.size());
    auto const take = [&](Answer const& answer) {
      progress.advance();
      if (answer) writer_->add(*answer);
    };
    auto const jobs = jobs_of(*options_, job);
    if (job == nullptr)
      answer_all([this] { return ledger_.next(); }, evaluator_, take, jobs);
    else
      sweep::lead(*job, ledger_, evaluator_, take, jobs);
    writer_->commit();
    is_complete_ = !ledger_.is_stopped();
    if (is_complete_) writer_->finish();
    writer_.reset();
  }

  [[nodiscard]] bool is_complete() const { return is_complete_; }
  [[nodiscard]] std::int64_t asked() const { return ledger_.size(); }

 private:
  std::unique_ptr<ResultsWriter> open() {
    check_size(sweep_, *options_);
    static_cast<void>(exports_of(*options_, {options_->sweep, sweep_.base_file()}));
    check_printable();
    for (auto const& warning : evaluator_.check()) warn(warning);
    auto const manifest = manifest_of(sweep_, run_options(*options_));
    auto const& out = *options_->out;
    return std::make_unique<ResultsWriter>(options_->resumes ? ResultsWriter::resume(out, manifest)
                                                             : ResultsWriter::create(out, manifest));
  }

  SweepOptions const* options_;
  Sweep sweep_;
  Evaluator evaluator_;
  std::unique_ptr<ResultsWriter> writer_;
  Ledger ledger_;
  bool is_complete_ = false;
};

/// Throws InputError for a sweep where its results should stand.
void check_is_no_sweep(std::string const& file) {
  auto first = '\0';
  if (auto error = std::error_code{}; !std::filesystem::is_regular_file(file, error)) return;
  if (std::ifstream{file} >> first && first == '{')
    throw InputError{fmt::format(
        "{}: found a JSON file, expected a results file; to run the sweep name one for its results with --out",
        one_line(file))};
}

/// Prints and exports what is in a results file.
int tell(std::string const& path, SweepOptions const& options, Effort const& effort) {
  auto exports = exports_of(options, {path});
  auto results = ResultsFile{path};
  auto const outcome = summarize(results);
  if (options.csv) exports.write(*options.csv, [&](std::ostream& out) { export_csv(results, out); });
  if (options.jsonl) exports.write(*options.jsonl, [&](std::ostream& out) { export_json_lines(results, out); });
  print(options.as_json ? outcome_json(outcome, effort) : outcome_text(outcome, effort));
  exports.commit();
  return kDone;
}

/// Runs the sweep and says what it came to.
int run(Leader& leader, SweepOptions const& options, MpiJob* job) {
  auto const began = Clock::now();
  leader.run(job);
  if (!leader.is_complete()) {
    complain(fmt::format("interrupted; what was answered is in {}: go on with the same command and --resume",
                         one_line(*options.out)));
    return kInterrupted;
  }
  return tell(*options.out, options,
              {.asked = leader.asked(),
               .wall = Seconds{std::chrono::duration<double>(Clock::now() - began).count()},
               .jobs = jobs_of(options, job),
               .processes = job == nullptr ? 1 : job->size()});
}

/// The others would wait for a process that fails: it says why and ends them all.
int or_end_all(MpiJob& job, std::function<int()> const& action) {
  try {
    return action();
  } catch (InputError const& error) {
    complain(error.what());
    job.abort(kInputWrong);
  } catch (std::exception const& error) {
    complain(fmt::format("this is a bug in twinstep: {}", error.what()));
    job.abort(kOurBug);
  }
}

/// What is wrong before anything began, process 0 says alone, and before the others leave: once one has left with a
/// code that is not 0, mpirun ends the rest.
int lead(SweepOptions const& options, MpiJob& job) {
  auto leader = std::unique_ptr<Leader>{};
  try {
    leader = std::make_unique<Leader>(options);
  } catch (InputError const& error) {
    complain(error.what());
    return job.agreed(kInputWrong);
  } catch (...) {
    static_cast<void>(job.agreed(kInputWrong));
    throw;
  }
  static_cast<void>(job.agreed(kDone));
  auto const code = or_end_all(job, [&] { return run(*leader, options, &job); });
  if (code == kInterrupted) job.abort(code);  // some of the others may be gone already
  return code;
}

int follow(SweepOptions const& options, MpiJob& job) {
  std::signal(SIGINT, SIG_IGN);  // of the terminal: process 0 ends the sweep
  if (auto const code = job.agreed(kDone); code != kDone) return code;
  return or_end_all(job, [&] {
    auto const sweep = Sweep{options.sweep};
    auto const evaluator = Evaluator{sweep, run_options(options)};
    sweep::follow(job, evaluator, jobs_of(options, &job));
    return int{kDone};
  });
}

}  // namespace

int run_sweep(SweepOptions const& options) {
  if (options.out && options.out->empty())
    throw InputError{"--out \"\": found an empty name, expected a file; name one"};
  if (!options.out) {
    check_is_no_sweep(options.sweep);
    return tell(options.sweep, options, {});
  }
  if (auto const obstacle = why_not_together(environment)) throw InputError{*obstacle};
  auto const job = is_started_by_mpi(environment) ? MpiJob::join() : nullptr;
  if (job == nullptr || job->size() == 1) {
    auto leader = Leader{options};
    return run(leader, options, nullptr);
  }
  return job->rank() == 0 ? lead(options, *job) : follow(options, *job);
}

}  // namespace twinstep::app
