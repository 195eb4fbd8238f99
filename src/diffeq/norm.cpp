#include "diffeq/norm.hpp"

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

/// How many elements of a leaf count, as its bound says: an f64, of the program where the bound is.
Array counted(const Array& atol, const Shape& shape) {
  const Array known = concrete_value(atol);
  const auto count = [&](const Array& bound) {
    return sum(astype(broadcast_to(isfinite(bound), shape), Dtype::F64));
  };
  if (known.is_empty()) return count(stop_gradient(atol));
  TraceScope now(nullptr);
  return count(known);
}

}  // namespace

Array mean_square(std::span<const Array> leaves) {
  Array total = sum(leaves[0] * leaves[0]);
  std::int64_t count = leaves[0].size();
  for (const Array& a : leaves.subspan(1)) {
    total = total + sum(a * a);
    count += a.size();
  }
  return count == 0 ? total : total * (1. / static_cast<double>(count));
}

Array error_square(const Tolerances& tolerances, std::span<const Array> errors) {
  if (tolerances.norm.is_set()) {
    const Array size = tolerances.norm(errors);
    if (size.is_empty() || size.ndim() != 0 || !is_floating(size.dtype()))
      fail(messages::error_norm, {size.is_empty() ? "nothing" : to_string(size.aval())});
    return size * size;
  }
  double elements = 0, all = 0;
  Array total, more;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const Array count = counted(tolerances.atol.of(i), errors[i].shape());
    all += static_cast<double>(errors[i].size());
    const bool known = is_concrete(count);
    if (known && count.item<double>() == 0) continue;
    const Array part = sum(errors[i] * errors[i]);
    total = total.is_empty() ? part : total + part;
    if (known)
      elements += count.item<double>();
    else
      more = more.is_empty() ? count : more + count;
  }
  if (elements == all && all > 0) return mean_square(errors);
  if (total.is_empty()) return zeros({}, errors[0].dtype());
  if (more.is_empty()) return total * (1. / elements);
  return total / astype(maximum(more + elements, 1.), total.dtype());
}

Array rms_norm(std::span<const Array> leaves) { return sqrt(mean_square(leaves)); }

Array all_finite(std::span<const Array> leaves) {
  Array finite = all(isfinite(leaves[0]));
  for (const Array& a : leaves.subspan(1)) finite = finite && all(isfinite(a));
  return finite;
}

}  // namespace apsis::detail
