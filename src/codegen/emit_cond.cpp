#include "codegen/region.hpp"

namespace apsis::detail {
void Region::emit_cond(const Eqn& e) { emit_kernel(e); }
void Region::emit_while(const Eqn& e) { emit_kernel(e); }
void Region::emit_scan(const Eqn& e) { emit_kernel(e); }
}  // namespace apsis::detail
