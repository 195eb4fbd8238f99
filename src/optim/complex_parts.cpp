#include "apsis/optim/complex_parts.hpp"

#include "apsis/ops/complex.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {

namespace {
bool is_complex_leaf(const Array& x) { return !x.is_empty() && is_complex(x.dtype()); }
}  // namespace

Array real_part(const Array& x) { return is_complex_leaf(x) ? real(x) : x; }
Array imaginary_part(const Array& x) { return is_complex_leaf(x) ? imag(x) : Array(); }
Array of_parts(const Array& like_, const Array& real_, const Array& imaginary) {
  return is_complex_leaf(like_) ? complex(real_, imaginary) : real_;
}

}  // namespace apsis::optim::detail
