#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "explore/sweep/database.hpp"
#include "explore/sweep/layout.hpp"
#include "explore/sweep/results.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::explore::sweep {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr auto kCommitsEvery = std::chrono::milliseconds{500};

/// Which file a name leads to.
struct FileIdentity {
  dev_t device{};
  ino_t inode{};

  bool operator==(FileIdentity const&) const = default;
};

/// Nothing where there is no such file.
std::optional<FileIdentity> identity_of(std::string const& path) {
  struct stat named {};
  if (stat(path.c_str(), &named) != 0) return std::nullopt;
  return FileIdentity{named.st_dev, named.st_ino};
}

/// Whether the descriptor still is the file of that name: its last holder may have removed it meanwhile.
bool is_still_there(int descriptor, std::string const& path) {
  struct stat held {};
  return fstat(descriptor, &held) == 0 && identity_of(path) == FileIdentity{held.st_dev, held.st_ino};
}

/// Keeps other processes from working on a file while this object lives: an flock on "FILE-lock" beside it, which the
/// system releases when the process ends, however it ends. The file beside it is removed at the end.
class FileLock {
 public:
  /// Throws InputError where another process holds it, or where the file beside it cannot be made.
  explicit FileLock(std::string const& file);
  FileLock(FileLock const&) = delete;
  FileLock& operator=(FileLock const&) = delete;
  ~FileLock();

 private:
  std::string path_;
  int descriptor_ = -1;
};

FileLock::FileLock(std::string const& file) : path_{file + "-lock"} {
  while (true) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) io::fail_to_write(file, errno);
    auto const is_held = flock(descriptor_, LOCK_EX | LOCK_NB) != 0;
    if (!is_held && is_still_there(descriptor_, path_)) return;
    close(descriptor_);
    if (is_held)
      throw InputError{
          fmt::format("{}: another process writes into it; wait for its end, or name another file", one_line(file))};
  }
}

FileLock::~FileLock() {
  unlink(path_.c_str());
  close(descriptor_);
}

/// What SQLite keeps beside a file. Of one that is gone it would be taken for the next one's.
void remove_what_is_beside(std::string const& path) {
  auto ignored = std::error_code{};
  for (auto const* const ending : {"-wal", "-shm", "-journal"}) fs::remove(path + ending, ignored);
}

/// Makes a results file without rows. It gets its name when it is whole: killed at any moment, there is one or none.
void make_file(std::string const& path, Manifest const& manifest) {
  auto const beginning = path + "-new";
  auto ignored = std::error_code{};
  auto const clear = [&] {
    fs::remove(beginning, ignored);
    remove_what_is_beside(beginning);
  };
  clear();
  remove_what_is_beside(path);
  try {
    auto file = Database{beginning, Database::Access::kWrite};
    make_tables(file, manifest);
    file.execute("PRAGMA journal_mode=WAL");
  } catch (InputError const&) {
    clear();
    throw;
  }
  auto error = std::error_code{};
  fs::rename(beginning, path, error);
  if (!error) return;
  clear();
  io::fail_to_write(path, error.value());
}

/// Takes back what a process began to write and did not end, which nobody who only reads can do.
void roll_back(std::string const& path) {
  if (auto error = std::error_code{}; !fs::exists(path + "-journal", error)) return;
  static_cast<void>(Database{path, Database::Access::kWrite}.first("SELECT 1 FROM sqlite_schema"));
}

/// Numbers of the points in the file. Throws InputError if it is damaged or of another sweep than `wanted`.
std::vector<std::int64_t> points_in(std::string const& path, Manifest const& wanted) {
  auto file = ResultsFile{path};
  if (auto const& found = file.manifest(); found != wanted)
    throw InputError{fmt::format("{}: found results of another sweep: {}; name another file for the results",
                                 one_line(path), difference_of(found, wanted))};
  auto points = std::vector<std::int64_t>{};
  file.for_each_row([&points](Row const& row) { points.push_back(row.point); });
  return points;
}

}  // namespace

