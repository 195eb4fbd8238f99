// Paths through data, by Diffrax's formulas. Which values are there decides by indices which rows meet, so
// that what is missing is neither read nor differentiated.

#include "apsis/diffeq/interpolation.hpp"

#include <algorithm>
#include <limits>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

std::string shown(const Array& a) { return a.is_empty() ? "empty" : to_string(a.aval()); }

void check_times_of_path(const char* name, const Array& ts, Loc loc) {
  if (ts.is_empty() || ts.ndim() != 1 || ts.size() < 2 || is_complex(ts.dtype()))
    fail(messages::path_times, {name, shown(ts)}, loc);
}
/// The same, and that each time is after the one before it.
void check_ascending(const char* name, const Array& ts, Loc loc) {
  check_times_of_path(name, ts, loc);
  InputChecks checks(true, loc);
  checks.refuse(
      {ts},
      [](std::span<const Array> v) {
        const Array bad = !(diff(v[0]) > 0);
        const Array first = argmax(bad);
        return Finding{astype(any(bad), i64), {first + 1, v[0][first + 1], v[0][first]}};
      },
      [&] {
        return std::vector<Text>{Text(messages::path_order, {name, "{0}", "{1}", "{2}"})};
      });
}
/// A vector along the first axis of an array with so many axes.
Array along_rows(const Array& v, const Array& like) {
  Shape shape{v.size()};
  while (shape.size() < like.shape().size()) shape.push_back(1);
  return reshape(v, shape);
}
Array floating(const Array& y) { return is_floating(y.dtype()) ? y : astype(y, f64); }
bool given(const Leaves& option, std::size_t i) { return i < option.size() && !option[i].is_empty(); }

/// The rows [from, to) of data.
Array rows(const Array& x, std::int64_t from, std::int64_t to) { return x[range(from, to)]; }

/// Data with its gaps: for each row and channel, the row of the last value up to it, and of the first one
/// from it on. Where there is none these are the first row and the last.
struct Gaps {
  Array there;   // booleans
  Array before;  // rows, up to this one
  Array after;   // rows, from this one on
  explicit Gaps(const Array& y) : there(!isnan(y)) {
    const std::int64_t n = y.dim(0);
    const Array row = broadcast_to(along_rows(arange(n), y), y.shape());
    before = cummax(where(there, row, 0), {.axis = 0});
    after = cummin(where(there, row, n - 1), {.axis = 0, .reverse = true});
  }
};
Array filled_forward(const Array& y) { return take_along_axis(y, Gaps(y).before, 0); }
/// The data with its first row replaced where it is missing.
Array with_start(const char* name, const Array& y, const Leaves& at_start, std::size_t i, Loc loc) {
  if (!given(at_start, i)) return y;
  const Array first = y[0];
  if (!broadcasts(at_start[i].shape(), first.shape()))
    fail(messages::path_option, {name, "replace_nans_at_start", shown(at_start[i]), shown(y)}, loc);
  return y.at(0).set(where(isnan(first), at_start[i], first));
}
/// Calls `fill(y, i)` for each leaf that is there, as floating numbers.
template <class Fill>
Leaves each_leaf(const char* name, const Array& ts, const Leaves& ys, Loc loc, const Fill& fill) {
  check_ascending(name, ts, loc);
  check_rows(name, ys, ts.size(), loc);
  Leaves out(ys.size());
  for (std::size_t i = 0; i < ys.size(); ++i)
    if (!ys[i].is_empty()) out[i] = fill(floating(ys[i]), i);
  return out;
}

}  // namespace

Piece piece_at(const char* name, const Array& ts, const Array& t, Side side, Loc loc) {
  check_times_of_path(name, ts, loc);
  if (!concrete_value(ts).is_empty()) check_ascending(name, ts, loc);
  if (t.is_empty() || t.ndim() != 0 || is_complex(t.dtype()))
    fail(messages::path_time, {name, shown(t)}, loc);
  const Array index = clip(searchsorted(ts, t, side == Side::Right) - 1, 0, ts.size() - 2);
  const Array begin = ts[index];
  return {index, t - begin, ts[index + 1] - begin};
}

