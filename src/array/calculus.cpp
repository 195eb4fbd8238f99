#include "apsis/array/calculus.hpp"

#include <cmath>

#include "apsis/array/creation.hpp"
#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/array/statistics.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options, Loc loc) {
  const LocScope place(loc);
  if (xp.ndim() != 1 || fp.shape() != xp.shape())
    fail(messages::array_sizes,
         {"interp", to_string(xp.aval()), to_string(fp.aval()), "xp and fp are vectors of one size"});
  if (xp.size() == 0) fail(messages::array_few, {"interp", "1 entry", "axis 0", to_string(xp.aval())});
  const Array given[] = {x, xp};
  const std::vector<Array> places = promoted_inexact(given);
  Array at = places[0], points = places[1], values = inexact(fp);
  const bool periodic = !options.period.is_empty();
  if (periodic) {
    const Array period = abs(options.period);
    at = at % period;
    const Array table[] = {points % period, values};
    const std::vector<Array> sorted = sort(table);
    points = concatenate({part(sorted[0], 0, -1, {}) - period, sorted[0], part(sorted[0], 0, 0, 1) + period});
    values = concatenate({part(sorted[1], 0, -1, {}), sorted[1], part(sorted[1], 0, 0, 1)});
  }
  const Array right =
      clip(searchsorted(points, at, true), std::min<std::int64_t>(1, points.size() - 1), points.size() - 1);
  const Array left = maximum(right - 1, 0);
  const Array x0 = take(points, left, 0), f0 = take(values, left, 0);
  const Array width = take(points, right, 0) - x0, rise = take(values, right, 0) - f0;
  const Array same = width == 0;
  Array f = where(same, f0, f0 + (at - x0) / where(same, 1, width) * rise);
  if (periodic) return f;
  f = where(at < points[0], options.left.is_empty() ? values[0] : options.left, f);
  return where(at > points[-1], options.right.is_empty() ? values[-1] : options.right, f);
}

Array gradient(const Array& f, const Array& spacing, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("gradient", axis, f);
  const std::int64_t n = f.dim(along);
  if (n < 2)
    fail(messages::array_few,
         {"gradient", "2 entries", "axis " + std::to_string(along), to_string(f.aval())});
  const Array given[] = {f, spacing};
  const std::vector<Array> v = promoted_inexact(given);
  auto of = [&](const Array& a, Bound from, Bound to) { return part(a, along, from, to); };
  const Array rise = of(v[0], 1, {}) - of(v[0], 0, -1);
  if (spacing.ndim() == 0) {
    const Array inner = (of(v[0], 2, {}) - of(v[0], 0, -2)) * 0.5;
    return concatenate({of(rise, 0, 1), inner, of(rise, -1, {})}, along) / v[1];
  }
  if (spacing.ndim() != 1 || spacing.size() != n)
    fail(messages::array_sizes, {"gradient", to_string(f.aval()), "spacing " + to_string(spacing.aval()),
                                 "give one distance, or one place an entry of the axis"});
  const Array x = reshape(v[1], with_size_at(Dims::filled(f.shape().size(), 1), along, n));
  const Array slope = rise / (of(x, 1, {}) - of(x, 0, -1));
  const Array before = of(x, 1, -1) - of(x, 0, -2), after = of(x, 2, {}) - of(x, 1, -1);
  // The slope of the parabola through three points.
  const Array inner = (of(slope, 0, -1) * after + of(slope, 1, {}) * before) / (before + after);
  return concatenate({of(slope, 0, 1), inner, of(slope, -1, {})}, along);
}

Array diff(const Array& x, const DiffOptions& options, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("diff", options.axis, x);
  check_count("diff", options.n);
  std::vector<Array> parts;
  auto add = [&](const Array& a) {
    if (a.is_empty()) return;
    parts.push_back(a.ndim() == 0 ? broadcast_to(a, with_size_at(x.shape(), along, 1)) : a);
  };
  add(options.prepend);
  parts.push_back(x);
  add(options.append);
  Array differences = parts.size() == 1 ? x : concatenate(parts, along);
  for (int i = 0; i < options.n; ++i) differences = diff(differences, along);
  return differences;
}

