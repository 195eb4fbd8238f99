// Roots of polynomials, by eigenvalues.

#include <limits>

#include "apsis/array/calculus.hpp"
#include "apsis/array/creation.hpp"
#include "apsis/array/index.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/sort.hpp"
#include "array/linalg_support.hpp"
#include "array/messages.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// The eigenvalues of the companion matrix.
Array all_roots(const Array& p) {
  const std::int64_t n = p.size() - 1;
  if (n < 1) return zeros({0}, complex(zeros_like(real(p)), zeros_like(real(p))).dtype());
  const Array first = expand_dims(-part(p, 0, 1, n + 1) / part(p, 0, 0, 1), 0);
  return linalg::eigvals(concatenate({first, eye(n - 1, n, 0, p.dtype())}, 0));
}

}  // namespace

Array roots(const Array& p, const RootsOptions& options, Loc loc) {
  const LocScope place(loc);
  check_rank("roots", p.ndim() == 1, "one axis", p);
  const Array x = inexact(p);
  const std::int64_t n = x.size();
  if (n < 2) return all_roots(x);
  const Array zero = stop_gradient(x) == 0;
  const Array leading = where(all(zero), n, argmin(zero));
  if (options.strip_zeros) {
    const Array known = concrete_value(leading);
    if (known.is_empty()) fail(messages::array_traced, {"roots", "{.strip_zeros = false}"});
    return all_roots(part(x, 0, known.item<std::int64_t>(), n));
  }
  // Leading zeros become trailing ones, whose roots are 0, and go behind the others.
  const Array full = where(leading == n, ones_like(x), x);
  const Array turned = take(full, (arange(n) + leading) % n, 0);
  const Array found = all_roots(turned);
  const Array ordered = take(found, argsort(astype(stop_gradient(found) == 0, i32)), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array none = complex(full_like(real(ordered), nan), full_like(real(ordered), nan));
  return where(arange(n - 1) < n - 1 - leading, ordered, none);
}

Array trim_zeros(const Array& x, TrimSide side, Loc loc) {
  const LocScope place(loc);
  check_rank("trim_zeros", x.ndim() == 1, "one axis", x);
  const Array known = concrete_value(x != 0);
  if (known.is_empty()) fail(messages::array_traced, {"trim_zeros", "constants"});
  const auto kept = known.to_vector<bool>();
  std::int64_t first = 0, end = x.size();
  while (end > first && !kept[static_cast<std::size_t>(end - 1)]) --end;
  while (first < end && !kept[static_cast<std::size_t>(first)]) ++first;
  if (end == first) return part(x, 0, 0, 0);
  return part(x, 0, side == TrimSide::Back ? 0 : first, side == TrimSide::Front ? x.size() : end);
}

}  // namespace apsis
