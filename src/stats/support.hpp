// What the distributions share: a family is written once, for location 0 and scale 1, and the functions here
// make its public ones of it.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "apsis/array/special.hpp"
#include "apsis/base/loc.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"

namespace apsis::stats::detail {

constexpr double log_root_two_pi = 0.91893853320467274178;  // log √2π

/// The arguments of a function, promoted to one floating dtype, f16 and bf16 widened to f32.
struct Arguments {
  std::vector<Array> v;
  Dtype dtype;  ///< of the result
};
/// Throws, naming `where`, for complex numbers.
Arguments promoted(const char* where, std::initializer_list<Array> given);
/// What shapes broadcast to. Throws, naming `where`, if they do not.
Shape broadcast_shape(const char* where, std::initializer_list<Shape> shapes);
/// `promoted` of arguments that broadcast.
Arguments arguments(const char* where, std::initializer_list<Array> given);
/// In the dtype of the result.
Array finished(const Array& y, const Arguments& of);

/// The parameters of a family but for location and scale, in the order of its public functions.
using Parameters = std::span<const Array>;
/// A function of the standardised variable z = (x - loc) / scale. z is no NaN, and may be infinite.
using Standard = Array (*)(const Array& z, Parameters p);

/// A distribution on the real numbers, at location 0 and scale 1. What does not exist is null.
struct Family {
  Array (*valid)(Parameters p) = nullptr;  ///< whether parameters are in their range; a NaN is not
  Standard log_density;                    ///< -∞ outside of the support
  Standard cdf = nullptr, log_cdf = nullptr, sf = nullptr, log_sf = nullptr;  ///< below and above z
  Standard ppf = nullptr, isf = nullptr;  ///< the z with cdf q, with sf q; for q in [0, 1]
};

// `given` are x, the parameters, loc and scale. NaN where one is NaN or a parameter out of its range.

/// f(z) - log(scale).
Array log_density(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
                  Loc place);
/// exp(log_density).
Array density(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
              Loc place);
/// f(z).
Array standardized(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
                   Loc place);
/// loc + scale · f(q); NaN for q outside of [0, 1], too.
Array quantile(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
               Loc place);

/// A distribution on the integers, at location 0.
struct CountFamily {
  Array (*valid)(Parameters p);
  Standard log_mass;                     ///< -∞ outside of the support
  Standard cdf = nullptr, sf = nullptr;  ///< up to and above an integer, which may be infinite
};

// `given` are k, the parameters and loc. NaN where one is NaN or a parameter out of its range.

/// f(k - loc); -∞ between the integers.
Array log_mass(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
               Loc place);
/// exp(log_mass).
Array mass(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
           Loc place);
/// f(k - loc) of k rounded down.
Array counted(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
              Loc place);

/// log(1 + u²), of huge u, too.
Array log1p_square(const Array& u);
/// log(part) of two probabilities whose sum is 1, each of which has the digits that the other one lacks.
Array log_part(const Array& part, const Array& rest);

}  // namespace apsis::stats::detail

// The public functions of a family, `gamma_family` of gamma. Its parameters, and they as arguments, are lists
// that others continue: APSIS_STATS_DENSITY(gamma, (const Array& a, ), (a, )).
#define APSIS_STATS_LIST(...) __VA_ARGS__
#define APSIS_STATS_FUNCTION(name, function, x, make, member, parameters, arguments)                     \
  Array name::function(const Array& x, APSIS_STATS_LIST parameters const Array& loc, const Array& scale, \
                       Loc place) {                                                                      \
    return detail::make(#name "::" #function, name##_family, name##_family.member,                       \
                        {x, APSIS_STATS_LIST arguments loc, scale}, place);                              \
  }
#define APSIS_STATS_DENSITY(name, parameters, arguments)                                 \
  APSIS_STATS_FUNCTION(name, logpdf, x, log_density, log_density, parameters, arguments) \
  APSIS_STATS_FUNCTION(name, pdf, x, density, log_density, parameters, arguments)
#define APSIS_STATS_CDF(name, parameters, arguments)                                  \
  APSIS_STATS_FUNCTION(name, cdf, x, standardized, cdf, parameters, arguments)        \
  APSIS_STATS_FUNCTION(name, logcdf, x, standardized, log_cdf, parameters, arguments) \
  APSIS_STATS_FUNCTION(name, sf, x, standardized, sf, parameters, arguments)          \
  APSIS_STATS_FUNCTION(name, logsf, x, standardized, log_sf, parameters, arguments)
#define APSIS_STATS_QUANTILE(name, parameters, arguments)                  \
  APSIS_STATS_FUNCTION(name, ppf, q, quantile, ppf, parameters, arguments) \
  APSIS_STATS_FUNCTION(name, isf, q, quantile, isf, parameters, arguments)

#define APSIS_STATS_COUNT_FUNCTION(name, function, make, member, parameters, arguments)           \
  Array name::function(const Array& k, APSIS_STATS_LIST parameters const Array& loc, Loc place) { \
    return detail::make(#name "::" #function, name##_family, name##_family.member,                \
                        {k, APSIS_STATS_LIST arguments loc}, place);                              \
  }
#define APSIS_STATS_COUNTS(name, parameters, arguments)                               \
  APSIS_STATS_COUNT_FUNCTION(name, logpmf, log_mass, log_mass, parameters, arguments) \
  APSIS_STATS_COUNT_FUNCTION(name, pmf, mass, log_mass, parameters, arguments)
#define APSIS_STATS_COUNT_CDF(name, parameters, arguments)                   \
  APSIS_STATS_COUNT_FUNCTION(name, cdf, counted, cdf, parameters, arguments) \
  APSIS_STATS_COUNT_FUNCTION(name, sf, counted, sf, parameters, arguments)
