// With APSIS_SPECIAL_ACCURACY=FILE in the environment, what the tests of special functions have measured
// becomes a section of docs/accuracy.md, when the last of them has run.

#include "array/worst_errors.hpp"

namespace apsis::testing {
namespace {

const char* const introduction =
    R"(Largest errors against mpmath, at the points of `make_special.py`, `make_array.py` and `make_distributions.py` in `tests/golden`,
with the arguments where they were met: of f64 in ULP of the value, or of a scale (the envelope of functions that oscillate, the
larger terms of a sum, 1 of spherical harmonics), as the scripts say; of f32 at the same points, against f64; and of first derivatives in forward mode, relative to
their size (and, where the functions oscillate or are sums, that of y / x), by the argument of this number. Bounds of f64 are asserted by `tests/array`.

Where more than 8 ULP are met, it is not by the formula: `betainc` is 1 less the other tail where b < 1 and (1 - x) a < 3, and has the error of 1 there; inverses have
that of the function, as much as it moves them; `betaln` is a difference of larger numbers; in `hyp1f1` of numbers of different signs the terms of the series
cancel; `hyp2f1` near 1 is the end of a walk by Taylor series. The derivatives of `i0e` and `i1e` are differences that for large x cancel, as in JAX.

Made by `APSIS_SPECIAL_ACCURACY=docs/accuracy.md build/tests/test_array --gtest_filter=*LastPlaces:SpecialFunctions.*`.

| function | f64: ULP | bound | of | at | f32: ULP | at | derivative: relative | at |
|---|---|---|---|---|---|---|---|---|
)";

class Writer : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* file = std::getenv("APSIS_SPECIAL_ACCURACY");
    if (!file) return;
    std::stringstream text;
    text << introduction;
    char number[40];
    const auto met = [&](const Met& m, const char* format) {
      std::snprintf(number, sizeof number, format, m.error);
      text << (m.at.empty() ? "" : number) << " | ";
    };
    for (const auto& [name, w] : worst_errors()) {
      text << "| " << name << " | ";
      met(w.f64, "%.1f");
      text << w.bound << " | " << (w.scaled ? "a scale" : "the value") << " | " << w.f64.at << " | ";
      met(w.f32, "%.1f");
      text << w.f32.at << " | ";
      met(w.slope, "%.1e");
      text << w.slope.at << " |\n";
    }
    write_section(file, "Special functions", text.str());
  }
};
const auto* const writer = ::testing::AddGlobalTestEnvironment(new Writer);

}  // namespace
}  // namespace apsis::testing
