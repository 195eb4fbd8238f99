// Functions of elements beside those of ops.cpp: the gamma family, steps, remainders, complex functions, and
// bits of numbers.

#include <bit>
#include <cmath>

#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

Array positive(const Array& x) { return 1.25 + square(x); }
Number positive(const Number& x) { return Number(1.25) + x * x; }
Array small(const Array& x) { return 0.75 * apsis::tanh(x); }
Number small(const Number& x) { return Number(0.75) * tanh(x); }

// What is constant but for steps: at one, rounding decides.
Array stretched(const Array& x) { return 3. * x + 0.2137; }
template <class Step>
Number stepped(const Number& x, Step&& step) {
  const long double s = 3 * x.value() + 0.2137L, margin = 1e-9L * std::max(1.L, std::abs(s));
  if (step(s - margin) != step(s + margin)) account.ambiguous = true;
  return Number(step(s));
}

/// y with erf(y) = x, by Newton's steps, each of which doubles the order of the derivatives that are right.
Number inverse_of_erf(const Number& x) {
  const Number half_root_of_pi(std::sqrt(std::acos(-1.L)) / 2);
  Number y(0);
  for (int i = 0; i < 10; ++i) y = y - half_root_of_pi * exp(y * y) * (erf(y) - x);
  return y;
}

/// The unsigned integers of a floating-point dtype's size.
Dtype bits_of(const Array& x) { return x.dtype() == f32 ? u32 : u64; }

/// Of a map that multiplies each element by a number of its own.
constexpr auto by_diagonal = [](const auto& map, const Array& right) {
  return right / map(ones_like(right));
};
/// Steps of a contraction, half of the error each, and none of them has a derivative.
constexpr auto contracted = [](const auto& f, const Array& start) {
  return fori_loop(
      0, 60, [&](const Array&, const Array& y) { return y - f(y); }, start);
};

