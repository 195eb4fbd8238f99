// The user's function on one vector, its derivatives, and what residuals cost.

#include "solve/problem.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/solve/least_squares.hpp"
#include "apsis/transform/jacobian.hpp"
#include "apsis/transform/jvp.hpp"

namespace apsis::detail {

LeafLayout::LeafLayout(const char* name, std::span<const Array> leaves, const LeafNames& names, Loc loc) {
  if (leaves.empty()) fail(messages::no_unknowns, {name}, loc);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!is_floating(leaves[i].dtype()))
      fail(messages::unknown_not_floating, {name, names(i), to_string(leaves[i].aval())}, loc);
    avals_.push_back(leaves[i].aval());
    dtype_ = i == 0 ? leaves[i].dtype() : promote({dtype_, false}, {leaves[i].dtype(), false}).dtype;
    epsilon_ = std::max(epsilon_, finfo(leaves[i].dtype()).eps);
    size_ += leaves[i].size();
  }
  // Half precision has too few digits for tolerances and factorisations.
  dtype_ = promote({dtype_, false}, {Dtype::F32, false}).dtype;
}
Array LeafLayout::pack(std::span<const Array> leaves) const {
  std::vector<Array> parts;
  for (const Array& a : leaves) parts.push_back(astype(ravel(a), dtype_));
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}
std::vector<Array> LeafLayout::unpack(const Array& x) const {
  std::vector<Array> leaves;
  std::int64_t at = 0;
  for (const Aval& a : avals_) {
    leaves.push_back(astype(reshape(x[range(at, at + a.size())], a.shape()), a.dtype()));
    at += a.size();
  }
  return leaves;
}

Array ProblemParts::values(const Array& y) const {
  const std::vector<Array> out = f(layout.unpack(y));
  std::vector<Array> parts;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!is_floating(out[i].dtype()))
      fail(messages::function_leaf, {call.name, f.results(i), to_string(out[i].aval())}, loc);
    parts.push_back(astype(ravel(out[i]), layout.dtype()));
  }
  Array all = parts.empty() ? zeros({0}, layout.dtype()) : parts.size() == 1 ? parts[0] : concatenate(parts);
  if (call.kind != SolvesFor::LeastSquares && all.size() != layout.size())
    fail(messages::function_size, {call.name, std::to_string(all.size()), std::to_string(layout.size())},
         loc);
  return call.kind == SolvesFor::FixedPoint ? all - y : all;
}

Array bound_vector(const char* name, const char* option, const SolveBound& bound, const LeafLayout& layout,
                   const LeafNames& names, double otherwise, Loc loc) {
  std::vector<Array> given;
  for_each_leaf(bound, [&](const Array& a) {
    if (!a.is_empty()) given.push_back(a);
  });
  if (!bound.is_given()) return full({layout.size()}, otherwise, layout.dtype());
  if (given.size() == 1 && given[0].shape().empty())
    return broadcast_to(astype(given[0], layout.dtype()), {layout.size()});
  if (given.size() != layout.avals().size())
    fail(messages::bound_leaves,
         {name, option, std::to_string(given.size()), std::to_string(layout.avals().size())}, loc);
  std::vector<Array> parts;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Shape& shape = layout.avals()[i].shape();
    const std::size_t rank = given[i].shape().size();
    bool fits = rank <= shape.size();
    for (std::size_t k = 1; fits && k <= rank; ++k) {
      const std::int64_t have = given[i].shape()[rank - k];
      fits = have == 1 || have == shape[shape.size() - k];
    }
    if (!fits)
      fail(messages::bound_shape, {name, std::to_string(i), option, to_string(given[i].aval()), names(i)},
           loc);
    parts.push_back(broadcast_to(given[i], shape));
  }
  return layout.pack(parts);
}

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array NonlinearProblem::residual(const Array& y) const { return parts_.values(y); }
std::pair<Array, Array> NonlinearProblem::residual_and_jacobian(const Array& y) const {
  auto function = [&](std::span<const Array> in) { return std::vector<Array>{parts_.values(in[0])}; };
  JacobianCall call =
      jacobian_call(callee_of(function), std::span(&y, 1), {true}, true, parts_.call.name, parts_.loc);
  return {call.outs[0], call.blocks[0]};
}

