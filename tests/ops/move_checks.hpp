// Checks of functions on arrays that hold whatever the function is: staged equals eager, lanes of vmap equal
// single calls, pull-backs transpose push-forwards. All comparisons are bitwise but those of derivatives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "apsis/apsis.hpp"
#include "ops/lax.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::checks {

using Function = std::function<std::vector<Array>(std::span<const Array>)>;

inline bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(data_of(a), data_of(b), a.aval().bytes()) == 0;
}

/// Of complex elements the real parts, then the imaginary ones.
inline std::vector<double> numbers(const Array& a) {
  if (!is_complex(a.dtype())) return a.to_vector<double>();
  std::vector<double> parts = numbers(real(a));
  const std::vector<double> imaginary = numbers(imag(a));
  parts.insert(parts.end(), imaginary.begin(), imaginary.end());
  return parts;
}

/// Equal values; NaN equals NaN. `tolerance` is relative to the greater of 1 and the magnitude.
inline void expect_equal(const Array& got, const Array& want, double tolerance = 0) {
  ASSERT_FALSE(got.is_empty());
  EXPECT_EQ(to_string(Aval(got.dtype(), got.shape())), to_string(Aval(want.dtype(), want.shape())));
  if (got.shape() != want.shape()) return;
  auto a = numbers(got), b = numbers(want);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    EXPECT_LE(std::abs(a[i] - b[i]), tolerance * std::max(1.0, std::abs(b[i])))
        << "element " << i << ": " << a[i] << " and " << b[i];
  }
}

inline void check_staged(const Function& f, std::span<const Array> in) {
  auto eager = f(in);
  std::vector<Aval> avals;
  for (const Array& a : in) avals.push_back(a.aval());
  auto staged = detail::stage_with(f, avals, "test");
  detail::verify(*staged.graph);
  std::vector<Array> all(in.begin(), in.end());
  all.insert(all.end(), staged.captures.begin(), staged.captures.end());
  auto run = detail::interpret(*staged.graph, all);
  ASSERT_EQ(run.size(), eager.size());
  for (std::size_t i = 0; i < run.size(); ++i)
    EXPECT_TRUE(same_bits(run[i], eager[i])) << detail::to_string(*staged.graph);
}

/// Every input mapped, then each alone; lanes are the input, and the input in reverse order. The mapped axis
/// is the last. Lanes are bitwise equal to single calls.
inline void check_lanes(const Function& f, std::span<const Array> in, double blas_tolerance = 0) {
  namespace lax = detail::lax;
  auto reversed = [](const Array& a) { return lax::reverse(a, Dims::counting(a.shape().size())); };
  for (std::size_t alone = 0; alone <= in.size(); ++alone) {
    std::vector<Array> stacked, other;
    std::vector<int> axes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      bool mapped = alone == in.size() || alone == i;
      other.push_back(mapped ? reversed(in[i]) : in[i]);
      if (mapped) {
        Array pair[] = {lax::expand_axis(in[i], in[i].ndim()), lax::expand_axis(other[i], in[i].ndim())};
        stacked.push_back(lax::concatenate(pair, in[i].ndim()));
        axes.push_back(in[i].ndim());
      } else {
        stacked.push_back(in[i]);
        axes.push_back(detail::not_mapped);
      }
    }
    auto many = detail::vmap_call(detail::callee_of(f), stacked, axes, {.axis_size = 2}, Loc::here());
    for (int lane : {0, 1}) {
      auto single = f(lane == 0 ? in : std::span<const Array>(other));
      ASSERT_EQ(many.size(), single.size());
      for (std::size_t i = 0; i < single.size(); ++i) {
        ASSERT_EQ(many[i].ndim(), single[i].ndim() + 1);
        if (blas_tolerance > 0)
          expect_equal(many[i][lane], single[i], blas_tolerance);
        else
          EXPECT_TRUE(same_bits(many[i][lane], single[i]))
              << "lane " << lane << " of output " << i << ", mapped input " << alone;
      }
    }
  }
}

/// Pull-backs of `cotangents` (empty ones are made up): compared with `want` where that is not empty, and
/// always with the push-forward by the inner product <ct, J t> = <Jᵀ ct, t>, and the push-forward with
/// central differences.
inline void check_derivatives(const Function& f, std::span<const Array> in, std::vector<Array> cotangents,
                              const std::vector<Array>& want, double tolerance, bool smooth = true) {
  namespace lax = detail::lax;
  std::vector<bool> differentiate;
  for (const Array& a : in) differentiate.push_back(is_inexact(a.dtype()));
  auto call = detail::linearize_call(detail::callee_of(f), in, differentiate, Loc::here());
  auto pulled = call.program.pull(cotangents);
  auto waves = [](const Array& like) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < like.size(); ++i)
      values.push_back(std::sin(1.7 * static_cast<double>(i) + 0.3));
    return lax::convert(array(values, like.shape()), like.dtype());
  };
  std::vector<Array> tangents;
  for (std::size_t i = 0; i < in.size(); ++i) tangents.push_back(differentiate[i] ? waves(in[i]) : Array{});
  auto pushed = call.program.push(tangents);
  auto inner_product = [](const Array& a, const Array& b) {
    double total = 0;
    if (a.is_empty() || b.is_empty()) return total;
    auto x = numbers(a), y = numbers(b);
    for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
    return total;
  };
  // Central differences along the tangents, for f64.
  constexpr double step = 6e-6;
  std::vector<Array> up(in.begin(), in.end()), down = up;
  bool doubles = smooth;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!differentiate[i]) continue;
    doubles = doubles && in[i].dtype() == f64;
    Array shift = lax::mul(lax::convert(tangents[i], in[i].dtype()), lax::full_like(in[i].aval(), step));
    up[i] = lax::add(in[i], shift);
    down[i] = lax::sub(in[i], shift);
  }
  if (doubles) {
    auto high = f(up), low = f(down);
    for (std::size_t i = 0; i < pushed.size(); ++i) {
      if (!is_inexact(high[i].dtype())) continue;
      auto a = numbers(high[i]), b = numbers(low[i]),
           t = pushed[i].is_empty() ? std::vector<double>(a.size()) : numbers(pushed[i]);
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (std::isnan(a[k])) continue;
        EXPECT_NEAR(t[k], (a[k] - b[k]) / (2 * step), 1e-8 * std::max(1.0, std::abs(t[k])));
      }
    }
  }
  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < pushed.size(); ++i) forward += inner_product(pushed[i], cotangents[i]);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (differentiate[i]) backward += inner_product(pulled[i], tangents[i]);
  EXPECT_NEAR(forward, backward, tolerance * std::max(1.0, std::abs(forward)));
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!differentiate[i] || want.empty() || want[i].is_empty()) continue;
    Array got = pulled[i].is_empty() ? lax::full_like(in[i].aval(), 0) : pulled[i];
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    expect_equal(got, want[i], tolerance);
  }
}

}  // namespace apsis::checks
