#include "apsis/debug/assert_gradients.hpp"

#include <cmath>
#include <functional>

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/transform/grad.hpp"
#include "apsis/transform/jvp.hpp"
#include "debug/assert.hpp"

namespace apsis::detail {
namespace {

using Arrays = std::vector<Array>;
using Function = std::function<Arrays(const Arrays&)>;

struct Check {
  const GradientCheckOptions& options;
  const std::vector<std::string>& results;
  Loc loc;
  double step, tolerance;
  std::int64_t directions = 0;

  /// A random direction: normal in each floating leaf, nothing in the others.
  Arrays direction(const Arrays& like) {
    Arrays made;
    for (const Array& a : like) {
      Array noise;
      if (!a.is_empty() && is_inexact(a.dtype()))
        noise = astype(random::normal(random::fold_in(random::key(options.seed), directions++), a.shape()),
                       a.dtype());
      made.push_back(noise);
    }
    return made;
  }

  static Arrays moved(const Arrays& x, const Arrays& direction, double distance) {
    Arrays out = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!direction[i].is_empty()) out[i] = x[i] + direction[i] * distance;
    return out;
  }

  /// Σ a b over all leaves, in the widest dtype.
  static Array product(const Arrays& a, const Arrays& b) {
    Array total = array(0.);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].is_empty() || b[i].is_empty()) continue;
      const Dtype wide = is_complex(a[i].dtype()) ? c128 : f64;
      total = total + sum(astype(a[i], wide) * astype(b[i], wide));
    }
    return total;
  }

  double near(int order) const { return tolerance * std::pow(10., options.order - order); }

  /// Checks the derivatives of f, and those of its derivatives while `order` is left. `which` says what f is.
  void run(const Function& f, const Arrays& x, int order, const std::string& which) {
    const Arrays v = direction(x);
    const Arrays above = f(moved(x, v, step)), below = f(moved(x, v, -step));
    const Arrays w = direction(above);
    Arrays difference;
    for (std::size_t i = 0; i < above.size(); ++i)
      difference.push_back(w[i].is_empty() ? Array() : (above[i] - below[i]) / (2 * step));
    // The transformations take a function of one tree.
    const auto g = [&f](const Arrays& a) { return f(a); };
    const auto forward = [&g, v](const Arrays& at) { return jvp(g, std::tuple(at), std::tuple(v)).second; };
    const auto reverse = [&g, w](const Arrays& at) { return std::get<0>(vjp(g, at).second(w)); };
    if (options.forward) {
      compare(forward(x), difference, order, which + "forward");
      if (order > 1) run(forward, x, order - 1, which + "forward over ");
    }
    if (options.reverse) {
      // Where f is not holomorphic, the real parts alone are equal.
      compare({real(product(reverse(x), v))}, {real(product(w, difference))}, order, which + "reverse");
      if (order > 1) run(reverse, x, order - 1, which + "reverse over ");
    }
  }

  void compare(const Arrays& found, const Arrays& want, int order, const std::string& mode) const {
    const double atol = options.atol > 0 ? options.atol : near(order),
                 rtol = options.rtol > 0 ? options.rtol : near(order);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i].is_empty()) continue;
      const Dtype wide = is_complex(want[i].dtype()) ? c128 : f64;
      const Array a = astype(found[i], wide), b = astype(want[i], wide);
      const auto error = abs(a - b).to_vector<double>(), size = abs(b).to_vector<double>();
      for (std::size_t k = 0; k < error.size(); ++k) {
        if (error[k] <= atol + rtol * size[k]) continue;
        const bool whole =
            want.size() == 1 || order < options.order;  // a sum over the results, or of derivatives
        fail_assertion("assert_numerical_gradients", options.message,
                       mode + " mode: the derivative " + (whole ? "" : "of " + results[i] + " ") +
                           "along a random direction is " + to_string(a) + ", differences say " +
                           to_string(b),
                       loc);
      }
    }
  }
};

}  // namespace

void assert_numerical_gradients(const Callee& f, std::span<const Array> leaves,
                                const std::vector<std::string>& results, const GradientCheckOptions& options,
                                Loc loc) {
  TraceScope at_once(nullptr);
  const Arrays x(leaves.begin(), leaves.end());
  // The narrowest dtype decides what differences can tell.
  bool narrow = false;
  for (const Array& a : x) {
    if (concrete_value(a).is_empty()) fail(messages::assertion_values, {"assert_numerical_gradients"}, loc);
    narrow |= is_inexact(a.dtype()) && a.dtype() != f64 && a.dtype() != c128;
  }
  Check check{options, results, loc,
              options.step > 0 ? options.step
              : narrow         ? 1e-2
                               : 1e-4,
              narrow ? 2e-2 : 1e-5};
  check.run([&f](const Arrays& a) { return f(a); }, x, options.order, "");
}

}  // namespace apsis::detail