Array ediff1d(const Array& x, const Array& to_begin, const Array& to_end, Loc loc) {
  const LocScope place(loc);
  std::vector<Array> parts;
  if (!to_begin.is_empty()) parts.push_back(astype(ravel(to_begin), x.dtype()));
  parts.push_back(diff(ravel(x)));
  if (!to_end.is_empty()) parts.push_back(astype(ravel(to_end), x.dtype()));
  return concatenate(parts);
}

namespace {

/// The areas between neighbours, along the last axis.
Array areas(const char* where, const Array& y, const TrapezoidOptions& options) {
  const int along = checked_axis(where, options.axis, y);
  const Array given[] = {y, options.x.is_empty() ? options.dx : options.x};
  const std::vector<Array> v = promoted_inexact(given);
  Array width = v[1];
  if (!options.x.is_empty()) {
    if (options.x.ndim() != 1 && options.x.shape() != y.shape())
      fail(messages::array_sizes, {where, to_string(y.aval()), "x " + to_string(options.x.aval()),
                                   "the places are a vector, or of the array's shape"});
    width = diff(options.x.ndim() == 1 ? v[1] : moveaxis(v[1], along, -1));
  }
  const Array rows = moveaxis(v[0], along, -1);
  const int last = rows.ndim() - 1;
  if (rows.dim(last) == 0) return rows;
  return width * (part(rows, last, 1, {}) + part(rows, last, 0, -1)) * 0.5;
}

}  // namespace

Array trapezoid(const Array& y, const TrapezoidOptions& options, Loc loc) {
  const LocScope place(loc);
  return sum(areas("trapezoid", y, options), {.axis = -1});
}

Array cumulative_trapezoid(const Array& y, const TrapezoidOptions& options, Loc loc) {
  const LocScope place(loc);
  return moveaxis(cumsum(areas("cumulative_trapezoid", y, options), {.axis = -1}), -1,
                  checked_axis("cumulative_trapezoid", options.axis, y));
}

Array unwrap(const Array& x, const UnwrapOptions& options, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("unwrap", options.axis, x);
  if (x.dim(along) == 0) return x;
  const Array given[] = {x, options.period};
  const std::vector<Array> v = promoted(given);
  const Array half = is_integer(v[0].dtype()) ? floor_divide(v[1], 2) : v[1] / 2;
  const Array step = diff(v[0], along);
  Array wrapped = (step + half) % v[1] - half;
  wrapped = where(wrapped == -half && step > 0, half, wrapped);
  const Array limit = options.discont.is_empty() ? v[1] / 2 : options.discont;
  const Array correction = where(abs(step) < limit, 0, wrapped - step);
  return concatenate(
      {part(v[0], along, 0, 1), part(v[0], along, 1, {}) + cumsum(correction, {.axis = along})}, along);
}

Array polyval(const Array& p, const Array& x, Loc loc) {
  const LocScope place(loc);
  check_rank("polyval", p.ndim() == 1, "one axis as polynomial", p);
  const Array given[] = {p, x};
  const std::vector<Array> v = promoted(given);
  Array value = zeros_like(v[1]);
  for (const Array& coefficient : unstack(v[0])) value = value * v[1] + coefficient;
  return value;
}

namespace {

/// With zeros in front, of one length.
std::vector<Array> aligned(const char* where, const Array& a, const Array& b) {
  check_rank(where, a.ndim() == 1, "one axis", a);
  check_rank(where, b.ndim() == 1, "one axis", b);
  const Array given[] = {a, b};
  std::vector<Array> v = promoted(given);
  const std::int64_t n = std::max(v[0].size(), v[1].size());
  for (Array& p : v) p = pad(p, {n - p.size()}, {0});
  return v;
}

}  // namespace

Array polyadd(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const std::vector<Array> v = aligned("polyadd", a, b);
  return v[0] + v[1];
}
Array polysub(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const std::vector<Array> v = aligned("polysub", a, b);
  return v[0] - v[1];
}
Array polymul(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return convolve(a, b);
}

