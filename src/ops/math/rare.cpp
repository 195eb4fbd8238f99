#include "ops/math/rare.hpp"

#include "ops/math/error_function.hpp"
#include "ops/math/trigonometric.hpp"

namespace apsis::detail::math {
namespace {

// The binary digits of 1/pi after 64 zeros: enough for every double (Payne and Hanek 1983).
constexpr std::uint64_t inverse_pi[] = {
    0x0000000000000000, 0x517cc1b727220a94, 0xfe13abe8fa9a6ee0, 0x6db14acc9e21c820, 0xff28b1d5ef5de2b0,
    0xdb92371d2126e970, 0x0324977504e8c90e, 0x7f0ef58e5894d39f, 0x74411afa975da242, 0x74ce38135a2fbf20,
    0x9cc8eb1cc1a99cfa, 0x4e422fc5defc941d, 0x8ffc4bffef02cc07, 0xf79788c5ad05368f, 0xb69b3f6793e584db,
    0xa7a31fb34f2ff516, 0xba93dd63f5f2f8bd, 0x9e839cfbc5294975, 0x35fdafd88fc6ae84, 0x2b0198237e3db5d5,
    0xf867de104d7a1b0e,
};

/// Unsigned fixed-point numbers modulo 2 with 191 binary digits, most significant word first.
struct Fixed {
  std::uint64_t word[3];
};

/// 64 digits of 1/pi from digit i on; the digit after the point is digit 1.
std::uint64_t digits(int i) {
  const int bit = i + 63, word = bit >> 6, shift = bit & 63;
  return shift == 0 ? inverse_pi[word] : inverse_pi[word] << shift | inverse_pi[word + 1] >> (64 - shift);
}

/// |x| / (period) modulo 2 for period = pi / 2^doublings and finite |x| > 1; the error is below 2^-138.
Fixed divided_by_period(double x, int doublings) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffff;
  const std::uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  // |x| = mantissa 2^exponent: digits of 1/pi before this one only add multiples of 2.
  const int exponent = int(bits >> 52) - 1075 + doublings;
  Fixed result;
  unsigned __int128 carry = 0;
  for (int i = 2; i >= 0; --i) {
    carry += static_cast<unsigned __int128>(mantissa) * digits(exponent + 64 * i);
    result.word[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return result;
}

struct Reduced {
  bool odd;        // the nearest integer to the number reduced
  double r, tail;  // what remains, times the period
};

/// Splits off the nearest integer; the remainder is in [-1/2, 1/2] and multiplied by the period.
Reduced remainder(Fixed x, double period_high, double period_low) {
  bool odd = x.word[0] >> 63;
  x.word[0] &= 0x7fffffffffffffff;
  const bool up = x.word[0] >> 62;
  if (up) {
    odd = !odd;
    // 1 - x, short of one unit in the last place.
    x = {~x.word[0] & 0x7fffffffffffffff, ~x.word[1], ~x.word[2]};
  }
  int exponent = 0;
  if (x.word[0] == 0) {
    x = {x.word[1], x.word[2], 0};
    exponent = -64;
  }
  const int shift = std::countl_zero(x.word[0]);
  if (shift > 0) {
    x.word[0] = x.word[0] << shift | x.word[1] >> (64 - shift);
    x.word[1] = x.word[1] << shift | x.word[2] >> (64 - shift);
  }
  exponent -= shift;
  // The leading word weighs 2^exponent at its top digit; take 53 digits and the 53 after them.
  const double high = std::ldexp(double(x.word[0] >> 11), exponent - 52);
  const double low = std::ldexp(double(x.word[0] << 53 >> 11 | x.word[1] >> 22), exponent - 105);
  const double product = high * period_high;
  const double rest = std::fma(high, period_high, -product) + std::fma(high, period_low, low * period_high);
  const double sum = product + rest, tail = rest - (sum - product);
  return up ? Reduced{odd, -sum, -tail} : Reduced{odd, sum, tail};
}

constexpr double pi_high = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;

using Double = Real<ScalarModel<double>>;

double huge_sin(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  const Reduced rest = remainder(divided_by_period(x, 0), pi_high, pi_low);
  const double value = sin_reduced(Double{{}, rest.r}).v;
  return rest.odd != std::signbit(x) ? -value : value;
}

double huge_cos(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  Fixed quotient = divided_by_period(x, 0);
  quotient.word[0] += std::uint64_t{1} << 62;  // cos x = sin(|x| + pi/2)
  const Reduced rest = remainder(quotient, pi_high, pi_low);
  const double value = sin_reduced(Double{{}, rest.r}).v;
  return rest.odd ? -value : value;
}

double huge_tan(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  const auto [odd, r, tail] = remainder(divided_by_period(x, 1), pi_high / 2, pi_low / 2);
  const double value = tan_reduced(Double{{}, r}, Double{{}, tail}, Mask<ScalarModel<double>>{{}, odd}).v;
  return std::signbit(x) ? -value : value;
}

}  // namespace
}  // namespace apsis::detail::math

using namespace apsis::detail::math;

extern "C" {
double apsis_rare_sin_f64(double x) { return huge_sin(x); }
double apsis_rare_cos_f64(double x) { return huge_cos(x); }
double apsis_rare_tan_f64(double x) { return huge_tan(x); }
double apsis_rare_fmod_f64(double x, double y) { return std::fmod(x, y); }
double apsis_rare_erf_inv_f64(double x) {
  using L = Format<double>;
  return x < 1 ? erf_inv_tail(Real<ScalarModel<double>>{{}, x}).v : x == 1 ? L::infinity : L::nan;
}
float apsis_rare_sin_f32(float x) { return static_cast<float>(huge_sin(x)); }
float apsis_rare_cos_f32(float x) { return static_cast<float>(huge_cos(x)); }
float apsis_rare_tan_f32(float x) { return static_cast<float>(huge_tan(x)); }
float apsis_rare_fmod_f32(float x, float y) { return std::fmod(x, y); }
}
