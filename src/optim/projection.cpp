#include "apsis/optim/projection.hpp"

#include "apsis/ops/index.hpp"
#include "apsis/ops/sort.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {
namespace {

template <class F>
Leaves_ mapped(Leaves_ x, const F& f) {
  for (Array& leaf : x)
    if (!leaf.is_empty()) leaf = f(leaf);
  return x;
}
template <class F>
Array total(const Leaves_& x, const F& term) {
  Array sum_ = 0.;
  for (const Array& leaf : x)
    if (!leaf.is_empty()) sum_ = sum_ + sum(term(leaf));
  return sum_;
}
Array product(const Leaves_& a, const Leaves_& b) {
  Array sum_ = 0.;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty()) sum_ = sum_ + sum(a[i] * b[i]);
  return sum_;
}
void require_positive(const char* projection, const Array& scale, Loc loc) {
  const Array known = concrete_value(scale);
  if (!known.is_empty() && !(known.item<double>() > 0))
    fail(messages::optimizer_option, {projection, "scale", to_string(known), "above 0"}, loc);
}

/// What to subtract along the last axis so that the positive parts add up to `scale`. Its derivative is that
/// of the mean of the elements which stay positive.
Array simplex_threshold(const Array& x, const Array& scale) {
  const Array order = flip(sort(stop_gradient(x)), -1), ranks = astype(arange(1, x.dim(-1) + 1), x.dtype());
  const Array excess = (cumsum(order, {.axis = -1}) - like(scale, x)) / ranks;
  const Array count = sum(order > excess, {.axis = -1, .keepdims = true});
  const Array support = stop_gradient(x) > take_along_axis(excess, count - 1, -1);
  return (sum(where(support, x, 0), {.axis = -1, .keepdims = true}) - like(scale, x)) /
         astype(count, x.dtype());
}
Array flat(const Leaves_& x) {
  Leaves_ parts;
  for (const Array& leaf : x)
    if (!leaf.is_empty()) parts.push_back(ravel(leaf));
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}

}  // namespace

Leaves_ project_non_negative(Leaves_ x) {
  return mapped(std::move(x), [](const Array& v) { return where(v > 0, v, 0); });
}

Leaves_ project_box(Leaves_ x, const Array& lower, const Array& upper, Loc) {
  return mapped(std::move(x), [&](const Array& v) { return clip(v, like(lower, v), like(upper, v)); });
}

Leaves_ project_simplex(Leaves_ x, const Array& scale, Loc loc) {
  require_positive("projection_simplex", scale, loc);
  const Array all = flat(x);
  if (all.size() == 0) return x;
  const Array threshold = squeeze(simplex_threshold(all, scale));
  return mapped(std::move(x), [&](const Array& v) {
    const Array rest = v - like(threshold, v);
    return where(rest > 0, rest, 0);
  });
}

Array simplex_rows(const Array& x) {
  const Array rest = x - simplex_threshold(x, 1.);
  return where(rest > 0, rest, 0);
}

Leaves_ project_l1(Leaves_ x, const Array& scale, bool ball, Loc loc) {
  require_positive(ball ? "projection_l1_ball" : "projection_l1_sphere", scale, loc);
  auto size = [](const Array& v) { return abs(v); };
  const Array inside = ball ? total(x, size) <= scale : Array(false);
  const Leaves_ onto = project_simplex(mapped(x, size), scale, loc);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!x[i].is_empty()) x[i] = where(inside, x[i], sign(x[i]) * onto[i]);
  return x;
}

Leaves_ project_l2(Leaves_ x, const Array& scale, bool ball, Loc loc) {
  require_positive(ball ? "projection_l2_ball" : "projection_l2_sphere", scale, loc);
  const Array squares = total(x, [](const Array& v) { return square(v); });
  const Array factor = scale / sqrt(ball ? maximum(squares, square(scale)) : squares);
  return mapped(std::move(x), [&](const Array& v) { return like(factor, v) * v; });
}

Leaves_ project_vector(const Leaves_& x, Leaves_ a) {
  const Array factor = product(x, a) / product(a, a);
  return mapped(std::move(a), [&](const Array& v) { return like(factor, v) * v; });
}

Leaves_ project_plane(Leaves_ x, const Leaves_& a, const Array& b, bool half_space) {
  Array factor = (b - product(x, a)) / product(a, a);
  if (half_space) factor = minimum(factor, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!x[i].is_empty()) x[i] = x[i] + like(factor, x[i]) * a[i];
  return x;
}

}  // namespace apsis::optim::detail