struct ResultsWriter::Parts {
  Parts(std::string const& name, Manifest const& its_manifest)
      : path{fs::weakly_canonical(name).string()}, manifest{its_manifest}, lock{path} {
    auto error = std::error_code{};
    if (fs::exists(path, error)) {
      roll_back(path);
      done = points_in(path, manifest);
    } else {
      make_file(path, manifest);
    }
    identity = identity_of(path);
    file.emplace(path, Database::Access::kWrite);
    // What was committed survives the end of this process at any moment; it may be lost with the power.
    file->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    insert.emplace(*file,
                   fmt::format("INSERT INTO points VALUES ({})",
                               fmt::join(std::vector<std::string_view>(column_count(manifest.paths), "?"), ", ")));
  }

  /// Throws InputError if the file's name leads to another file by now, or to none: rows would go nowhere.
  void check_is_there() const {
    if (identity_of(path) == identity) return;
    throw InputError{
        fmt::format("{}: was removed or replaced while the sweep wrote into it; begin again with a file that "
                    "nobody else uses",
                    one_line(path))};
  }

  /// Does something to the file. That it is there no more is said first of all that may go wrong.
  template <class Action>
  void write(Action const& action) {
    check_is_there();
    try {
      action();
    } catch (InputError const&) {
      check_is_there();
      throw;
    }
  }

  void commit() {
    if (is_in_transaction) file->execute("COMMIT");
    is_in_transaction = false;
    committed = Clock::now();
  }

  std::string path;
  Manifest manifest;
  FileLock lock;  // released last
  std::vector<std::int64_t> done;
  std::optional<FileIdentity> identity;
  std::optional<Database> file;
  std::optional<Statement> insert;
  std::int64_t rows = 0;
  bool is_in_transaction = false;
  Clock::time_point committed{};
};

ResultsWriter::ResultsWriter(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}
ResultsWriter::ResultsWriter(ResultsWriter&&) noexcept = default;
ResultsWriter::~ResultsWriter() = default;

ResultsWriter ResultsWriter::create(std::string const& path, Manifest const& manifest) {
  if (auto error = std::error_code{}; fs::is_regular_file(path, error))
    throw InputError{
        fmt::format("{}: is there already; resume that sweep, or name another file for the results", one_line(path))};
  return resume(path, manifest);
}

ResultsWriter ResultsWriter::resume(std::string const& path, Manifest const& manifest) {
  if (io::is_special(path))
    throw InputError{fmt::format("{}: found no regular file; name a new one for the results", one_line(path))};
  return ResultsWriter{std::make_unique<Parts>(path, manifest)};
}

std::vector<std::int64_t> const& ResultsWriter::points_done() const {
  return parts_->done;
}

void ResultsWriter::add(Row const& row) {
  auto& parts = *parts_;
  auto const cells = cells_of(row);
  for (std::size_t i = 0; i < cells.size(); ++i) parts.insert->bind(static_cast<int>(i) + 1, cells[i]);
  parts.write([&parts] {
    if (!parts.is_in_transaction) parts.file->execute("BEGIN IMMEDIATE");
    parts.is_in_transaction = true;
    parts.insert->step();
    ++parts.rows;
    if (Clock::now() - parts.committed > kCommitsEvery) parts.commit();
  });
}

void ResultsWriter::commit() {
  parts_->write([this] { parts_->commit(); });
}

void ResultsWriter::finish() {
  auto& parts = *parts_;
  parts.write([&parts] {
    parts.commit();
    write_finished(*parts.file, static_cast<std::int64_t>(parts.done.size()) + parts.rows);
    parts.insert.reset();
  });
  // Out of WAL mode the file stands alone. Somebody who reads it at this moment only keeps it in that mode.
  try {
    parts.file->execute("PRAGMA journal_mode=DELETE");
  } catch (InputError const&) {
  }
}

}  // namespace twinstep::explore::sweep