void check_rows(const char* name, std::span<const Array> leaves, std::int64_t rows, Loc loc) {
  for (const Array& y : leaves)
    if (!y.is_empty() && (y.ndim() == 0 || y.dim(0) != rows || is_complex(y.dtype())))
      fail(messages::path_rows, {name, shown(y), std::to_string(rows)}, loc);
}

Leaves linear_value(const Array& ts, const Leaves& ys, const Array& t, Side side, Loc loc) {
  const LocScope place(loc);
  const Piece at = piece_at("LinearInterpolation", ts, t, side, loc);
  check_rows("LinearInterpolation", ys, ts.size(), loc);
  const Array part = at.since / at.duration;
  Leaves out;
  for (const Array& y : ys) {
    if (y.is_empty()) {
      out.push_back(y);
      continue;
    }
    const Array from = y[at.index];
    out.push_back(from + (y[at.index + 1] - from) * part);
  }
  return out;
}
Leaves linear_slope(const Array& ts, const Leaves& ys, const Array& t, Side side, Loc loc) {
  const LocScope place(loc);
  const Piece at = piece_at("LinearInterpolation", ts, t, side, loc);
  check_rows("LinearInterpolation", ys, ts.size(), loc);
  Leaves out;
  for (const Array& y : ys) out.push_back(y.is_empty() ? y : (y[at.index + 1] - y[at.index]) / at.duration);
  return out;
}
Leaves differences(const Leaves& to, const Leaves& from) {
  Leaves out;
  for (std::size_t i = 0; i < to.size(); ++i) out.push_back(to[i].is_empty() ? to[i] : to[i] - from[i]);
  return out;
}

namespace {
/// Calls `at_time(d, c, b, a, s)` for each leaf that is there.
template <class AtTime>
Leaves each_cubic(const Array& ts, std::span<const Leaves> dcba, const Array& t, Side side, Loc loc,
                  const AtTime& at_time) {
  const Piece at = piece_at("CubicInterpolation", ts, t, side, loc);
  for (const Leaves& part : dcba) check_rows("CubicInterpolation", part, ts.size() - 1, loc);
  Leaves out(dcba[3].size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (dcba[3][i].is_empty()) continue;
    for (const Leaves& part : dcba)
      if (i >= part.size() || part[i].is_empty() || part[i].shape() != dcba[3][i].shape())
        fail(messages::path_coefficients, {i < part.size() ? shown(part[i]) : "missing", shown(dcba[3][i])},
             loc);
    const auto of_piece = [&](std::size_t k) { return dcba[k][i][at.index]; };
    out[i] = at_time(of_piece(0), of_piece(1), of_piece(2), of_piece(3), at.since);
  }
  return out;
}
}  // namespace

Leaves cubic_value(const Array& ts, std::span<const Leaves> dcba, const Array& t, Side side, Loc loc) {
  const LocScope place(loc);
  return each_cubic(ts, dcba, t, side, loc,
                    [](const Array& d, const Array& c, const Array& b, const Array& a, const Array& s) {
                      return a + s * (b + s * (c + s * d));
                    });
}
Leaves cubic_slope(const Array& ts, std::span<const Leaves> dcba, const Array& t, Side side, Loc loc) {
  const LocScope place(loc);
  return each_cubic(ts, dcba, t, side, loc,
                    [](const Array& d, const Array& c, const Array& b, const Array&, const Array& s) {
                      return b + s * (2. * c + s * (3. * d));
                    });
}

Leaves fill_linear(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc) {
  const LocScope place(loc);
  const char* name = "linear_interpolation";
  return each_leaf(name, ts, ys, loc, [&](const Array& y, std::size_t i) {
    const Gaps gaps(y);
    const Array start = with_start(name, y, missing.at_start, i, loc), t = along_rows(ts, y);
    Array next = take_along_axis(y, gaps.after, 0);
    if (missing.fill_forward_at_end) next = where(isnan(next), filled_forward(start), next);
    const Array times = broadcast_to(t, y.shape());
    const Array last = take_along_axis(start, gaps.before, 0),
                since = t - take_along_axis(times, gaps.before, 0),
                gap = take_along_axis(times, gaps.after, 0) - take_along_axis(times, gaps.before, 0);
    return where(gaps.there, y, last + (next - last) * since / where(gaps.there, 1., gap));
  });
}

