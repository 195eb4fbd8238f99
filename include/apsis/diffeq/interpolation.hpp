#pragma once

// Paths through data, as controls of equations and to look at: straight lines, rectilinear ones, cubics. Any
// tree of arrays whose first axis is time. NaN is a value that is missing; the functions that make a path
// fill it in, each channel by itself.
//
//   LinearInterpolation path{ts, linear_interpolation(ts, ys)};
//   CubicInterpolation smooth{ts, backward_hermite_coefficients(ts, ys)};
//   smooth.evaluate(0.3);  smooth.evaluate(0.3, 0.4);  smooth.derivative(0.3);

#include <span>
#include <type_traits>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

/// At a time where two pieces meet: the piece that ends there, or the one that begins.
enum class Side : std::uint8_t { Left, Right };

/// How missing values are filled in that have no value before them, or none after.
template <class Y = Array>
struct MissingOptions {
  /// Values after the last one that is there are equal to it; otherwise they stay NaN.
  bool fill_forward_nans_at_end = false;
  /// What takes the place of NaN in the first row, a tree like the data without its first axis, each array of
  /// which broadcasts; left out, they stay NaN up to the first value that is there.
  Y replace_nans_at_start = {};
};
/// Options of `backward_hermite_coefficients`.
template <class Y = Array>
struct HermiteOptions {
  bool fill_forward_nans_at_end = false;  ///< as of MissingOptions
  Y replace_nans_at_start = {};
  /// The derivative at ts[0], like replace_nans_at_start; left out, the difference to the next value.
  Y deriv0 = {};
};
/// Of the cubics between n times, [n - 1, …] each: d s³ + c s² + b s + a, s the time since the piece began.
template <class Y = Array>
struct CubicCoefficients {
  Y d, c, b, a;
};
/// Data at times of their own: what `rectilinear_interpolation` returns.
template <class Y = Array>
struct TimedData {
  Array ts;
  Y ys;
};

namespace detail {

using Leaves = std::vector<Array>;
/// Where a time is among those of the pieces.
struct Piece {
  Array index;     // of the piece, from 0
  Array since;     // the time since it began
  Array duration;  // how long it is
};
Piece piece_at(const char* name, const Array& ts, const Array& t, Side side, Loc loc);
/// Refuses leaves that have not `rows` rows.
void check_rows(const char* name, std::span<const Array> leaves, std::int64_t rows, Loc loc);
Leaves linear_value(const Array& ts, const Leaves& ys, const Array& t, Side side, Loc loc);
Leaves linear_slope(const Array& ts, const Leaves& ys, const Array& t, Side side, Loc loc);
Leaves cubic_value(const Array& ts, std::span<const Leaves> dcba, const Array& t, Side side, Loc loc);
Leaves cubic_slope(const Array& ts, std::span<const Leaves> dcba, const Array& t, Side side, Loc loc);
Leaves differences(const Leaves& to, const Leaves& from);

struct FlatMissing {
  bool fill_forward_at_end;
  Leaves at_start, deriv0;  // nothing, or as many as the data
};
Leaves fill_linear(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc);
Leaves fill_rectilinear(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc);
Array rectilinear_times(const Array& ts);
/// d, c, b and a of each leaf, one after the other.
Leaves hermite_coefficients(const Array& ts, const Leaves& ys, const FlatMissing& missing, Loc loc);

/// The leaves of an option, nothing if none is given.
template <class Y>
Leaves leaves_if_given(const Y& option) {
  Leaves leaves = tree_leaves(option);
  for (const Array& a : leaves)
    if (!a.is_empty()) return leaves;
  return {};
}

}  // namespace detail

/// Straight lines between data at `ts`, [n ≥ 2] and ascending; `ys` are floating arrays [n, …]. Beyond the
/// ends the first and the last line go on. The derivative jumps at ts: tell an adaptive controller, or solve
/// piece by piece.
template <class Y = Array>
struct LinearInterpolation {
  Array ts;
  Y ys;

  /// The value at a time.
  Y evaluate(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    return unflatten_like(ys, detail::linear_value(ts, tree_leaves(ys), t, side, loc), loc);
  }
  /// The value at `to` less that at `from`.
  Y evaluate(const Array& from, const Array& to, Side side = Side::Left, Loc loc = Loc::here()) const {
    const std::vector<Array> leaves = tree_leaves(ys);
    return unflatten_like(ys,
                          detail::differences(detail::linear_value(ts, leaves, to, side, loc),
                                              detail::linear_value(ts, leaves, from, side, loc)),
                          loc);
  }
  /// The slope of the line at a time.
  Y derivative(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    return unflatten_like(ys, detail::linear_slope(ts, tree_leaves(ys), t, side, loc), loc);
  }
  /// The ends.
  Array t0() const { return ts[0]; }
  Array t1() const { return ts[-1]; }
};
template <class Y>
LinearInterpolation(Array, Y) -> LinearInterpolation<Y>;

