// How many elementwise equations share a loop over elements, and how many elements an iteration takes.

#include <algorithm>
#include <array>
#include <string>

#include "codegen/staged_compiled_equal.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// How many loops a program runs: those that are alike are one function, which it calls.
template <class F, class... A>
int loops_in(const F& f, const A&... args) {
  const std::string code = compile(f, args...).code_text();
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (std::size_t at = code.find(text); at != std::string::npos; at = code.find(text, at + 1)) ++n;
    return n;
  };
  return std::max(count("\nloop"), count(" @loop") - 1);
}

/// Rounds of a hash whose state is eight arrays.
Array mixed(const Array& seed, int rounds) {
  std::array<Array, 8> s;
  for (std::size_t k = 0; k < s.size(); ++k) s[k] = seed ^ static_cast<std::uint32_t>(0x9e3779b9u * (k + 1));
  for (int round = 0; round < rounds; ++round) {
    const Array t = s[7] + ((s[4] >> 6) | (s[4] << 26)) + ((s[4] & s[5]) ^ (~s[4] & s[6]));
    const Array u = ((s[0] >> 2) | (s[0] << 30)) + ((s[0] & s[1]) ^ (s[0] & s[2]));
    for (std::size_t k = 7; k > 0; --k) s[k] = s[k - 1];
    s[4] = s[4] + t;
    s[0] = t + u;
  }
  Array all = s[0];
  for (std::size_t k = 1; k < s.size(); ++k) all = all ^ s[k];
  return all;
}

/// Each is made of the one before alone.
Array chained(Array x, int steps) {
  for (int k = 0; k < steps; ++k) x = (x ^ (x >> (k % 29 + 1))) * static_cast<std::uint32_t>(2 * k + 3);
  return x;
}

TEST(LongLoops, StayOneWhereMuchWouldBeHandedOn) {
  const Array seed = astype(arange(1000) * 7919 % 1000, u32);
  const auto hash = [](const Array& x) { return mixed(x, 30); };
  const auto chain = [](const Array& x) { return chained(x, 150); };
  EXPECT_LE(loops_in(hash, seed), 2);  // of whole vectors, and of what is left
  EXPECT_GE(loops_in(chain, seed), 4);
  expect_compiled_as_interpreted(jit(hash), seed);
  expect_compiled_as_interpreted(jit(chain), seed);
}

// A loop over u32 that begins with integers of i64 takes as many elements at once as one that begins with
// u32.
TEST(LongLoops, TakeAsManyElementsAsMostInstructionsCan) {
  const Array wide = arange(1003) * 7919 % 1003, narrow = astype(wide, u32);
  const auto of_wide = [](const Array& x) { return mixed(astype(x, u32), 30); };
  const auto of_narrow = [](const Array& x) { return mixed(x, 30); };
  const auto lanes = [](const std::string& code) {
    int most = 1;
    for (int n : {4, 8, 16, 32})
      if (code.find("xor <" + std::to_string(n) + " x i32>") != std::string::npos) most = n;
    return most;
  };
  EXPECT_EQ(lanes(compile(of_wide, wide).code_text()), lanes(compile(of_narrow, narrow).code_text()));
  EXPECT_TRUE(array_equal(jit(of_wide)(wide), of_narrow(narrow)).item<bool>());
  expect_compiled_as_interpreted(jit(of_wide), wide);
}

}  // namespace
}  // namespace apsis::testing
