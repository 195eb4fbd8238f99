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
#define LIST(...) \
  { __VA_ARGS__ }
#define BY_EXACTLY(function) [](mpfr_ptr r, mpfr_srcptr x) { function(r, x); }
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
#define FUNCTION(name, exact, intervals, points, low, high, cost, absolute) \
  {UNARY(name), exact, LIST intervals, LIST points, cost, absolute},
#include "math/unary_functions.inc"
#undef FUNCTION
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
