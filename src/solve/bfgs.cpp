// BFGS on the leaves of a tree, laid out as one vector.

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
#include "apsis/solve/minimize.hpp"
#include "solve/messages.hpp"

namespace apsis::detail {
namespace {

struct State {
  Array x, value, gradient;
  Array inverse_hessian;
  Array steps, result;
};

/// One vector of all leaves, and back.
class Layout {
 public:
  explicit Layout(std::span<const Array> leaves) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!is_floating(leaves[i].dtype()))
        fail(messages::parameter_not_floating, {std::to_string(i), to_string(leaves[i].aval())});
      avals_.push_back(leaves[i].aval());
      dtype_ = i == 0 ? leaves[i].dtype() : promote({dtype_, false}, {leaves[i].dtype(), false}).dtype;
    }
    if (leaves.empty()) fail(messages::no_parameters, {});
  }
  Array pack(std::span<const Array> leaves) const {
    std::vector<Array> parts;
    for (const Array& a : leaves) parts.push_back(astype(ravel(a), dtype_));
    return parts.size() == 1 ? parts[0] : concatenate(parts);
  }
  std::vector<Array> unpack(const Array& x) const {
    std::vector<Array> leaves;
    std::int64_t at = 0;
    for (const Aval& a : avals_) {
      leaves.push_back(astype(reshape(x[range(at, at + a.size())], a.shape()), a.dtype()));
      at += a.size();
    }
    return leaves;
  }

 private:
  std::vector<Aval> avals_;
  Dtype dtype_ = Dtype::F64;
};

constexpr double sufficient_decrease = 1e-4;  // Nocedal and Wright, equation 3.4
constexpr std::int64_t backtracks = 40;
/// Curvatures up to this are none.
double least_curvature(Dtype dtype) { return dtype == Dtype::F64 ? 1e-300 : 0x1p-126; }

}  // namespace

FlatMinimum minimize_flat(const Callee& loss, std::span<const Array> start, const MinimizeOptions& options,
                          Loc loc) {
  const LocScope place(loc);
  if (!(options.gradient_tolerance >= 0))
    fail(messages::minimize_option, {"gradient_tolerance", std::to_string(options.gradient_tolerance)}, loc);
  if (options.max_steps < 0)
    fail(messages::minimize_option, {"max_steps", std::to_string(options.max_steps)}, loc);
  Layout layout(start);
  auto evaluate = [&](const Array& x) {
    std::vector<Array> leaves = layout.unpack(x);
    GradientCall g = gradient_call(loss, leaves, std::vector<bool>(leaves.size(), true), "minimize", loc);
    return std::pair(astype(g.outs[0], x.dtype()), layout.pack(g.gradients));
  };
  auto value_at = [&](const Array& x) { return astype(loss(layout.unpack(x))[0], x.dtype()); };

  Array x0 = layout.pack(start);
  std::int64_t n = x0.size();
  const double least = least_curvature(x0.dtype());
  Array identity = eye(n, n, 0, x0.dtype());
  auto [value0, gradient0] = evaluate(x0);
  constexpr auto failed = static_cast<std::int64_t>(MinimizeResult::LineSearchFailed);
  constexpr auto non_finite = static_cast<std::int64_t>(MinimizeResult::NonFinite);
  Array finite = isfinite(value0) && all(isfinite(gradient0));
  // The first step is about as long as the parameters' own scale, whatever the gradient's.
  Array scale = 1 / maximum(norm(gradient0), 1.);
  State first{x0, value0, gradient0, identity * scale, array(std::int64_t{0}), where(finite, 0, non_finite)};

  State end = while_loop(
      [&](const State& s) {
        return max(abs(s.gradient)) > options.gradient_tolerance && s.steps < options.max_steps &&
               s.result == 0;
      },
      [&](const State& s) {
        Array direction = -matmul(s.inverse_hessian, s.gradient);
        Array slope = dot(direction, s.gradient);
        // Rounding can make the direction one of ascent: start over with the gradient.
        Array downhill = slope < 0;
        direction = where(downhill, direction, -s.gradient * scale);
        slope = where(downhill, slope, dot(direction, s.gradient));

        struct Search {
          Array length, accepted, tries;
        };
        auto good = [&](const Array& length) {
          Array value = value_at(s.x + length * direction);
          return isfinite(value) && value <= s.value + sufficient_decrease * length * slope;
        };
        Array one = astype(array(1.), s.x.dtype());
        Search found = while_loop([](const Search& v) { return !v.accepted && v.tries < backtracks; },
                                  [&](const Search& v) {
                                    Array length = v.length * 0.5;
                                    return Search{length, good(length), v.tries + 1};
                                  },
                                  Search{one, good(one), array(std::int64_t{0})});

        Array step = where(found.accepted, found.length, 0) * direction, x = s.x + step;
        auto [value, gradient] = evaluate(x);
        Array change = gradient - s.gradient, curvature = dot(step, change);
        // The update needs positive curvature; without it the old matrix stays.
        Array update = curvature > least && all(isfinite(gradient));
        Array rho = 1 / where(update, curvature, 1);
        Array fresh = where(s.steps == 0, curvature / maximum(dot(change, change), least), 1.);
        Array base = where(s.steps == 0 && update, identity * fresh, s.inverse_hessian);
        Array left = identity - rho * outer(step, change);
        Array next = matmul(matmul(left, base), transpose(left)) + rho * outer(step, step);
        Array result = where(!found.accepted, failed, where(all(isfinite(gradient)), 0, non_finite));
        return State{x, value, gradient, where(update, next, s.inverse_hessian), s.steps + 1, result};
      },
      first);

  Array largest = max(abs(end.gradient));
  constexpr auto too_many = static_cast<std::int64_t>(MinimizeResult::MaxStepsReached);
  // A line search that fails where the gradient has vanished to rounding has converged all the same.
  Array result =
      where(largest <= options.gradient_tolerance, 0, where(end.result != 0, end.result, too_many));
  return {layout.unpack(end.x), end.value, largest, end.steps, result};
}

}  // namespace apsis::detail