Leaves fill_rectilinear(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc) {
  const LocScope place(loc);
  const char* name = "rectilinear_interpolation";
  return each_leaf(name, ts, ys, loc, [&](const Array& y, std::size_t i) {
    const Array filled = filled_forward(with_start(name, y, missing.at_start, i, loc));
    return rows(repeat(filled, 2, 0), 0, 2 * ts.size() - 1);
  });
}
Array rectilinear_times(const Array& ts) { return rows(repeat(ts, 2, 0), 1, 2 * ts.size()); }

namespace {
/// A cubic from a value and its derivative to a value, where its derivative is the slope between both.
struct Cubic {
  Array d, c, b, a;
  Cubic(const Array& y, const Array& slope, const Array& next, const Array& duration) : b(slope), a(y) {
    const Array change = (next - y) / duration - slope;
    c = 2. * change / duration;
    d = -change / square(duration);
  }
};

/// NaN where one of the values is missing, in a way that derivatives of others do not see.
Array slope_between(const Array& from, const Array& to, const Array& duration) {
  const Array change = to - from, missing = isnan(change);
  return where(missing, std::numeric_limits<double>::quiet_NaN(), where(missing, 0., change) / duration);
}

/// The cubics of one array, by Diffrax's rules for what is missing.
Cubic cubics_of(const Array& ts, const Array& y, const FlatMissing& missing, std::size_t i, Loc loc) {
  const std::int64_t n = y.dim(0);
  const char* name = "backward_hermite_coefficients";
  const Gaps gaps(y);
  const Array start = with_start(name, y, missing.at_start, i, loc),
              times = broadcast_to(along_rows(ts, y), y.shape());
  // For each row but the last, the next value after it.
  const Array after = rows(gaps.after, 1, n), next_t = take_along_axis(times, after, 0);
  Array next = take_along_axis(y, after, 0);
  if (missing.fill_forward_at_end) next = where(isnan(next), rows(filled_forward(start), 0, n - 1), next);
  // The slope at each value: from the value before it; if there is none, to the one after it.
  const Array before = rows(gaps.before, 0, n - 1), value = rows(start, 0, n - 1), t = rows(times, 0, n - 1);
  const Array forward = slope_between(value, next, next_t - t);
  const Array earlier = rows(before, 0, n - 2), earlier_y = take_along_axis(start, earlier, 0);
  const Array backward =
      slope_between(earlier_y, rows(value, 1, n - 1), rows(t, 1, n - 1) - take_along_axis(times, earlier, 0));
  Array slope0 = forward[0];
  if (given(missing.deriv0, i)) {
    if (!broadcasts(missing.deriv0[i].shape(), slope0.shape()))
      fail(messages::path_option, {name, "deriv0", shown(missing.deriv0[i]), shown(y)}, loc);
    slope0 = broadcast_to(astype(missing.deriv0[i], slope0.dtype()), slope0.shape());
  }
  const Array slopes =
      concatenate({expand_dims(slope0, 0), where(isnan(earlier_y), rows(forward, 1, n - 1), backward)});
  // Each cubic goes from the last value to the next; where data are missing between, pieces of it.
  const Array last = take_along_axis(start, before, 0), slope = take_along_axis(slopes, before, 0),
              last_t = take_along_axis(times, before, 0), s = t - last_t;
  const Cubic whole(last, slope, next, next_t - last_t);
  const Array here = last + s * (slope + s * (whole.c + s * whole.d)),
              slope_here = slope + s * (2. * whole.c + s * (3. * whole.d));
  return {here, slope_here, next, next_t - t};
}
}  // namespace

Leaves hermite_coefficients(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc) {
  const LocScope place(loc);
  const std::size_t n = ys.size();
  Leaves out(4 * n);
  const Leaves a =
      each_leaf("backward_hermite_coefficients", ts, ys, loc, [&](const Array& y, std::size_t i) {
        const Cubic cubic = cubics_of(ts, y, missing, i, loc);
        out[i] = cubic.d;
        out[n + i] = cubic.c;
        out[2 * n + i] = cubic.b;
        return cubic.a;
      });
  std::copy(a.begin(), a.end(), out.begin() + static_cast<std::ptrdiff_t>(3 * n));
  return out;
}

}  // namespace apsis::detail
