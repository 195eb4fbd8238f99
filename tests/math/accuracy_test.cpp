#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "math/records.hpp"

// Every elementary function against MPFR, on samples.
namespace apsis::test {
namespace {

constexpr int sample_count = 12000;

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0;
};

template <class T>
T any_bits(std::mt19937_64& random) {
  return std::bit_cast<T>(static_cast<detail::math::IntegerOf<T>>(random()));
}

template <class T>
T inside(std::mt19937_64& random, Interval interval) {
  return static_cast<T>(interval.low +
                        (interval.high - interval.low) * (static_cast<double>(random()) * 0x1p-64));
}

template <class T>
Worst<T> measure(const UnaryRecord& record) {
  T (*function)(T);
  if constexpr (sizeof(T) == 4) {
    function = record.f32;
  } else {
    function = record.f64;
  }
  Worst<T> worst;
  Exact exact;
  const auto check = [&](T x) {
    Exact argument(x);
    record.exact(exact, argument);
    const T got = function(x);
    const double error = error_in_ulp(got, exact);
    if (!(error > worst.error)) return;
    if (record.absolute > 0 && std::isfinite(got)) {
      Exact difference(got);
      mpfr_sub(difference, difference, exact, MPFR_RNDN);
      if (std::fabs(mpfr_get_d(difference, MPFR_RNDN)) < record.absolute) return;
    }
    worst = {error, x};
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < sample_count / record.cost; ++i) {
    check(any_bits<T>(random));
    check(inside<T>(random, record.intervals[i % record.intervals.size()]));
  }
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (double point : record.points) {
    T above = static_cast<T>(point), below = above;
    for (int i = 0; i < 4; ++i) {
      check(above);
      check(below);
      check(-above);
      above = std::nextafter(above, infinity);
      below = std::nextafter(below, -infinity);
    }
  }
  for (T x : {T(0), infinity, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
              std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::quiet_NaN()}) {
    check(x);
    check(-x);
  }
  return worst;
}

template <class T>
Worst<T> measure(const BinaryRecord& record) {
  T (*function)(T, T);
  if constexpr (sizeof(T) == 4) {
    function = record.f32;
  } else {
    function = record.f64;
  }
  Worst<T> worst;
  Exact exact;
  const auto check = [&](T x, T y) {
    Exact a(x), b(y);
    record.exact(exact, a, b);
    const double error = error_in_ulp(function(x, y), exact);
    if (error > worst.error) worst = {error, x, y};
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < sample_count; ++i) {
    check(any_bits<T>(random), any_bits<T>(random));
    const std::size_t k = i % record.x.size();
    const T x = inside<T>(random, record.x[k]), y = inside<T>(random, record.y[k]);
    check(x, y);
    check(y, x);
    check(x, x);
  }
  return worst;
}

std::string argument(const Worst<float>& worst, int arity) {
  char text[80];
  std::snprintf(text, sizeof text, arity == 1 ? "%.9g" : "%.9g, %.9g", double(worst.x), double(worst.y));
  return text;
}

std::string argument(const Worst<double>& worst, int arity) {
  char text[80];
  std::snprintf(text, sizeof text, arity == 1 ? "%.17g" : "%.17g, %.17g", worst.x, worst.y);
  return text;
}

template <class Record>
std::string row(const Record& record) {
  const auto& bounds = function_record(record.name);
  const Worst<float> f32 = measure<float>(record);
  const Worst<double> f64 = measure<double>(record);
  EXPECT_LE(f32.error, bounds.ulp_f32) << record.name << " of f32 at " << argument(f32, bounds.arity);
  EXPECT_LE(f64.error, bounds.ulp_f64) << record.name << " of f64 at " << argument(f64, bounds.arity);
  char text[300];
  std::snprintf(text, sizeof text, "| %s | %.3f | %.1f | %s | %.3f | %.1f | %s |", record.name, f32.error,
                bounds.ulp_f32, argument(f32, bounds.arity).c_str(), f64.error, bounds.ulp_f64,
                argument(f64, bounds.arity).c_str());
  return text;
}

TEST(Accuracy, EveryFunctionHasARecord) {
  std::set<std::string> tested;
  for (const auto& record : unary_records()) tested.insert(record.name);
  for (const auto& record : binary_records()) tested.insert(record.name);
  for (const auto& function : detail::math::functions) {
    EXPECT_TRUE(tested.count(function.name)) << function.name;
    EXPECT_LE(function.ulp_f32, 2) << function.name;
    EXPECT_LE(function.ulp_f64, 2) << function.name;
  }
  EXPECT_EQ(tested.size(), std::size(detail::math::functions));
}

/// What follows the table of elementary functions: that of special ones, which tests/array writes.
std::string rest_of(const char* path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::size_t place = text.str().find("\n## Special functions\n");
  return place == std::string::npos ? "" : text.str().substr(place);
}

/// With APSIS_ACCURACY=FILE in the environment, writes the table of docs/accuracy.md there.
TEST(Accuracy, StaysWithinTheStatedBounds) {
  std::string table =
      "| function | f32: ULP | bound | at | f64: ULP | bound | at |\n|---|---|---|---|---|---|---|\n";
  for (const auto& record : unary_records()) table += row(record) + "\n";
  for (const auto& record : binary_records()) table += row(record) + "\n";
  std::fputs(table.c_str(), stdout);
  if (const char* file = std::getenv("APSIS_ACCURACY")) {
    const std::string rest = rest_of(file);
    std::ofstream(file)
        << "# Accuracy of the elementary functions {#accuracy}\n\n"
           "Largest errors found, in units in the last place (ULP), against MPFR at 130 bits: arguments from "
           "all "
           "bit patterns,\nfrom intervals where an error is likely, and around points where a formula "
           "changes. "
           "Bounds are asserted by\n`tests/math`; `make test-slow` checks the f32 functions on all 2^32 "
           "arguments. "
           "lgamma and digamma keep their bound\nexcept near their zeros on the negative axis, where the "
           "absolute "
           "error is below 2^-95.\n\nMade by `APSIS_ACCURACY=docs/accuracy.md build/tests/math/test_math "
           "--gtest_filter=Accuracy.*`.\n\n"
        << table << rest;
  }
}

}  // namespace
}  // namespace apsis::test
