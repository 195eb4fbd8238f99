#pragma once

// Optimisers are values with two functions, as in Optax: `init(parameters)` gives a state, `update(gradient,
// state)` the change to add and the next state. Parameters, gradients and changes are trees of one type.
//
//   Adam optimizer{.learning_rate = 1e-2};
//   auto state = optimizer.init(model);
//   auto step = jit([&](const Model& m, const AdamState<Model>& s) {
//     auto [change, next] = optimizer.update(grad(loss)(m), s);
//     return std::pair{apply_updates(m, change), next};
//   });

#include <utility>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

namespace detail {
/// Zeros like the floating leaves; the others become empty, as in a gradient.
inline Array zero_moment(const Array& x) { return is_inexact(x.dtype()) ? zeros_like(x) : Array(); }

enum class OptionRange : std::uint8_t { Finite, NotNegative, Fraction };
/// Throws if an option whose value is known is out of its range.
void check_option(const char* optimizer, const char* name, const Array& value, OptionRange range, Loc loc);
}  // namespace detail

/// parameters + change, leaf by leaf; where the change is empty the parameter stays. Keeps the parameters'
/// dtypes.
template <class P>
P apply_updates(const P& parameters, const P& change, Loc loc = Loc::here()) {
  return tree_map([](const Array& p, const Array& c) { return c.is_empty() ? p : p + astype(c, p.dtype()); },
                  parameters, change, loc);
}

/// What `Sgd` keeps between updates.
template <class P>
struct SgdState {
  P trace;  ///< zeros without momentum
};

/// Stochastic gradient descent, with momentum if it is not zero.
struct Sgd {
  Array learning_rate = 1e-3;  ///< finite
  Array momentum = 0.;         ///< at least 0, less than 1
  bool nesterov = false;

  /// Throws if an option is out of its range.
  template <class P>
  SgdState<P> init(const P& parameters, Loc loc = Loc::here()) const {
    detail::check_option("Sgd", "learning_rate", learning_rate, detail::OptionRange::Finite, loc);
    detail::check_option("Sgd", "momentum", momentum, detail::OptionRange::Fraction, loc);
    return {tree_map(detail::zero_moment, parameters)};
  }
  template <class P>
  std::pair<P, SgdState<P>> update(const P& gradient, const SgdState<P>& state, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    P trace =
        tree_map([&](const Array& g, const Array& t) { return g + momentum * t; }, gradient, state.trace);
    P direction =
        nesterov ? tree_map([&](const Array& g, const Array& t) { return g + momentum * t; }, gradient, trace)
                 : trace;
    return {tree_map([&](const Array& d) { return -learning_rate * d; }, direction), {trace}};
  }
};

/// What `Adam` keeps between updates.
template <class P>
struct AdamState {
  Array count;  ///< i64: updates so far
  P mean, square;
};

/// Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
struct Adam {
  Array learning_rate = 1e-3;  ///< finite
  Array b1 = 0.9, b2 = 0.999;  ///< at least 0, less than 1
  Array eps = 1e-8;            ///< at least 0

  /// Throws if an option is out of its range.
  template <class P>
  AdamState<P> init(const P& parameters, Loc loc = Loc::here()) const {
    detail::check_option("Adam", "learning_rate", learning_rate, detail::OptionRange::Finite, loc);
    detail::check_option("Adam", "b1", b1, detail::OptionRange::Fraction, loc);
    detail::check_option("Adam", "b2", b2, detail::OptionRange::Fraction, loc);
    detail::check_option("Adam", "eps", eps, detail::OptionRange::NotNegative, loc);
    P zero = tree_map(detail::zero_moment, parameters);
    return {array(std::int64_t{0}), zero, zero};
  }
  template <class P>
  std::pair<P, AdamState<P>> update(const P& gradient, const AdamState<P>& state,
                                    Loc loc = Loc::here()) const {
    const LocScope place(loc);
    Array count = state.count + 1;
    P mean =
        tree_map([&](const Array& g, const Array& m) { return (1 - b1) * g + b1 * m; }, gradient, state.mean);
    P square = tree_map([&](const Array& g, const Array& v) { return (1 - b2) * (g * g) + b2 * v; }, gradient,
                        state.square);
    // The means started from zero: undo that bias.
    P change = tree_map(
        [&](const Array& m, const Array& v) {
          Array unbiased = m / astype(1 - pow(b1, count), m.dtype()),
                scale = v / astype(1 - pow(b2, count), v.dtype());
          return -learning_rate * unbiased / (sqrt(scale) + eps);
        },
        mean, square);
    return {change, {count, mean, square}};
  }
};

}  // namespace apsis
