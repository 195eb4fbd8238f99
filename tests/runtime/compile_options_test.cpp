// Options of compilation change the code, and never a bit of the results.

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

Array settled(const Array& x) {
  return while_loop([](const Array& y) { return y < 40.; },
                    [](const Array& y) { return y * 1.25 + sin(y) * 0.125; }, x);
}
Array field(const Array& x) { return exp(sin(x)) * 0.5 + sum(x); }

TEST(CompileOptions, ResultsAreTheSameBits) {
  Array many = linspace(0.25, 5., 101);
  auto lanes = vmap(settled);
  Array want_field = jit(field)(many), want_lanes = jit(lanes)(many);
  for (const CompileOptions& options :
       {CompileOptions{.lanes = 1}, CompileOptions{.lanes = 4}, CompileOptions{.lanes = 16},
        CompileOptions{.level = 0}, CompileOptions{.level = 1}, CompileOptions{.level = 2},
        CompileOptions{.level = 3}, CompileOptions{.threads = false}}) {
    expect_same_bits(lower(field, many).compile(options)(many), want_field);
    expect_same_bits(lower(lanes, many).compile(options)(many), want_lanes);
    expect_same_bits(jit(lanes, {.compile = options})(many), want_lanes);
  }
}

TEST(CompileOptions, EachCompiledProgramKeepsItsOwn) {
  Array x = linspace(0.25, 5., 101);
  auto lowered = lower(field, x);
  auto narrow = lowered.compile({.lanes = 1}), wide = lowered.compile({.lanes = 8}),
       again = lowered.compile({.lanes = 1});
  EXPECT_EQ(narrow.code_text().find("<8 x double>"), std::string::npos);
  EXPECT_NE(wide.code_text().find("<8 x double>"), std::string::npos);
  EXPECT_EQ(again.code_text(), narrow.code_text());
  expect_same_bits(narrow(x), wide(x));
}

}  // namespace
}  // namespace apsis::testing