namespace {

/// A robust loss at z ≥ 0 and its first two derivatives.
struct Rho {
  Array value, slope, curvature;
};
Rho rho(RobustLoss loss, const Array& z) {
  switch (loss) {
    case RobustLoss::SoftL1: {
      const Array root = sqrt(1. + z);
      return {2. * (root - 1.), 1. / root, -0.5 / (root * root * root)};
    }
    case RobustLoss::Huber: {
      const Array inner = z <= 1., safe = where(inner, 1., z), root = sqrt(safe);
      return {where(inner, z, 2. * root - 1.), where(inner, 1., 1. / root),
              where(inner, 0., -0.5 / (root * safe))};
    }
    case RobustLoss::Cauchy:
      return {log1p(z), 1. / (1. + z), -1. / square(1. + z)};
    case RobustLoss::Arctan: {
      const Array d = 1. + square(z);
      return {atan(z), 1. / d, -2. * z / square(d)};
    }
    case RobustLoss::Linear:
      break;
  }
  return {z, ones_like(z), zeros_like(z)};
}

}  // namespace

Array NonlinearProblem::cost(const Array& residual) const {
  if (parts_.call.loss == RobustLoss::Linear) return 0.5 * sum(square(residual));
  const double c = parts_.call.f_scale;
  return 0.5 * c * c * sum(rho(parts_.call.loss, square(residual / c)).value);
}
std::pair<Array, Array> NonlinearProblem::scaled(const Array& residual, const Array& jacobian) const {
  if (parts_.call.loss == RobustLoss::Linear) return {residual, jacobian};
  const Array z = square(residual / parts_.call.f_scale);
  const Rho r = rho(parts_.call.loss, z);
  const Array root = sqrt(maximum(r.slope + 2. * r.curvature * z, epsilon()));
  return {residual * (r.slope / root), jacobian * expand_dims(root, 1)};
}

Array NonlinearProblem::loss(const Array& y) const {
  if (parts_.call.kind == SolvesFor::LeastSquares) return cost(residual(y));
  const std::vector<Array> out = parts_.f(parts_.layout.unpack(y));
  if (out.size() != 1 || out[0].ndim() != 0 || !is_floating(out[0].dtype()))
    fail(messages::loss_scalar, {parts_.call.name, out.empty() ? "nothing" : to_string(out[0].aval())},
         loc());
  return astype(out[0], dtype());
}
std::pair<Array, Array> NonlinearProblem::loss_and_gradient(const Array& y) const {
  if (parts_.call.kind == SolvesFor::LeastSquares) {
    auto function = [&](std::span<const Array> in) { return std::vector<Array>{loss(in[0])}; };
    GradientCall g =
        gradient_call(callee_of(function), std::span(&y, 1), {true}, parts_.call.name, parts_.loc);
    return {g.outs[0], g.gradients[0]};
  }
  std::vector<Array> leaves = parts_.layout.unpack(y);
  GradientCall g =
      gradient_call(parts_.f, leaves, std::vector<bool>(leaves.size(), true), parts_.call.name, parts_.loc);
  return {astype(g.outs[0], dtype()), parts_.layout.pack(g.gradients)};
}
Array NonlinearProblem::hessian_product(const Array& y, const Array& v) const {
  auto slope = [&](std::span<const Array> in) { return std::vector<Array>{loss_and_gradient(in[0]).second}; };
  return jvp_call(callee_of(slope), std::span(&y, 1), std::span(&v, 1), parts_.loc).tangents[0];
}

bool NonlinearProblem::bounded() const { return !parts_.lower.is_empty(); }
const Array& NonlinearProblem::lower() const { return parts_.lower; }
const Array& NonlinearProblem::upper() const { return parts_.upper; }
Array NonlinearProblem::project(const Array& y) const {
  return bounded() ? minimum(maximum(y, lower()), upper()) : y;
}
Array NonlinearProblem::active(const Array& y, const Array& gradient) const {
  return (y <= lower() && gradient > 0.) || (y >= upper() && gradient < 0.);
}
double NonlinearProblem::epsilon() const { return parts_.layout.epsilon(); }
double NonlinearProblem::at_least_rounding(double tolerance) const {
  return std::max(tolerance, 4 * epsilon());
}
void NonlinearProblem::check(const char* option, double value, double lo, double hi, bool above) const {
  if (value <= hi && (above ? value > lo : value >= lo)) return;
  std::string must = (above ? "above " : "at least ") + to_text(lo);
  if (std::isfinite(hi)) must += " and at most " + to_text(hi);
  fail(messages::solver_option, {parts_.solver.name, option, to_text(value), must}, loc());
}
Dtype NonlinearProblem::dtype() const { return parts_.layout.dtype(); }
Loc NonlinearProblem::loc() const { return parts_.loc; }

}  // namespace apsis
