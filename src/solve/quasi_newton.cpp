// Minima by directions from the gradients before: BFGS and L-BFGS.

#include "apsis/solve/minimize.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

/// A pair of less curvature says nothing of the loss nearby (Nocedal and Wright, section 6.1).
constexpr double least_curvature = 1e-8;

/// The direction, if it is downhill; otherwise the steepest one, of a length about that of the unknown's
/// scale.
Array downhill(const Array& direction, const Array& gradient) {
  const Array good = dot(direction, gradient) < 0.;
  return where(good, direction, -gradient / maximum(norm(gradient), 1.));
}

}  // namespace

// State: the gradient, the inverse Hessian, the steps.
Iterate BFGS::start(const NonlinearProblem& p, const Array& y) const {
  const auto [value, gradient] = p.loss_and_gradient(y);
  // The first step is about as long as the parameters' own scale, whatever the gradient's.
  const Array h = eye(y.size(), -1, 0, p.dtype()) / maximum(norm(gradient), 1.);
  return first_minimum(p, y, value, gradient, gtol, {gradient, h, count_of(0)});
}
Iterate BFGS::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &before = it.state[0], &h = it.state[1], &count = it.state[2];
  const Array slope = free_part(p, it.y, before, before);
  const Array direction = downhill(free_part(p, it.y, before, -matmul(h, slope)), slope);
  const LineStep line = search_line(p, it.y, it.measure, before, direction, array(1.));
  const Array gradient = p.loss_and_gradient(line.y).second;
  // What a bound holds learns nothing: the rest keeps a positive definite block of its own.
  const Array moved = free_part(p, line.y, gradient, line.y - it.y);
  const Array change = free_part(p, line.y, gradient, gradient - before);
  // The update needs positive curvature; without it the old matrix stays.
  const Array curvature = dot(moved, change);
  const Array usable = curvature > least_curvature * norm(moved) * norm(change) && all(isfinite(gradient));
  const Array rho = 1. / where(usable, curvature, 1.), identity = eye(it.y.size(), -1, 0, p.dtype());
  const Array squares = dot(change, change);
  const Array base = where(count == 0 && usable, identity * (curvature / where(usable, squares, 1.)), h);
  // Nocedal and Wright (6.17), multiplied out: a change of rank two, for n² operations in place of n³.
  const Array turned = matmul(base, change);
  const Array half = turned - 0.5 * (1. + rho * dot(change, turned)) * moved;
  const Array next = base - rho * (outer(moved, half) + outer(half, moved));
  // What a search finds nothing along is forgotten.
  const Array again = identity / maximum(norm(slope), 1.);
  return after_line_search(p, it, line, gradient, gtol, count == 0,
                           {gradient, where(line.accepted, where(usable, next, h), again),
                            where(line.accepted, count + 1, std::int64_t{0})});
}

// State: the gradient; the last moves and changes of the gradient, [memory_size, n], and 1 / their products,
// 0 where there are none; the steps that were kept.
Iterate LBFGS::start(const NonlinearProblem& p, const Array& y) const {
  p.check("memory_size", static_cast<double>(memory_size), 1, 1000);
  const auto [value, gradient] = p.loss_and_gradient(y);
  const Array none = zeros({memory_size, y.size()}, p.dtype());
  return first_minimum(p, y, value, gradient, gtol,
                       {gradient, none, none, zeros({memory_size}, p.dtype()), count_of(0)});
}
Iterate LBFGS::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &before = it.state[0], &moves = it.state[1], &changes = it.state[2], &rho = it.state[3],
              &count = it.state[4];
  const Array slope = free_part(p, it.y, before, before);
  // Entries that are 0 leave everything as it is; k-th is the age of an entry, the newest first.
  auto at = [&](std::int64_t age) { return (count + (2 * memory_size - 1 - age)) % memory_size; };
  Array q = slope;
  std::vector<Array> alphas;
  for (std::int64_t k = 0; k < memory_size; ++k) {
    const Array i = at(k);
    alphas.push_back(rho[i] * dot(moves[i], q));
    q = q - alphas.back() * changes[i];
  }
  const Array newest = at(0), squares = dot(changes[newest], changes[newest]);
  const Array known = rho[newest] > 0.;
  q = q * where(known, 1. / where(known, rho[newest] * squares, 1.), 1. / maximum(norm(slope), 1.));
  for (std::int64_t k = memory_size; k-- > 0;) {
    const Array i = at(k);
    q = q + (alphas[static_cast<std::size_t>(k)] - rho[i] * dot(changes[i], q)) * moves[i];
  }
  const Array direction = downhill(free_part(p, it.y, before, -q), slope);
  const LineStep line = search_line(p, it.y, it.measure, before, direction, array(1.));
  const Array gradient = p.loss_and_gradient(line.y).second;
  const Array moved = free_part(p, line.y, gradient, line.y - it.y);
  const Array change = free_part(p, line.y, gradient, gradient - before);
  const Array curvature = dot(moved, change);
  const Array usable = curvature > least_curvature * norm(moved) * norm(change) && all(isfinite(gradient));
  const Array here = arange(memory_size) == count % memory_size && usable;
  const Array row = expand_dims(here, 1);
  // What a search finds nothing along is forgotten.
  const Array weights = where(here, 1. / where(usable, curvature, 1.), rho);
  return after_line_search(p, it, line, gradient, gtol, all(rho == 0.),
                           {gradient, where(row, moved, moves), where(row, change, changes),
                            where(line.accepted, weights, 0.), count + astype(usable, i64)});
}

}  // namespace apsis
