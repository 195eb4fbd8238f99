// Places of extrema become code of loops.

#include "passes/spread_extrema.hpp"

#include <cmath>
#include <limits>

#include "apsis/apsis.hpp"
#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

/// Ties, zeros of both signs, and NaNs in some lines.
Array numbers(const Shape& shape, Dtype dtype) {
  Array x = detail::filled({dtype, shape}, 3);
  if (dtype == boolean) return x;
  x = astype(astype(x, i32), dtype);
  if (!is_floating(dtype)) return x;
  const Array at = reshape(arange(shape.product()), shape);
  x = where(at % 7 == 3, full_like(x, -0.), x);
  return where((at % 50 == 11) | (at % 50 == 13), full_like(x, std::numeric_limits<double>::quiet_NaN()), x);
}

TEST(SpreadExtrema, OfEveryDtypeAxisAndLength) {
  for (const Dtype dtype : {f64, f32, bf16, i64, u32, boolean})
    for (const Shape& shape : std::vector<Shape>{{300}, {40, 3}, {16, 17}, {2, 5, 11}, {40, 1}})
      for (std::int64_t axis = 0; axis < shape.rank(); ++axis)
        expect_graph_compiled_equal(
            [&](const Array& x) {
              const int along = static_cast<int>(axis);
              return std::pair{argmax(x, {.axis = along}), argmin(x, {.axis = along})};
            },
            numbers(shape, dtype));
}

TEST(SpreadExtrema, OfWhatIsMadeInLoopsAndLanes) {
  const Array x = numbers({200, 5}, f64);
  expect_graph_compiled_equal(
      [](const Array& a) { return argmax(exp(-a * a), {.axis = 1}) + argmin(sin(a), {.axis = 1}); }, x);
  expect_graph_compiled_equal(
      [](const Array& a) {
        return fori_loop(
            0, 4,
            [&](const Array& i, const Array& y) { return y + astype(argmax(a * y[i], {.axis = 0}), f64)[0]; },
            a[3]);
      },
      x);
  expect_graph_compiled_equal(
      [](const Array& a) { return vmap([](const Array& row) { return argmax(row) * 2; })(a); }, x);
  expect_graph_compiled_equal(
      [](const Array& a) {
        return vmap([](const Array& row) {
          return while_loop([](const Array& y) { return y[0] < 40.; },
                            [](const Array& y) {
                              return y + 1. + astype(argmax(concatenate({y, y, y, -y})), f64);
                            },
                            row);
        })(a);
      },
      x);
}

TEST(SpreadExtrema, HasNoGradient) {
  const Array x = numbers({40, 3}, f64);
  const Array g = grad([](const Array& a) {
    return sum(where(isnan(a), 0., a) * astype(expand_dims(argmax(a, {.axis = 1}), 1), f64));
  })(x);
  EXPECT_TRUE(
      all(where(isnan(x), true, g == astype(expand_dims(argmax(x, {.axis = 1}), 1), f64))).item<bool>());
}

}  // namespace
}  // namespace apsis::testing
