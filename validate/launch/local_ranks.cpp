#include "validate/launch/local_ranks.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds{5};  // for the others to end by themselves
constexpr int kFailed = 2;

[[noreturn]] void fail(std::string const& what) {
  throw InputError{fmt::format("{}: {}; start fewer processes", what, std::strerror(errno))};
}

}  // namespace

// LocalRanks::Others holds a TemporaryFolder and Children, so these are as visible as it is.

/// A folder of its own, gone at the end of this object, or of the process, however that ends: another process, which
/// no signal of a terminal reaches, waits for it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "twinstep-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(fmt::format("the temporary folder {}", one_line(name)));
    path_ = name;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      keeper_ = ::fork();
      if (keeper_ == 0) keep(ends);
      ::close(ends[0]);
      life_ = ends[1];
    }
    if (keeper_ > 0) return;
    auto const reason = errno;
    remove();
    errno = reason;
    fail("another process");
  }
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  /// The life of the process that waits: until nobody holds the other end of the pipe.
  [[noreturn]] void keep(int const (&ends)[2]) const {
    ::setsid();
    ::close(ends[1]);
    for (auto const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    char nothing = 0;
    while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    auto error = std::error_code{};
    std::filesystem::remove_all(path_, error);
    ::_exit(0);
  }

  void remove() const {
    auto error = std::error_code{};
    std::filesystem::remove_all(path_, error);
    if (life_ >= 0) ::close(life_);
    if (keeper_ <= 0) return;
    ::kill(keeper_, SIGKILL);
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::filesystem::path path_;
  pid_t keeper_ = -1;
  int life_ = -1;
};

namespace {

/// The life of a forked process: it never returns to what its parent was doing.
[[noreturn]] void live(Launch const& launch, std::function<void(Launch const&)> const& body, pid_t parent, int reason) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);  // it died before it could be asked for
  auto code = 0;
  try {
    body(launch);
  } catch (std::exception const& error) {
    code = kFailed;
    if (::write(reason, error.what(), std::strlen(error.what())) < 0) code = kFailed + 1;  // it has nobody to tell
  } catch (...) {
    code = kFailed;
  }
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

/// A forked process, which does not outlive this object.
class Child {
 public:
  Child(Launch const& launch, std::function<void(Launch const&)> const& body) : process_{launch.process} {
    int ends[2];
    if (::pipe(ends) != 0) fail("a pipe to another process");
    auto const parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      live(launch, body, parent, ends[1]);
    }
    ::close(ends[1]);
    reason_ = ends[0];
    if (pid_ < 0) fail("another process");
  }
  Child(Child&& other) noexcept
      : process_{other.process_}, pid_{std::exchange(other.pid_, -1)}, reason_{std::exchange(other.reason_, -1)} {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ > 0) end(Clock::now());
    if (reason_ >= 0) ::close(reason_);
  }

  /// How it ended. Both are empty if it did its work, or was killed here.
  struct End {
    std::string killed_by;
    std::string failed_because;
  };
  /// Waits for its end, and kills it at `deadline`.
  End end(Clock::time_point deadline) {
    auto text = std::string{};
    auto const is_over = read_reason(text, deadline);
    if (!is_over) ::kill(pid_, SIGKILL);
    auto status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (!is_over) return {};
    if (WIFSIGNALED(status))
      return {fmt::format("rank {} was killed by signal {} ({})", process_, WTERMSIG(status),
                          ::strsignal(WTERMSIG(status))),
              ""};
    return {"", WEXITSTATUS(status) == 0 ? "" : fmt::format("rank {}: {}", process_, text)};
  }

 private:
  /// Whether it closed its end of the pipe, as a process does that ends, before `deadline`.
  bool read_reason(std::string& text, Clock::time_point deadline) const {
    while (true) {
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      auto waiting = ::pollfd{.fd = reason_, .events = POLLIN, .revents = 0};
      auto const ready = ::poll(&waiting, 1, static_cast<int>(std::max(left, std::chrono::milliseconds{0}).count()));
      if (ready == 0) return false;
      char part[512];
      auto const count = ::read(reason_, part, sizeof part);
      if (count == 0) return true;
      if (count > 0) text.append(part, static_cast<std::size_t>(count));
    }
  }

  int process_;
  pid_t pid_ = -1;
  int reason_ = -1;
};

class LocalRanks::Others {
 public:
  Others(int processes, Body const& body)
      : launch_{.process = 0, .processes = processes, .local_process = 0, .job = "", .meeting_place = folder_.path()} {
    std::fflush(nullptr);  // or the others would print it again
    for (auto process = 1; process < processes; ++process) {
      auto theirs = launch_;
      theirs.process = theirs.local_process = process;
      children_.emplace_back(theirs, body);
    }
  }

  [[nodiscard]] Launch const& launch() const { return launch_; }

  void join(std::exception_ptr const& failure) {
    // Whoever was killed is the cause; who failed has told the others, and this one speaks for it.
    auto const deadline = Clock::now() + kGrace;
    auto first = Child::End{};
    for (auto& child : children_) {
      auto end = child.end(deadline);
      if (first.killed_by.empty()) first.killed_by = std::move(end.killed_by);
      if (first.failed_because.empty()) first.failed_because = std::move(end.failed_because);
    }
    children_.clear();
    if (!first.killed_by.empty()) throw InputError{first.killed_by};
    if (failure) std::rethrow_exception(failure);
    if (!first.failed_because.empty()) throw InputError{first.failed_because};
  }

 private:
  TemporaryFolder folder_;
  Launch launch_;
  std::vector<Child> children_;
};

LocalRanks::LocalRanks(int processes, Body const& body) : others_{std::make_unique<Others>(processes, body)} {}
LocalRanks::~LocalRanks() = default;

Launch const& LocalRanks::launch() const {
  return others_->launch();
}

void LocalRanks::join(std::exception_ptr const& failure) {
  others_->join(failure);
}

void run_local_ranks(int processes, LocalRanks::Body const& body) {
  auto others = LocalRanks{processes, body};
  auto failure = std::exception_ptr{};
  try {
    body(others.launch());
  } catch (...) {
    failure = std::current_exception();
  }
  others.join(failure);
}

}  // namespace twinstep::launch
