// Every pair of dtypes and weak scalars promotes as in JAX.
#include "golden/arrays.hpp"

namespace {

using namespace apsis;

WeakDtype operand(const std::string& name) {
  if (name == "int*") return {Dtype::I64, true};
  if (name == "float*") return {Dtype::F64, true};
  if (name == "complex*") return {Dtype::C128, true};
  return {golden::dtype_named(name), false};
}

TEST(golden_promotion, equals_jax) {
  std::ifstream file(std::string(APSIS_SOURCE_DIR) + "/tests/golden/promotion.txt");
  int pairs = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string a, b, result;
    bool weak = false;
    words >> a >> b >> result >> weak;
    const WeakDtype got = promote(operand(a), operand(b));
    EXPECT_EQ(name_of(got.dtype), result) << line;
    EXPECT_EQ(got.weak, weak) << line;
    ++pairs;
  }
  EXPECT_EQ(pairs, 18 * 18);
}

}  // namespace
