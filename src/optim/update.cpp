#include "apsis/optim/update.hpp"

#include "optim/support.hpp"

namespace apsis::optim::detail {

Array added(const Array& p, const Array& change) {
  return change.is_empty() ? p : p + astype(change, p.dtype());
}

Array blended(const Array& fresh, const Array& old, const Array& step_size) {
  if (old.is_empty() || !is_inexact(fresh.dtype())) return fresh;
  return like(step_size, fresh) * fresh + like(1 - step_size, old) * old;
}

Array at_period(const Array& fresh, const Array& old, const Array& steps, std::int64_t period) {
  if (period < 1)
    fail(messages::optimizer_option, {"periodic_update", "period", std::to_string(period), "1 or more"});
  return where(steps % period == 0, fresh, old);
}

Array norm_of(const std::vector<Array>& leaves) {
  Array total = 0.;
  for (const Array& x : leaves)
    if (!x.is_empty() && is_inexact(x.dtype())) total = total + sum(square(x));
  return sqrt(total);
}

}  // namespace apsis::optim::detail
