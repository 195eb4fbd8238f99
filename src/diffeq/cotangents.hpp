#pragma once

// Derivatives that are not those of the loop, and cotangents of the leaves of a solve: those of integers stay
// empty, and empty ones are zeros.

#include <tuple>
#include <utility>
#include <vector>

#include "apsis/control/custom.hpp"
#include "apsis/core/array.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {

using Arrays = std::vector<Array>;

inline Arrays zeros_of(const Arrays& like) {
  Arrays zeros;
  for (const Array& a : like) zeros.push_back(is_floating(a.dtype()) ? zeros_like(a) : Array());
  return zeros;
}
/// a + b, where empty arrays are zeros that stay.
inline Arrays sum_of(Arrays a, const Arrays& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty() && !b[i].is_empty()) a[i] = a[i] + b[i];
  return a;
}
/// Cotangents, zeros where there are none.
inline Arrays there(Arrays cotangents, const Arrays& like) {
  for (std::size_t i = 0; i < like.size(); ++i)
    if (cotangents[i].is_empty()) cotangents[i] = zeros_like(like[i]);
  return cotangents;
}
inline Arrays only_values(Arrays values) {
  for (Array& a : values) a = stop_gradient(a);
  return values;
}

/// What a solve gives that has derivatives.
struct SolveResult {
  Arrays saved, y;
};

/// Gives the result of a solve, which is in `made`, the derivatives by `given` that the way back computes:
/// `back(pair of given and made, cotangents of the result)`.
template <class Given, class Made>
void derive_by(std::tuple<Given, Made> (*back)(const std::pair<Given, Made>&, const SolveResult&),
               const Given& given, const Made& made, LoopState& end) {
  const auto results = custom_vjp(
      [](const Given&, const Made& m) {
        return SolveResult{m.saved, m.y};
      },
      [](const Given& g, const Made& m) {
        return std::pair(SolveResult{m.saved, m.y}, std::pair(g, m));
      },
      back)(given, made);
  end.saved[0].ys = results.saved;
  end.y = results.y;
}

}  // namespace apsis::detail
