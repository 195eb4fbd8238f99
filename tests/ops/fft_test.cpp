// The Fourier transform: its error against exact answers, batches against single calls, and its transposes.

#include <cmath>
#include <cstring>
#include <numbers>

#include <gtest/gtest.h>

#include "golden/golden.hpp"
#include "ops/fft_arrays.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

/// The same numbers as numbers() of golden/make_fft.py.
Numbers numbers(std::int64_t count) {
  std::uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<long double>(state >> 40) / 0x1p23L - 1;
  };
  Numbers out;
  for (std::int64_t i = 0; i < count; ++i) {
    const long double re = next(), im = next();
    out.push_back({re, im});
  }
  return out;
}

/// In 64 bits of mantissa, by splitting off the smallest prime factor.
Numbers reference(const Numbers& x) {
  const std::size_t n = x.size();
  std::size_t factor = 2;
  while (factor < n && n % factor != 0) ++factor;
  if (n == 1) return x;
  const std::size_t m = n / factor;
  std::vector<Numbers> parts(factor);
  for (std::size_t f = 0; f < factor; ++f) {
    for (std::size_t i = 0; i < m; ++i) parts[f].push_back(x[f + factor * i]);
    parts[f] = reference(parts[f]);
  }
  Numbers roots, y(n);
  for (std::size_t k = 0; k < n; ++k)
    roots.push_back(std::polar(1.L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                                        static_cast<long double>(n)));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t f = 0; f < factor; ++f) y[k] += roots[f * k % n] * parts[f][k % m];
  return y;
}

long double norm(const Numbers& x) {
  long double sum = 0;
  for (const auto& z : x) sum += std::norm(z);
  return std::sqrt(sum);
}
Numbers difference(const Numbers& a, const Numbers& b) {
  Numbers out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] - b[i]);
  return out;
}

/// 2 ε log₂ n, relative to the norm of the answer; a length of 1 has no error.
long double bound(std::int64_t n, bool wide) {
  return 2 * (wide ? 0x1p-52L : 0x1p-23L) * std::log2(static_cast<long double>(n));
}

Numbers transformed(const FftParams& p, bool wide, const Numbers& x) {
  const Array operand = complex_array(operand_dtype(p, wide), {static_cast<std::int64_t>(x.size())}, x);
  return numbers_of(run(fft_op, make_params(p), {&operand, 1})[0]);
}

/// What the transform should be, of the forward complex transform of x (of its real parts for a real one).
void expect_exact(const Numbers& x, const Numbers& want, bool wide) {
  const auto n = static_cast<std::int64_t>(x.size());
  EXPECT_LE(norm(difference(transformed({.length = n}, wide, x), want)), bound(n, wide) * norm(want));
  Numbers turned = want;  // the inverse runs through the frequencies from the other end
  std::reverse(turned.begin() + 1, turned.end());
  EXPECT_LE(norm(difference(transformed({.inverse = true, .length = n}, wide, x), turned)),
            bound(n, wide) * norm(want));
}

void expect_real_exact(const Numbers& x, const Numbers& want, bool wide) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Numbers half(want.begin(), want.begin() + n / 2 + 1);
  for (bool inverse : {false, true}) {
    FftParams p{.kind = FftKind::RealToComplex, .inverse = inverse, .length = n};
    Numbers answer = half;
    if (inverse)
      for (auto& z : answer) z = std::conj(z);
    EXPECT_LE(norm(difference(transformed(p, wide, x), answer)), bound(n, wide) * norm(half));
    p.kind = FftKind::RealToWhole;
    Numbers all = want;
    if (inverse) std::reverse(all.begin() + 1, all.end());
    EXPECT_LE(norm(difference(transformed(p, wide, x), all)), bound(n, wide) * norm(all));
    // Back: from the rounded spectrum, whose rounding counts once more.
    p = {.kind = FftKind::ComplexToReal,
         .inverse = !inverse,
         .doubled = true,
         .length = n,
         .scale = 1 / static_cast<double>(n)};
    const long double rounding = wide ? 0x1p-53L : 0x1p-24L;
    EXPECT_LE(norm(difference(transformed(p, wide, answer), x)), (bound(n, wide) + 2 * rounding) * norm(x));
  }
}

Numbers real_parts(Numbers x) {
  for (auto& z : x) z = z.real();
  return x;
}

TEST(Fft, ErrorIsWithinTwoEpsilonLogN) {
  for (const golden::Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/fft_exact.txt")) {
    const std::int64_t n = std::stoll(c.text.at("n"));
    SCOPED_TRACE(n);
    const Numbers x = numbers(n);
    const golden::Field& y = c["y"];
    Numbers want;
    for (std::size_t i = 0; i < y.real.size(); ++i) want.push_back({y.real[i], y.imag[i]});
    const auto& entries = c["entries"].integers;
    for (bool wide : {true, false}) {
      if (entries.empty()) {
        expect_exact(x, want, wide);
        continue;
      }
      // Some entries of a long one: the error spreads evenly over all, each has a hundredth of the norm or
      // less.
      const Numbers all = transformed({.length = n}, wide, x);
      const long double size = std::sqrt(static_cast<long double>(n)) * norm(x);
      for (std::size_t i = 0; i < entries.size(); ++i)
        EXPECT_LE(std::abs(all[static_cast<std::size_t>(entries[i])] - want[i]), bound(n, wide) * size / 10);
    }
  }
}

