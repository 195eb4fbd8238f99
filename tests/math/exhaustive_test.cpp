#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <bit>
#include <cstdio>

#include "math/records.hpp"

// Every f32 argument of every function of one argument, against the f64 function, whose own error (two f64
// ULP) is nothing here.
namespace apsis::test {
namespace {

struct Found {
  double error = 0;
  std::uint32_t bits = 0;
};

double error_in_f32_ulp(float got, double exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : wrong;
  const float rounded = static_cast<float>(exact);
  if (got == rounded) return got == 0 && std::signbit(got) != std::signbit(exact) ? wrong : 0;
  if (std::isinf(rounded) || std::isinf(got)) {
    return std::fabs(exact) > 3.4e38 && std::fabs(got) > 3.4e38f && std::signbit(got) == std::signbit(exact)
               ? 1
               : wrong;
  }
  const int exponent = std::max(exact == 0 ? -200 : std::ilogb(exact), -126) - 23;
  return std::fabs(std::ldexp(got - exact, -exponent));
}

Found scan(const UnaryRecord& record) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::uint64_t>(0, std::uint64_t{1} << 32, 1 << 20), Found{},
      [&](const tbb::blocked_range<std::uint64_t>& range, Found found) {
        for (std::uint64_t i = range.begin(); i < range.end(); ++i) {
          const auto bits = static_cast<std::uint32_t>(i);
          const float x = std::bit_cast<float>(bits), got = record.f32(x);
          const double exact = record.f64(x);
          // A unit is at least 2^-24 of the value: most arguments are done with here.
          if (std::fabs(got - exact) <= found.error * 0x1p-24 * std::fabs(exact)) continue;
          const double error = error_in_f32_ulp(got, exact);
          if (error > found.error) found = {error, bits};
        }
        return found;
      },
      [](const Found& a, const Found& b) { return b.error > a.error ? b : a; });
}

TEST(Exhaustive, SlowEveryFloatOfEveryFunction) {
  for (const auto& record : unary_records()) {
    const Found found = scan(record);
    const float x = std::bit_cast<float>(found.bits);
    std::printf("%-10s %.4f ULP at %a (%.9g)\n", record.name, found.error, double(x), double(x));
    std::fflush(stdout);
    EXPECT_LE(found.error, std::max(function_record(record.name).ulp_f32, 0.5)) << record.name;
  }
}

}  // namespace
}  // namespace apsis::test