const ArrayOp table[] = {
    elementwise<1>(
        "lgamma", [](Arrays x, Statics, const Array&) { return apsis::lgamma(positive(x[0])); },
        [](Numbers x) { return lgamma(positive(x[0])); }),
    elementwise<1>(
        "digamma", [](Arrays x, Statics, const Array&) { return digamma(positive(x[0])); },
        [](Numbers x) { return polygamma(0, positive(x[0])); }),
    elementwise<1>(
        "trigamma", [](Arrays x, Statics, const Array&) { return trigamma(positive(x[0])); },
        [](Numbers x) { return polygamma(1, positive(x[0])); }),
    elementwise<1>(
        "erfc", [](Arrays x, Statics, const Array&) { return apsis::erfc(x[0]); },
        [](Numbers x) { return Number(1) - erf(x[0]); }),
    elementwise<1>(
        "erf_inv", [](Arrays x, Statics, const Array&) { return erf_inv(small(x[0])); },
        [](Numbers x) { return inverse_of_erf(small(x[0])); }),
    elementwise<1>(
        "acos_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::acos(small(x[0])); },
        [](Numbers x) {
          const Number s = small(x[0]);
          return Number(std::acos(0.L)) - atan(s / sqrt(Number(1) - s * s));
        }),
    elementwise<1>(
        "log10_of_square", [](Arrays x, Statics, const Array&) { return apsis::log10(positive(x[0])); },
        [](Numbers x) { return log(positive(x[0])) / Number(std::log(10.L)); }),
    elementwise<1>(
        "log1mexp", [](Arrays x, Statics, const Array&) { return log1mexp(positive(x[0])); },
        [](Numbers x) { return log(Number(1) - exp(-positive(x[0]))); }),
    elementwise<1>(
        "cube", [](Arrays x, Statics, const Array&) { return apsis::pow(x[0], 3); },
        [](Numbers x) { return x[0] * x[0] * x[0]; }),
    elementwise<1>(
        "inverse_square", [](Arrays x, Statics, const Array&) { return apsis::pow(positive(x[0]), -2); },
        [](Numbers x) { return reciprocal(positive(x[0]) * positive(x[0])); }),

    elementwise<1>(
        "floor", [](Arrays x, Statics, const Array&) { return apsis::floor(stretched(x[0])); },
        [](Numbers x) { return stepped(x[0], [](long double s) { return std::floor(s); }); }),
    elementwise<1>(
        "ceil", [](Arrays x, Statics, const Array&) { return apsis::ceil(stretched(x[0])); },
        [](Numbers x) { return stepped(x[0], [](long double s) { return std::ceil(s); }); }),
    elementwise<1>(
        "round", [](Arrays x, Statics, const Array&) { return apsis::round(stretched(x[0])); },
        [](Numbers x) { return stepped(x[0], [](long double s) { return std::nearbyint(s); }); }),
    elementwise<1>(
        "trunc", [](Arrays x, Statics, const Array&) { return apsis::trunc(stretched(x[0])); },
        [](Numbers x) { return stepped(x[0], [](long double s) { return std::trunc(s); }); }),
    elementwise<1>(
        "sign", [](Arrays x, Statics, const Array&) { return apsis::sign(stretched(x[0])); },
        [](Numbers x) { return stepped(x[0], [](long double s) { return s < 0 ? -1.L : 1.L; }); }),
    elementwise<2>(
        "copysign", [](Arrays x, Statics, const Array&) { return copysign(positive(x[0]), stretched(x[1])); },
        [](Numbers x) {
          return positive(x[0]) * stepped(x[1], [](long double s) { return s < 0 ? -1.L : 1.L; });
        }),
    elementwise<2>(
        "fmod", [](Arrays x, Statics, const Array&) { return apsis::fmod(stretched(x[0]), positive(x[1])); },
        [](Numbers x) {
          const Number s = Number(3) * x[0] + Number(0.2137), y = positive(x[1]);
          const long double turns = s.value() / y.value();
          if (std::abs(turns - std::round(turns)) < 1e-9L * std::max(1.L, std::abs(turns)))
            account.ambiguous = true;
          return s - Number(std::trunc(turns)) * y;
        }),
    elementwise<1>(
        "next", [](Arrays x, Statics, const Array&) { return nextafter(x[0]); },
        [](Numbers x) { return x[0]; }),
    elementwise<1>(
        "reduced_precision", [](Arrays x, Statics, const Array&) { return reduce_precision(x[0], 11, 51); },
        [](Numbers x) { return x[0]; }),
    elementwise<1>(
        "finite_part", [](Arrays x, Statics, const Array&) { return where(isfinite(x[0]), x[0], 0.); },
        [](Numbers x) { return x[0]; }),
    elementwise<2>(
        "barrier",
        [](Arrays x, Statics, const Array&) {
          const auto [a, b] = optimization_barrier(std::pair{x[0], x[1]});
          return a * b;
        },
        [](Numbers x) { return x[0] * x[1]; }),

    elementwise<1>(
        "named", [](Arrays x, Statics, const Array&) { return checkpoint_name(x[0], "kept") * 2.; },
        [](Numbers x) { return x[0] * Number(2); }),
    // y with y - sin(y) / 2 = x, Kepler's equation.
    elementwise<1>(
        "implicit_root",
        [](Arrays x, Statics, const Array&) {
          return custom_root([&](const Array& y) { return y - 0.5 * apsis::sin(y) - x[0]; }, zeros_like(x[0]),
                             contracted, by_diagonal);
        },
        [](Numbers x) {
          Number y = x[0];
          for (int i = 0; i < 60; ++i) y = x[0] + Number(0.5L) * sin(y);
          for (int i = 0; i < 6; ++i)
            y = y - (y - Number(0.5L) * sin(y) - x[0]) / (Number(1) - Number(0.5L) * cos(y));
          return y;
        }),
    elementwise<2>(
        "implicit_solve",
        [](Arrays x, Statics, const Array&) {
          const Array factor = positive(x[1]);
          return custom_linear_solve([&](const Array& y) { return factor * y; }, x[0], by_diagonal,
                                     {.symmetric = true});
        },
        [](Numbers x) { return x[0] / positive(x[1]); }),

    elementwise<2>(
        "complex_abs", [](Arrays x, Statics, const Array&) { return abs(complex(positive(x[0]), x[1])); },
        [](Numbers x) { return sqrt(positive(x[0]) * positive(x[0]) + x[1] * x[1]); }),
    elementwise<2>(
        "complex_sin",
        [](Arrays x, Statics, const Array&) { return imag(sin(complex(x[0], apsis::tanh(x[1])))); },
        [](Numbers x) {
          const Number e = exp(tanh(x[1]));
          return cos(x[0]) * (e - reciprocal(e)) * Number(0.5L);
        }),
    elementwise<2>(
        "complex_power",
        [](Arrays x, Statics, const Array&) {
          return real(pow(complex(positive(x[0]), apsis::tanh(x[1])), 1.5));
        },
        [](Numbers x) {
          const Number re = positive(x[0]), im = tanh(x[1]);
          return exp(Number(0.75L) * log(re * re + im * im)) * cos(Number(1.5L) * atan(im / re));
        }),

    // Bits: what has no derivative.
    elementwise<1>(
        "bits_and_back",
        [](Arrays x, Statics, const Array&) {
          const Array bits = bitcast_convert_type(x[0], bits_of(x[0]));
          const Array low = bits & 255, high = (bits >> 8) << 8;
          return bitcast_convert_type(~(~low & ~high) ^ 0, x[0].dtype());
        },
        [](Numbers x) { return Number(x[0].value()); }),
    elementwise<1>(
        "bits_set",
        [](Arrays x, Statics, const Array&) { return astype(population_count(places(x[0])), x[0].dtype()); },
        [](Numbers x) { return Number(std::popcount(static_cast<std::uint64_t>(place(x[0])))); }),
    elementwise<1>(
        "leading_zeros",
        [](Arrays x, Statics, const Array&) {
          return astype(count_leading_zeros(places(x[0])), x[0].dtype());
        },
        [](Numbers x) { return Number(std::countl_zero(static_cast<std::uint64_t>(place(x[0])))); }),
    elementwise<1>(
        "halved_place",
        [](Arrays x, Statics, const Array&) { return astype(-places(x[0]) >> 1, x[0].dtype()); },
        [](Numbers x) { return Number(static_cast<long double>(-place(x[0]) >> 1)); }),
};

}  // namespace

std::span<const ArrayOp> function_ops() { return table; }

}  // namespace apsis::compositions
