// Printing against NumPy (tests/golden/print.txt).

#include <gtest/gtest.h>

#include "ops/golden_arrays.hpp"
#include "transform/stage/stage.hpp"

namespace apsis {
namespace {

TEST(print, arrays_as_numpy_does) {
  int ran = 0;
  for (const golden::Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/print.txt")) {
    std::string want = c.text.at("printed");
    for (std::size_t at; (at = want.find("\\n")) != std::string::npos;) want.replace(at, 2, "\n");
    EXPECT_EQ(to_string(golden::array_of(c["x0"])), want) << "case " << ran << ", " << c["x0"].dtype;
    ++ran;
  }
  EXPECT_GT(ran, 150);
}

TEST(print, tracers_print_what_is_known_of_them) {
  std::string seen;
  auto f = [&](std::span<const Array> in) {
    seen = to_string(in[0]);
    return std::vector<Array>{in[0]};
  };
  Aval aval(f32, {2, 3});
  detail::stage_with(f, {&aval, 1}, "test");
  EXPECT_EQ(seen, "f32[2,3]");
  EXPECT_EQ(to_string(Array()), "empty");
}

}  // namespace
}  // namespace apsis
