// What the solvers share.
#pragma once

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/cond.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/solve/solver.hpp"
#include "apsis/tree/walk.hpp"
#include "solve/messages.hpp"

namespace apsis {
class LinearOperator;
}

namespace apsis::detail {

/// A number as errors show it.
inline std::string to_text(double x) {
  std::string text;
  print_floating(text, x, false);
  return text;
}
/// The size of an operator as errors show it: `3 × 2`.
std::string size_of(const LinearOperator& a);
/// `3 × 2 (f64)`.
std::string size_and_dtype(const LinearOperator& a);
/// Throws unless a vector can become this dtype, an operator's, without a loss.
void check_operand(const char* where, const char* name, const Array& x, Dtype dtype, Loc loc);

inline constexpr double no_limit = std::numeric_limits<double>::infinity();
/// Of options that have to be finite.
inline constexpr double largest_option = 1e300;

inline Array code_of(NonlinearResult result) { return array(static_cast<std::int64_t>(result)); }
/// The code where the condition holds, otherwise 0.
inline Array code_if(const Array& condition, NonlinearResult result) {
  return where(condition, code_of(result), std::int64_t{0});
}
inline Array count_of(std::int64_t n) { return array(n); }
/// Throws for a negative one, or NaN.
void check_tolerances(const NonlinearProblem& p, double rtol, double atol);
/// The largest element's size; 0 of none.
Array largest(const Array& x);
/// A power of two near it, by which numbers are divided whose squares may overflow or vanish; 1 where there
/// is none. No variable: it has no derivative.
Array unit_of(const Array& x);
/// |x|, where squares overflow or vanish, too.
Array safe_norm(const Array& x);
/// Whether every |change| is within atol + rtol |y|.
Array within(const NonlinearProblem& p, const Array& change, const Array& y, double rtol, double atol);

/// For iterations that converge linearly: what is left to go is the last change times ρ / (1 - ρ), ρ being
/// the rate of the last two changes (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).
class Rate {
 public:
  Rate(const Array& size, const Array& size_before);
  Array left_of(const Array& change) const;

 private:
  Array factor_;
};

/// A step along a direction that lowers the loss enough (Armijo's rule; Nocedal and Wright, equation 3.4).
struct LineStep {
  Array y, value, length, accepted, evaluations;
  Array promised;  // by how much the loss would fall along its tangent in the first step
};
LineStep search_line(const NonlinearProblem& p, const Array& y, const Array& value, const Array& gradient,
                     const Array& direction, const Array& first_length);
/// What all solvers for minima do after a line search. The first of their state is the gradient. A search
/// that finds nothing is a failure along the `steepest` direction alone; otherwise solvers begin anew with
/// that.
Iterate after_line_search(const NonlinearProblem& p, const Iterate& it, const LineStep& step,
                          const Array& gradient, double gtol, const Array& steepest,
                          std::vector<Array> state);
/// Where a solver for minima begins: the iterate with this loss and gradient.
Iterate first_minimum(const NonlinearProblem& p, const Array& y, const Array& value, const Array& gradient,
                      double gtol, std::vector<Array> state);
/// The gradient, but 0 where a bound holds.
Array free_part(const NonlinearProblem& p, const Array& y, const Array& gradient, const Array& vector);

}  // namespace apsis::detail