std::pair<Array, Array> polydiv(const Array& u, const Array& v, Loc loc) {
  const LocScope place(loc);
  for (const Array& p : {u, v}) {
    check_rank("polydiv", p.ndim() == 1, "one axis", p);
    if (p.size() == 0) fail(messages::array_few, {"polydiv", "1 entry", "axis 0", to_string(p.aval())});
  }
  const Array given[] = {u, v};
  const std::vector<Array> both = promoted_inexact(given);
  if (u.size() < v.size()) return {zeros({1}, both[0].dtype()), both[0]};
  const Array first = both[1][0], others = part(both[1], 0, 1, {});
  // Long division: `left` is what the highest powers have left, one entry fewer each time.
  Array left = both[0];
  std::vector<Array> quotient;
  while (left.size() >= v.size()) {
    quotient.push_back(left[0] / first);
    const Array taken = pad(quotient.back() * others, {0}, {left.size() - v.size()});
    left = part(left, 0, 1, {}) - taken;
  }
  return {stack(quotient), left.size() == 0 ? zeros({1}, left.dtype()) : left};
}

Array poly(const Array& roots, Loc loc) {
  const LocScope place(loc);
  check_rank("poly", roots.ndim() == 1, "one axis of roots", roots);
  const Array v = inexact(roots);
  Array product = ones({1}, v.dtype());
  for (const Array& root : unstack(v)) product = pad(product, {0}, {1}) - pad(product, {1}, {0}) * root;
  return product;
}

Array polyfit(const Array& x, const Array& y, int degree, const PolyfitOptions& options, Loc loc) {
  const LocScope place(loc);
  check_count("polyfit", degree);
  check_rank("polyfit", x.ndim() == 1, "one axis as x", x);
  check_rank("polyfit", y.ndim() == 1 || y.ndim() == 2, "one or two axes as y", y);
  if (x.size() == 0) fail(messages::array_few, {"polyfit", "1 entry", "axis 0", to_string(x.aval())});
  const bool weighted = !options.w.is_empty();
  if (y.dim(0) != x.size())
    fail(messages::array_sizes, {"polyfit", "x " + to_string(x.aval()), "y " + to_string(y.aval()),
                                 "there is a row of y for each entry of x"});
  if (weighted && options.w.shape() != x.shape())
    fail(messages::array_sizes, {"polyfit", "x " + to_string(x.aval()), "w " + to_string(options.w.aval()),
                                 "there is a weight for each entry of x"});
  const Array given[] = {x, y, weighted ? options.w : ones_like(x)};
  const std::vector<Array> v = promoted_inexact(given);
  Array powers = vander(v[0], degree + 1);
  Array values = v[1];
  if (weighted) {
    powers = powers * expand_dims(v[2], 1);
    values = values * (y.ndim() == 2 ? expand_dims(v[2], 1) : v[2]);
  }
  // Columns of unit length: the powers of large and of small x count alike. One of zeros stays.
  const Array squares = sum(square(powers), {.axis = 0});
  const Array length = sqrt(where(squares == 0, 1, squares));
  const double rcond =
      options.rcond >= 0 ? options.rcond : static_cast<double>(x.size()) * finfo(powers.dtype()).eps;
  const Array found = linalg::lstsq(powers / length, values, {.rtol = rcond}).x;
  return found / (y.ndim() == 2 ? expand_dims(length, 1) : length);
}

Array polyder(const Array& p, int m, Loc loc) {
  const LocScope place(loc);
  check_rank("polyder", p.ndim() == 1, "one axis", p);
  check_count("polyder", m);
  Array out = p;
  for (int i = 0; i < m && out.size() > 0; ++i)
    out = part(out, 0, 0, -1) * astype(flip(arange(1, out.size())), p.dtype());
  return out;
}

Array polyint(const Array& p, int m, Loc loc) {
  const LocScope place(loc);
  check_rank("polyint", p.ndim() == 1, "one axis", p);
  check_count("polyint", m);
  Array out = inexact(p);
  for (int i = 0; i < m; ++i) out = pad(out / astype(flip(arange(1, out.size() + 1)), out.dtype()), {0}, {1});
  return out;
}

}  // namespace apsis
