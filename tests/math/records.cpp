#include "math/records.hpp"

#include <cstring>
#include <stdexcept>

namespace apsis::test {
namespace {

namespace math = detail::math;

template <class T>
math::Real<math::ScalarModel<T>> real(T x) {
  return {{}, x};
}

#define UNARY(name) \
#name, [](float x) { return math::name(real(x)).v; }, [](double x) { return math::name(real(x)).v; }
#define BINARY(name)                                                  \
#name,                                                              \
      [](float x,                                                     \
         float                                                        \
             y) { return math::name(real(x), real(y)).v; },           \
                                                         [](double x, \
                                                            double    \
                                                                y) { return math::name(real(x), real(y)).v; }
#define BY(function) [](mpfr_ptr r, mpfr_srcptr x) { function(r, x, MPFR_RNDN); }
#define BY2(function) [](mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y) { function(r, x, y, MPFR_RNDN); }

/// The neighbourhoods of multiples of pi/2, where the reduction of the argument is put to the test.
std::vector<double> quarter_turns() {
  // The doubles nearest to a multiple of pi/2 in relation to their size (Muller, Elementary Functions, ch.
  // 11), and others that are near for their binade.
  std::vector<double> points = {0x1.6ac5b262ca1ffp+849,
                                0x1.26cb8f4e5dec8p+1,
                                6381956970095103.0 * 0x1p+797,
                                0x1.921fb54442d18p+20,
                                1e6,
                                std::nextafter(1e6, 0),
                                20000,
                                std::nextafterf(20000.f, 0)};
  for (int k = 1; k < 2000; ++k) points.push_back(k * 1.5707963267948966);
  for (double k = 2001; k < 1e6; k *= 1.01) points.push_back(std::floor(k) * 1.5707963267948966);
  return points;
}

}  // namespace

const std::vector<UnaryRecord>& unary_records() {
  static const std::vector<UnaryRecord> records = {
      {UNARY(sqrt), BY(mpfr_sqrt), {{0, 4}}, {}},
      {UNARY(rsqrt), exact_rsqrt, {{0.25, 4}}, {}},
      {UNARY(cbrt), BY(mpfr_cbrt), {{-8, 8}}, {8, 27, 1e-300}},
      {UNARY(exp),
       BY(mpfr_exp),
       {{-1, 1}, {-745.2, 709.8}, {-104, 88.8}},
       {709.782712893384, -708.4, -745.1332191019412}},
      {UNARY(exp2), BY(mpfr_exp2), {{-1, 1}, {-1075, 1024}, {-150, 128}}, {1024, -1022, -1074, -1075}},
      {UNARY(expm1),
       BY(mpfr_expm1),
       {{-1, 1}, {0.3, 0.7}, {-40, 709.8}, {-18, 88.8}},
       {0.52, -0.52, 709.782712893384}},
      {UNARY(log),
       BY(mpfr_log),
       {{0.5, 2}, {0, 100}, {0.99, 1.01}},
       {1, 0.7071067811865476, 1.4142135623730951}},
      {UNARY(log2), BY(mpfr_log2), {{0.5, 2}, {0, 100}, {0.99, 1.01}}, {1, 2, 0.7071067811865476}},
      {UNARY(log10), BY(mpfr_log10), {{0.5, 2}, {0, 1000}, {0.99, 1.01}}, {1, 10, 100, 0.7071067811865476}},
      {UNARY(log1p), BY(mpfr_log1p), {{-1, 1}, {-0.3, 0.5}, {0, 100}}, {-1, 0x1p60, 0.41421356237309515}},
      {UNARY(sin),
       BY(mpfr_sin),
       {{-4, 4}, {1.2, 1.9}, {-1e6, 1e6}, {-2e4, 2e4}, {1e6, 1e9}},
       quarter_turns()},
      {UNARY(cos),
       BY(mpfr_cos),
       {{-4, 4}, {-0.4, 0.4}, {-1e6, 1e6}, {-2e4, 2e4}, {1e6, 1e9}},
       quarter_turns()},
      {UNARY(tan),
       BY(mpfr_tan),
       {{-2, 2}, {0.7, 0.9}, {-1e6, 1e6}, {-2e4, 2e4}, {1e6, 1e9}},
       quarter_turns()},
      {UNARY(asin), BY(mpfr_asin), {{-1, 1}, {0.49, 0.6}, {0.99, 1}}, {0.5, 1}},
      {UNARY(acos), BY(mpfr_acos), {{-1, 1}, {0.49, 0.62}, {0.99, 1}, {-1, -0.49}}, {0.5, -0.5, 1, -1}},
      {UNARY(atan), BY(mpfr_atan), {{-2, 2}, {0.9, 1.1}, {-100, 100}}, {1, -1}},
      {UNARY(sinh), BY(mpfr_sinh), {{-2, 2}, {1, 1.5}, {-711, 711}, {-90, 90}}, {1, 710.4758600739439}},
      {UNARY(cosh), BY(mpfr_cosh), {{-2, 2}, {-711, 711}, {-90, 90}}, {710.4758600739439}},
      {UNARY(tanh), BY(mpfr_tanh), {{-1, 1}, {0.2, 0.35}, {-22, 22}}, {0.25992, 10, 20}},
      {UNARY(asinh), BY(mpfr_asinh), {{-1, 1}, {-100, 100}}, {0x1p40, 1e300}},
      {UNARY(acosh), BY(mpfr_acosh), {{1, 2}, {1, 1.05}, {1, 100}}, {1, 0x1p40, 1e300}},
      {UNARY(atanh), BY(mpfr_atanh), {{-1, 1}, {-0.2, 0.2}}, {1, -1}},
      {UNARY(logistic), exact_logistic, {{-2, 2}, {-745, 40}, {-104, 20}}, {}},
      {UNARY(erf), BY(mpfr_erf), {{-1, 1}, {0.7, 1}, {-6, 6}}, {0.75}, 2},
      {UNARY(erfc), BY(mpfr_erfc), {{-1, 1}, {0.45, 0.6}, {-6, 27.3}, {0, 10.1}}, {0.5, 26.5432}, 4},
      {UNARY(erf_inv), exact_erf_inv, {{-1, 1}, {0.45, 0.65}, {0.99, 1}}, {1, -1}, 20},
      {UNARY(lgamma),
       exact_lgamma,
       {{0, 4}, {0.9, 2.1}, {2.4, 2.6}, {0, 200}, {-5, 0}, {-30, 0}},
       {1, 2, 2.5, -2.4570247382208006, -2.7476826467274126, -3.955294284858598, 2.556348163871691e305},
       20,
       0x1p-95},
      {UNARY(digamma),
       exact_digamma,
       {{0, 4}, {1.4, 1.5}, {2.4, 2.6}, {0, 200}, {-5, 0}, {-30, 0}},
       {1, 2, 2.5, 1.4616321449683623, -0.5040830082644554, -1.5734984731623904},
       20,
       0x1p-95},
      {UNARY(ceil), [](mpfr_ptr r, mpfr_srcptr x) { mpfr_ceil(r, x); }, {{-10, 10}}, {0.5, 1, -1}},
      {UNARY(trunc), [](mpfr_ptr r, mpfr_srcptr x) { mpfr_trunc(r, x); }, {{-10, 10}}, {0.5, 1, -1}},
  };
  return records;
}

const std::vector<BinaryRecord>& binary_records() {
  static const std::vector<BinaryRecord> records = {
      {BINARY(pow),
       BY2(mpfr_pow),
       {{0, 2}, {0.9, 1.1}, {0, 1e10}, {0.5, 0.8}, {1, 1.0000001}, {-10, 10}},
       {{-10, 10}, {-3000, 3000}, {-30, 30}, {-1000, 3000}, {1e5, 1e9}, {-3, 3}}},
      {BINARY(hypot), BY2(mpfr_hypot), {{-2, 2}, {1, 1}, {0, 1e-300}}, {{-2, 2}, {0, 1e-5}, {0, 1e-305}}},
      {BINARY(atan2), BY2(mpfr_atan2), {{-2, 2}, {-1, 1}, {1, 1.1}}, {{-2, 2}, {-1e3, 1e3}, {-1.1, -1}}},
      {BINARY(fmod),
       BY2(mpfr_fmod),
       {{-10, 10}, {-1e18, 1e18}, {-1e5, 1e5}},
       {{-3, 3}, {-1e3, 1e3}, {-1e-3, 1e-3}}},
  };
  return records;
}

const math::FunctionRecord& function_record(const char* name) {
  for (const math::FunctionRecord& record : math::functions) {
    if (std::strcmp(record.name, name) == 0) return record;
  }
  throw std::invalid_argument(name);
}

}  // namespace apsis::test