/// Cubics between times `ts`, [n ≥ 2] and ascending. Beyond the ends the first and the last cubic go on.
template <class Y = Array>
struct CubicInterpolation {
  Array ts;
  CubicCoefficients<Y> coeffs;

  /// The value at a time.
  Y evaluate(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    return unflatten_like(coeffs.a, detail::cubic_value(ts, leaves(), t, side, loc), loc);
  }
  /// The value at `to` less that at `from`.
  Y evaluate(const Array& from, const Array& to, Side side = Side::Left, Loc loc = Loc::here()) const {
    const std::vector<detail::Leaves> all = leaves();
    return unflatten_like(coeffs.a,
                          detail::differences(detail::cubic_value(ts, all, to, side, loc),
                                              detail::cubic_value(ts, all, from, side, loc)),
                          loc);
  }
  /// The derivative at a time.
  Y derivative(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    return unflatten_like(coeffs.a, detail::cubic_slope(ts, leaves(), t, side, loc), loc);
  }
  /// The ends.
  Array t0() const { return ts[0]; }
  Array t1() const { return ts[-1]; }

 private:
  std::vector<detail::Leaves> leaves() const {
    return {tree_leaves(coeffs.d), tree_leaves(coeffs.c), tree_leaves(coeffs.b), tree_leaves(coeffs.a)};
  }
};
template <class Y>
CubicInterpolation(Array, CubicCoefficients<Y>) -> CubicInterpolation<Y>;

/// The data `ys` [n, …] at times `ts` [n ≥ 2] with NaN filled in: on the line between the values that are
/// there before and after it. What has none before it, or none after, stays NaN, unless the options say more.
/// Throws where times do not ascend, or numbers of rows differ.
template <class Y>
Y linear_interpolation(const Array& ts, const Y& ys,
                       const std::type_identity_t<MissingOptions<Y>>& options = {}, Loc loc = Loc::here()) {
  return unflatten_like(
      ys,
      detail::fill_linear(
          ts, tree_leaves(ys),
          {options.fill_forward_nans_at_end, detail::leaves_if_given(options.replace_nans_at_start), {}},
          loc),
      loc);
}
/// Times t0, t1, t1, t2, t2, … and data y0, y0, y1, y1, y2, …: time goes on while data stay, then data while
/// time stays, so that no value is used before its time (Morrill, Kidger, Yang and Lyons 2021). NaN is filled
/// by the last value that was there. For a LinearInterpolation whose own times are free, such as arange: both
/// results are data. Throws as linear_interpolation.
template <class Y>
TimedData<Y> rectilinear_interpolation(const Array& ts, const Y& ys,
                                       const std::type_identity_t<Y>& replace_nans_at_start = {},
                                       Loc loc = Loc::here()) {
  const detail::FlatMissing missing{true, detail::leaves_if_given(replace_nans_at_start), {}};
  Y filled = unflatten_like(ys, detail::fill_rectilinear(ts, tree_leaves(ys), missing, loc), loc);
  return {detail::rectilinear_times(ts), static_cast<Y&&>(filled)};
}
/// The cubics through data `ys` [n, …] at times `ts` [n ≥ 2] whose derivative at each value is the slope from
/// the value before it: no piece depends on data after its end (Morrill, Kidger, Yang and Lyons 2021). NaN is
/// passed over: the cubic goes on to the next value that is there. Throws as linear_interpolation.
template <class Y>
CubicCoefficients<Y> backward_hermite_coefficients(
    const Array& ts, const Y& ys, const std::type_identity_t<HermiteOptions<Y>>& options = {},
    Loc loc = Loc::here()) {
  const detail::FlatMissing missing{options.fill_forward_nans_at_end,
                                    detail::leaves_if_given(options.replace_nans_at_start),
                                    detail::leaves_if_given(options.deriv0)};
  const std::vector<Array> all = detail::hermite_coefficients(ts, tree_leaves(ys), missing, loc);
  const std::span<const Array> parts(all);
  const std::size_t n = parts.size() / 4;
  const auto part = [&](std::size_t k) {
    return unflatten_like(ys, std::vector<Array>(parts.begin() + k * n, parts.begin() + (k + 1) * n), loc);
  };
  return {part(0), part(1), part(2), part(3)};
}

}  // namespace apsis
