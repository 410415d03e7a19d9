#include "sim/base/module.hpp"
#include "validate/measure/backends.hpp"

namespace twinstep::measure {

MakeExecutor load_gloo() {
  auto* const make =
      function_of<Executor*(launch::Launch const&)>({.file = "libtwinstep_gloo.so",
                                                     .function = "twinstep_make_gloo_executor",
                                                     .is_for = "Gloo",
                                                     .packages = "Gloo and OpenBLAS (libgloo-dev, libopenblas-dev)"});
  return [make](launch::Launch const& launch) { return std::unique_ptr<Executor>{make(launch)}; };
}

}  // namespace twinstep::measure
