#pragma once

#include "apsis/debug/assert_value.hpp"
#include "apsis/transform/function.hpp"
#include "apsis/tree/path.hpp"

namespace apsis {

/// Options of `assert_numerical_gradients`.
struct GradientCheckOptions {
  /// Derivatives up to this order.
  int order = 1;
  bool forward = true, reverse = true;
  /// Half the distance of the two points of a difference; 0: by dtype (1e-4 in f64, 1e-2 in f32).
  double step = 0;
  /// Derivative and difference are near when they are within atol + rtol |difference|; 0: by dtype (1e-5 in
  /// f64, 2e-2 in f32), ten times more with each further order.
  double rtol = 0, atol = 0;
  /// Of the random directions.
  std::int64_t seed = 0;
  std::string_view message = {};
};

namespace detail {
void assert_numerical_gradients(const Callee& f, std::span<const Array> leaves,
                                const std::vector<std::string>& results, const GradientCheckOptions& options,
                                Loc loc);
}

/// Throws unless the derivatives of f at these arguments agree with central differences along random
/// directions: forward mode, and reverse mode, of every order up to the given one, mixed. Leaves that are not
/// floating are held. The fields of a callable struct are arguments too. (Griewank and Walther, Evaluating
/// Derivatives, 2nd ed., section 3.)
template <class F, class... A>
void assert_numerical_gradients(const F& f, const std::tuple<A...>& arguments,
                                const GradientCheckOptions& options = {}, Loc loc = Loc::here()) {
  if (!asserts_enabled()) return;
  std::apply(
      [&](const auto&... a) {
        detail::FlatFunction<F, detail::argument_t<A>...> flat(f, a...);
        std::vector<std::string> results;
        flat(flat.leaves());
        for (std::size_t i = 0; i < flat.present().size(); ++i)
          if (flat.present()[i]) results.push_back(leaf_path(flat.prototype(), i, "result"));
        detail::assert_numerical_gradients(detail::callee_of(flat), flat.leaves(), results, options, loc);
      },
      arguments);
}

}  // namespace apsis
