#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"
#include "ir/graph.hpp"

using namespace apsis;

namespace {

const Array x2 = array({1., 2.});
const auto square_ = [](const Array& x) { return x * x; };
const auto solve = [](const auto& map, const Array& b) { return b / map(ones_like(b)); };

}  // namespace

APSIS_PROVOKES(
    custom_captured,
    "[custom_jvp] the function uses a value from outside that is differentiated, but the rule covers "
    "its arguments only; pass the value as an argument",
    grad([](const Array& a) {
      auto f = custom_jvp([&](const Array& x) { return a * x; },
                          [](const Array& x, const Array& dx) {
                            return std::pair{x, dx};
                          });
      return f(a);
    })(array(1.)))

APSIS_PROVOKES(
    custom_result,
    "[custom_jvp] the tangent of result 0 is f64[] by the rule, but must be f64[2]; return what the "
    "function itself returns, and derivatives like what they are of",
    jvp(custom_jvp(square_,
                   [](const Array& x, const Array& dx) {
                     return std::pair{x * x, sum(dx)};
                   }),
        x2, x2))

APSIS_PROVOKES(
    custom_count,
    "[custom_vjp] the rule returned 0 arrays as results of the forward rule, expected 1: its results "
    "must be structured like the function's",
    grad([](const Array& x) {
      auto f = custom_vjp([](const Array& a) { return std::vector{a}; },
                          [](const Array&) {
                            return std::pair{std::vector<Array>{}, Array()};
                          },
                          [](const Array&, const std::vector<Array>& ct) { return ct[0]; });
      return f(x)[0];
    })(array(1.)))

APSIS_PROVOKES(
    custom_vjp_forward,
    "[custom_vjp] forward mode (jvp, jacfwd) cannot go through a function that has a reverse-mode rule "
    "only; use grad or jacrev, or give it a custom_jvp, which serves both",
    jacfwd(custom_vjp(
        square_,
        [](const Array& x) {
          return std::pair{x * x, x};
        },
        [](const Array& x, const Array& ct) { return 2. * x * ct; }))(x2))

APSIS_PROVOKES(
    implicit_result,
    "[custom_linear_solve] the map's result must be like the right side: array 0 is f64[], expected "
    "f64[2]",
    custom_linear_solve([](const Array& x) { return sum(x); }, x2, solve))

APSIS_PROVOKES(
    no_adjoint_solve,
    "[custom_linear_solve] reverse mode solves with the transposed map: give a transpose_solve, or "
    "{.symmetric = true} if the map is its own transpose",
    grad([](const Array& b) {
      return sum(custom_linear_solve([](const Array& x) { return 2. * x; }, b, solve));
    })(x2))

APSIS_PROVOKES(linear_argument,
               "[linear_transpose] argument 0 is i64[], but a linear function takes floating "
               "arrays; capture the others",
               linear_transpose([](const Array& x) { return 2 * x; }, array(std::int64_t{1})))

APSIS_PROVOKES(
    not_linear,
    "[mul] is not linear in its operands together, so it has no transpose; multiply what is linear by "
    "constants only",
    grad(custom_jvp([](const Array& x) { return x; },
                    [](const Array& x, const Array& dx) {
                      return std::pair{x, dx * dx};
                    }))(array(1.)))

APSIS_PROVOKES(
    custom_late_capture,
    "[custom_jvp] the rule uses a traced value from outside (f64[]) that it does not use when all inputs "
    "are differentiated or mapped; pass it as an argument of the function",
    jit([](const Array& outer) {
      auto f = custom_jvp([](const Array& x, const Array& y) { return x + y; },
                          [outer](const std::tuple<Array, Array>& at, const std::tuple<Array, Array>& move) {
                            auto [x, y] = at;
                            auto [dx, dy] = move;
                            return std::pair{x + y, dy.is_empty() ? outer * dx : dx + dy};
                          },
                          symbolic_zeros);
      return grad([&](const Array& x) { return f(x, 1.); })(outer);
    })(array(1.)))

APSIS_PROVOKES_WITHOUT_PLACE(
    checkpoint_text,
    "[checkpoint] the policy is a C++ function (.when), which text cannot hold; give the values names "
    "by checkpoint_name and keep them by .names",
    detail::parse_graph(
        lower(checkpoint(square_, {.when = [](const Saveable&) { return true; }}), x2).text()))
