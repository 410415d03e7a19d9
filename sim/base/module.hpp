#pragma once

#include <stdexcept>
#include <string_view>

namespace twinstep {

/// What was asked for needs something that this machine or this build lacks: a GPU, MPI, a solver. One line that begins
/// with "found no …" and ends with the way out; the program exits with 3.
class Absent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A part of the program that few questions need and that stands on large libraries. It lies beside the program and is
/// loaded where it is asked for, so that nothing else waits for its libraries or needs them.
struct Module {
  char const* file;           ///< "libtwinstep_mpi.so", in the program's folder
  char const* function;       ///< the one that it offers, extern "C"
  std::string_view is_for;    ///< what is not there without it: "solver for fits"
  std::string_view packages;  ///< what it stands on: "Ceres (libceres-dev)"
};

/// The module's function. It stays loaded until the process ends, as libraries may have threads of their own. Throws
/// Absent where the module was not built, and where its libraries are not installed.
[[nodiscard]] void* load(Module const& module);

template <class Function>
[[nodiscard]] Function* function_of(Module const& module) {
  return reinterpret_cast<Function*>(load(module));
}

}  // namespace twinstep

/// Before the definition of a module's function.
#define TWINSTEP_MODULE_FUNCTION extern "C" __attribute__((visibility("default")))
