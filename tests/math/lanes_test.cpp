#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "ops/math/functions.hpp"

// A second model, of four lanes, must give the bits of the scalar one.
namespace apsis::test {
namespace {

namespace math = detail::math;

constexpr int lanes = 4;

// Distinct types, as the values of a code generator are.
template <class T>
struct Floats {
  std::array<T, lanes> lane;
};
template <class T>
struct Integers {
  std::array<math::IntegerOf<T>, lanes> lane;
};
struct Truths {
  std::array<bool, lanes> lane;
};

template <class T>
struct LaneModel {
  using Scalar = T;
  using One = math::ScalarModel<T>;
  using F = Floats<T>;
  using I = Integers<T>;
  using B = Truths;
  using Wide = LaneModel<double>;

  template <class R, class Function, class... A>
  static R each(Function function, const A&... a) {
    R result;
    for (int i = 0; i < lanes; ++i) result.lane[i] = function(a.lane[i]...);
    return result;
  }

  F constant(T x) const { return {{x, x, x, x}}; }
  I integer(math::IntegerOf<T> x) const { return {{x, x, x, x}}; }

#define APSIS_LANES1(R, name, A)                             \
  R name(A a) const {                                        \
    return each<R>([](auto x) { return One{}.name(x); }, a); \
  }
#define APSIS_LANES2(R, name, A)                                           \
  R name(A a, A b) const {                                                 \
    return each<R>([](auto x, auto y) { return One{}.name(x, y); }, a, b); \
  }
  APSIS_LANES2(F, add, F)
  APSIS_LANES2(F, sub, F)
  APSIS_LANES2(F, mul, F)
  APSIS_LANES2(F, div, F)
  APSIS_LANES1(F, neg, F)
  APSIS_LANES1(F, abs, F)
  APSIS_LANES1(F, sqrt, F)
  APSIS_LANES1(F, rint, F)
  APSIS_LANES1(F, floor, F)
  APSIS_LANES2(B, lt, F)
  APSIS_LANES2(B, le, F)
  APSIS_LANES2(B, eq, F)
  APSIS_LANES2(B, eq, I)
  APSIS_LANES2(B, and_, B)
  APSIS_LANES2(B, or_, B)
  APSIS_LANES1(B, not_, B)
  APSIS_LANES1(I, to_bits, F)
  APSIS_LANES1(F, from_bits, I)
  APSIS_LANES2(I, add, I)
  APSIS_LANES2(I, sub, I)
  APSIS_LANES2(I, and_, I)
  APSIS_LANES2(I, or_, I)
  APSIS_LANES2(I, xor_, I)
#undef APSIS_LANES1
#undef APSIS_LANES2
  F fma(F a, F b, F c) const {
    return each<F>([](T x, T y, T z) { return One{}.fma(x, y, z); }, a, b, c);
  }
  F select(B c, F a, F b) const {
    return each<F>([](bool m, T x, T y) { return m ? x : y; }, c, a, b);
  }
  I select(B c, I a, I b) const {
    return each<I>([](bool m, auto x, auto y) { return m ? x : y; }, c, a, b);
  }
  I shl(I a, int n) const {
    return each<I>([n](auto x) { return One{}.shl(x, n); }, a);
  }
  I lshr(I a, int n) const {
    return each<I>([n](auto x) { return One{}.lshr(x, n); }, a);
  }
  F rare(B mask, math::RareUnary<T> slow, F x, F fast) const {
    return each<F>([&](bool m, T a, T f) { return m ? slow.function(a) : f; }, mask, x, fast);
  }
  F rare(B mask, math::RareBinary<T> slow, F x, F y, F fast) const {
    return each<F>([&](bool m, T a, T b, T f) { return m ? slow.function(a, b) : f; }, mask, x, y, fast);
  }
  Wide wide() const { return {}; }
  Floats<double> widen(F x) const {
    return each<Floats<double>>([](T a) { return double(a); }, x);
  }
  F narrow(Floats<double> x) const {
    return each<F>([](double a) { return static_cast<T>(a); }, x);
  }
};

static_assert(math::Model<LaneModel<float>> && math::Model<LaneModel<double>>);

template <class T>
math::Real<math::ScalarModel<T>> one(T x) {
  return {{}, x};
}

template <class T>
math::Real<LaneModel<T>> four(const std::array<T, lanes>& x) {
  return {{}, {x}};
}

template <class T>
bool same(T a, T b) {
  return std::bit_cast<math::IntegerOf<T>>(a) == std::bit_cast<math::IntegerOf<T>>(b) ||
         (std::isnan(a) && std::isnan(b));
}

/// Half any bits, half numbers of moderate size.
template <class T>
std::array<T, lanes> sample(std::mt19937_64& random) {
  std::array<T, lanes> x;
  for (int i = 0; i < lanes; ++i) {
    const auto bits = random();
    x[i] = i % 2 == 0 ? std::bit_cast<T>(static_cast<math::IntegerOf<T>>(bits))
                      : static_cast<T>((static_cast<double>(bits) * 0x1p-64 - 0.5) * 40);
  }
  return x;
}

template <class T, class Lane, class Scalar>
void compare(const char* name, Lane lane, Scalar scalar, int arity) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const auto x = sample<T>(random), y = sample<T>(random);
    const auto got = lane(x, y);
    for (int k = 0; k < lanes; ++k) {
      ASSERT_TRUE(same(got[k], scalar(x[k], y[k])))
          << name << " of " << arity << " at " << x[k] << ", " << y[k];
    }
  }
}

#define APSIS_CALL_1(name, make, x, y) math::name(make(x))
#define APSIS_CALL_2(name, make, x, y) math::name(make(x), make(y))
#define APSIS_COMPARE(name, arity, f32, f64, code)                                                        \
  compare<float>(                                                                                         \
      #name, [](auto x, [[maybe_unused]] auto y) { return APSIS_CALL_##arity(name, four, x, y).v.lane; }, \
      [](auto x, [[maybe_unused]] auto y) { return APSIS_CALL_##arity(name, one, x, y).v; }, arity);      \
  compare<double>(                                                                                        \
      #name, [](auto x, [[maybe_unused]] auto y) { return APSIS_CALL_##arity(name, four, x, y).v.lane; }, \
      [](auto x, [[maybe_unused]] auto y) { return APSIS_CALL_##arity(name, one, x, y).v; }, arity);

TEST(Lanes, EqualTheScalarModelBitForBit) { APSIS_MATH_FUNCTIONS(APSIS_COMPARE) }

}  // namespace
}  // namespace apsis::test
