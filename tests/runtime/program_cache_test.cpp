#include "runtime/program_cache.hpp"

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

TEST(ProgramCache, EqualProgramsCompileOnce) {
  auto make = [] { return jit([](const Array& x) { return x * 3.25 + 0.125; }); };
  make()(array({1., 2., 3.}));
  std::int64_t before = detail::compile_count();
  expect_same_bits(make()(array({1., 2., 3.})), array({3.375, 6.625, 9.875}));
  EXPECT_EQ(detail::compile_count(), before);
}

// Headers of ops' parameters next to those of trees: static integers are printed for both.
TEST(ProgramCache, StaticIntegersNextToParameters) {
  auto f = jit([](const Array& x, int n) { return x * n; });
  EXPECT_EQ(f(array(2.), 3).item<double>(), 6.);
}

TEST(ProgramCache, LoopsInEagerCodeCompileOnce) {
  auto run = [](const Array& x) {
    return while_loop([](const Array& y) { return y < 10.; }, [](const Array& y) { return y * 1.75; }, x);
  };
  run(array(1.));
  std::int64_t before = detail::compile_count();
  EXPECT_EQ(run(array(2.)).item<double>(), 2. * 1.75 * 1.75 * 1.75);
  EXPECT_EQ(detail::compile_count(), before);
  detail::clear_program_cache();
  EXPECT_EQ(run(array(8.)).item<double>(), 14.);
  EXPECT_EQ(detail::compile_count(), before + 1);
}

}  // namespace
}  // namespace apsis::testing
