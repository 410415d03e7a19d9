#include "sim/base/module.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#include <fmt/format.h>

namespace twinstep {

void* load(Module const& module) {
  auto error = std::error_code{};
  auto const path = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / module.file;
  if (!std::filesystem::exists(path, error))
    throw Absent{fmt::format("found no {}: this program was built without {}; install it and build all again",
                             module.is_for, module.packages)};
  // OpenBLAS starts a thread a core when it is loaded, and they spin. What runs side by side we divide ourselves.
  static auto const once = setenv("OPENBLAS_NUM_THREADS", "1", 0);
  static_cast<void>(once);
  // Global: MPI loads parts of its own, which look for its symbols.
  auto* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  auto* const function = library == nullptr ? nullptr : dlsym(library, module.function);
  if (function == nullptr)
    throw Absent{fmt::format("found no {} ({}); install {}", module.is_for, dlerror(), module.packages)};
  return function;
}

}  // namespace twinstep
