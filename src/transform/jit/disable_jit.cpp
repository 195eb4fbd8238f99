#include "apsis/transform/disable_jit.hpp"

#include "runtime/region.hpp"

namespace apsis {

DisableJit::DisableJit() : previous_(static_cast<unsigned char>(detail::run_mode)) {
  detail::run_mode = detail::RunMode::Direct;
}
DisableJit::~DisableJit() { detail::run_mode = static_cast<detail::RunMode>(previous_); }

}  // namespace apsis
