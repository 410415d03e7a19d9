#include "explore/sweep/distribute.hpp"

#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "explore/sweep/row_codec.hpp"

namespace twinstep::explore::sweep {
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

}  // namespace

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

void work_for(MpiJob& job, Evaluator const& evaluator, int jobs) {
  constexpr auto kPointsPerThread = 4;
  auto correspondence = Correspondence{job, jobs * kPointsPerThread};
  answer_all([&] { return correspondence.next(); }, evaluator,
             [&](Answer const& answer) { correspondence.add(answer); }, jobs);
  correspondence.finish();
}

}  // namespace twinstep::explore::sweep
