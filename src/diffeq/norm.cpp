#include "diffeq/norm.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"

namespace apsis::detail {

Array mean_square(std::span<const Array> leaves) {
  Array total = sum(leaves[0] * leaves[0]);
  std::int64_t count = leaves[0].size();
  for (const Array& a : leaves.subspan(1)) {
    total = total + sum(a * a);
    count += a.size();
  }
  return count == 0 ? total : total * (1. / static_cast<double>(count));
}

Array rms_norm(std::span<const Array> leaves) { return sqrt(mean_square(leaves)); }

Array all_finite(std::span<const Array> leaves) {
  Array finite = all(isfinite(leaves[0]));
  for (const Array& a : leaves.subspan(1)) finite = finite && all(isfinite(a));
  return finite;
}

}  // namespace apsis::detail