// Large results are written past the cache.
TEST(Fft, OfManyLinesAreThoseOfOne) {
  for (const std::int64_t n : {64, 256, 1024, 4096, 16384})
    for (const bool inverse : {false, true}) {
      const std::int64_t lines = 614400 / n + 1;
      const Numbers x = numbers(lines * n);
      const Params params = make_params(FftParams{.inverse = inverse, .axis = 1, .length = n, .scale = 0.5});
      const Array all = complex_array(Dtype::C128, {lines, n}, x), whole = run(fft_op, params, {&all, 1})[0];
      for (std::int64_t line : {std::int64_t{0}, lines / 2 + 1, lines - 1}) {
        const Numbers part(x.begin() + line * n, x.begin() + (line + 1) * n);
        const Array one = complex_array(Dtype::C128, {1, n}, part), alone = run(fft_op, params, {&one, 1})[0];
        EXPECT_EQ(std::memcmp(static_cast<const double*>(data_of(whole)) + 2 * line * n, data_of(alone),
                              static_cast<std::size_t>(2 * n) * sizeof(double)),
                  0)
            << n << ", line " << line;
      }
    }
}

TEST(Fft, ErrorOfLongAndOfRealTransforms) {
  std::vector<std::int64_t> lengths = {211,  243,  256,  360,  512,   1000,  1009, 1024,
                                       1155, 2048, 2053, 2187, 3125,  4096,  4232, 5000,
                                       5040, 6561, 8192, 9261, 12100, 15360, 65536};
  for (std::int64_t n = 1; n <= 128; ++n) lengths.push_back(n);
  for (std::int64_t n : lengths) {
    SCOPED_TRACE(n);
    const Numbers x = numbers(n), want = reference(x), real = real_parts(x), of_real = reference(real);
    for (bool wide : {true, false}) {
      expect_exact(x, want, wide);
      expect_real_exact(real, of_real, wide);
    }
  }
}

/// The line that has `entries` entries from `first` on, `stride` apart.
Array line_of(const Array& a, std::int64_t entries, std::int64_t first, std::int64_t stride) {
  Array out = allocate(Aval(a.dtype(), {entries}));
  const std::size_t bytes = item_size(a.dtype());
  for (std::int64_t i = 0; i < entries; ++i)
    std::memcpy(mutable_data<char>(out) + static_cast<std::size_t>(i) * bytes,
                static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(first + i * stride) * bytes,
                bytes);
  return out;
}

TEST(Fft, ABatchIsItsCalls) {
  Random random(81);
  for (std::int64_t n :
       {1, 2, 3, 5, 7, 8, 12, 16, 17, 30, 32, 34, 47, 64, 81, 128, 143, 176, 256, 300, 320, 512, 1024})
    for (const Shape& around : std::vector<Shape>{{1, 9}, {1, 33}, {3, 2}, {2, 17}, {40, 1}, {5, 1}})
      for (FftParams p : all_transforms(n, 1))
        for (bool wide : {true, false}) {
          const std::int64_t outer = around[0], inner = around[1], entries = operand_entries(p);
          const Array x = random_complex(random, operand_dtype(p, wide), {outer, entries, inner});
          const Array y = run(fft_op, make_params(p), {&x, 1})[0];
          FftParams alone = p;
          alone.axis = 0;
          for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < inner; i += 5) {
              const Array one = line_of(x, entries, o * entries * inner + i, inner);
              ASSERT_TRUE(same_elements(run(fft_op, make_params(alone), {&one, 1})[0],
                                        line_of(y, y.dim(1), o * y.dim(1) * inner + i, inner)))
                  << to_string(make_params(p)) << " of " << to_string(x.aval()) << ", line " << o << ", "
                  << i;
            }
        }
}

// A long line alone is transformed in two halves, by threads and, the longest, past the cache; lines side by
// side go pass by pass.
TEST(Fft, ALongLineIsOneOfAMatrix) {
  Random random(83);
  for (std::int64_t n : {4096, 4375, 5000, 8192, 9261, 16384, 20480, 32768, 65536, 524288})
    for (bool wide : {true, false})
      for (const FftParams& p : all_transforms(n)) {
        if (p.kind != FftKind::Complex && p.kind != FftKind::RealToWhole) continue;
        const Array x = random_complex(random, operand_dtype(p, wide), {n, 5});
        const Array y = run(fft_op, make_params(p), {&x, 1})[0], one = line_of(x, n, 2, 5);
        ASSERT_TRUE(same_elements(run(fft_op, make_params(p), {&one, 1})[0], line_of(y, n, 2, 5))) << n;
      }
}

/// The real part of Σ a b: what a cotangent and a tangent give, in JAX's convention.
long double paired(const Array& a, const Array& b) {
  const Numbers x = numbers_of(a), y = numbers_of(b);
  std::complex<long double> sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum.real();
}

TEST(Fft, TransposeIsTheAdjoint) {
  Random random(82);
  for (std::int64_t n : {1, 2, 3, 4, 5, 8, 9, 16, 17, 60})
    for (const FftParams& p : all_transforms(n)) {
      const Params params = make_params(p);
      const Array x = random_complex(random, operand_dtype(p, true), {operand_entries(p), 2});
      const Array y = run(fft_op, params, {&x, 1})[0];
      const Array cotangent = random_complex(random, y.dtype(), y.shape()), residual, none;
      Accumulator operand(true, x.aval()), nothing(true, x.aval());
      fft_op.transpose({params, {&residual, 1}, {&cotangent, 1}, {&operand, 1}});
      ASSERT_EQ(operand.terms().size(), 1u);
      EXPECT_EQ(operand.terms()[0].cotangent.aval(), x.aval());
      EXPECT_NEAR(static_cast<double>(paired(cotangent, y)),
                  static_cast<double>(paired(operand.terms()[0].cotangent, x)), 1e-12)
          << to_string(params);
      fft_op.transpose({params, {&residual, 1}, {&none, 1}, {&nothing, 1}});
      EXPECT_TRUE(nothing.terms().empty());
    }
}

}  // namespace
}  // namespace apsis::testing
