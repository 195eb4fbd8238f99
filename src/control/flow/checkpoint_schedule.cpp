#include "control/flow/checkpoint_schedule.hpp"

#include <algorithm>

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

// C(states + r, r) for the smallest r at which it is no less than `steps`.
struct Reach {
  Array r, binomial;
};

Array quotient(const Array& a, const Array& b) { return floor_divide(a, b); }

}  // namespace

Array steps_to_next(const Array& steps, const Array& states) {
  Reach reach = while_loop([&](const Reach& a) { return a.binomial < steps; },
                           [&](const Reach& a) {
                             Array r = a.r + 1;
                             return Reach{r, quotient(a.binomial * (states + r), r)};
                           },
                           Reach{lax::full({}, Dtype::I64, 0), lax::full({}, Dtype::I64, 1)});
  const Array &r = reach.r, &b = reach.binomial;
  Array once_less = quotient(b * r, states + r);                               // C(states + r - 1, r - 1)
  Array twice_less = quotient(once_less * maximum(r - 1, 0), states + r - 1);  // C(states + r - 2, r - 2)
  Array fewer_states = quotient(b * states, states + r);                       // C(states + r - 1, r)
  return maximum(1, maximum(twice_less, steps - fewer_states));
}

std::vector<std::int64_t> first_kept(std::int64_t length, std::int64_t states) {
  std::vector<std::int64_t> kept;
  for (std::int64_t at = 0, left = length, s = states; left > 0 && s > 0; --s) {
    kept.push_back(at);
    if (left == 1 || s == 1) break;
    std::int64_t r = 0, b = 1;
    while (b < left) ++r, b = b * (s + r) / r;
    const std::int64_t once = b * r / (s + r), twice = r < 2 ? 0 : once * (r - 1) / (s + r - 1);
    const std::int64_t go = std::max({std::int64_t{1}, twice, left - b * s / (s + r)});
    at += go;
    left -= go;
  }
  return kept;
}

Array place_of_kept(const Array& index, const Array& stride, std::int64_t states) {
  struct Place {
    Array at, stride;
  };
  // When the stride doubles, state 2i stays where it is, and the new state states/2 + i takes the place of 2i
  // + 1.
  return while_loop([](const Place& p) { return p.stride > 1; },
                    [&](const Place& p) {
                      Array twice = 2 * p.at;
                      return Place{where(twice < states, twice, twice - states + 1), quotient(p.stride, 2)};
                    },
                    Place{index, stride})
      .at;
}

}  // namespace apsis::detail
