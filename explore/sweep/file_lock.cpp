#include "explore/sweep/file_lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::explore::sweep {
namespace {

/// Whether the descriptor still is the file of that name: its last holder may have removed it meanwhile.
bool is_still_there(int descriptor, std::string const& path) {
  struct stat held {};
  return fstat(descriptor, &held) == 0 && identity_of(path) == FileIdentity{held.st_dev, held.st_ino};
}

}  // namespace

std::optional<FileIdentity> identity_of(std::string const& path) {
  struct stat named {};
  if (stat(path.c_str(), &named) != 0) return std::nullopt;
  return FileIdentity{named.st_dev, named.st_ino};
}

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

}  // namespace twinstep::explore::sweep
