#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

namespace twinstep::explore::sweep {

/// Which file a name leads to.
struct FileIdentity {
  dev_t device{};
  ino_t inode{};

  bool operator==(FileIdentity const&) const = default;
};

/// Nothing where there is no such file.
[[nodiscard]] std::optional<FileIdentity> identity_of(std::string const& path);

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

}  // namespace twinstep::explore::sweep
