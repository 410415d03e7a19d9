#include "sim/base/check.hpp"
#include "validate/measure/backends.hpp"

namespace twinstep::measure {

bool has_gloo() {
  return false;
}

std::unique_ptr<Executor> gloo_executor(launch::Launch const& /*launch*/) {
  TWINSTEP_CHECK(has_gloo(), "who asks for Gloo has asked whether there is any");
  return nullptr;
}

}  // namespace twinstep::measure
