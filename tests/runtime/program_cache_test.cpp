#include "runtime/program_cache.hpp"

#include <atomic>
#include <barrier>
#include <thread>

#include "ir/graph.hpp"
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

/// The program x * number + 1.
detail::GraphRef affine(double number) {
  return detail::parse_graph(lower([number](const Array& x) { return x * number + 1.; }, array(1.)).text());
}

TEST(ProgramCache, TheLeastRecentlyUsedGoFirst) {
  clear_program_cache();
  set_program_limit(3);
  for (double n : {11., 12., 13.}) detail::program_for(affine(n));
  auto in_use = detail::program_for(affine(12.));
  detail::program_for(affine(11.));
  detail::program_for(affine(14.));  // in place of 13
  detail::program_for(affine(15.));  // in place of 12
  EXPECT_EQ(cache_state().programs, 3);
  EXPECT_EQ(cache_state().program_limit, 3);
  std::int64_t before = detail::compile_count();
  for (double n : {11., 14., 15.}) detail::program_for(affine(n));
  EXPECT_EQ(detail::compile_count(), before);
  EXPECT_EQ(detail::run(*in_use, std::vector{array(2.)})[0].item<double>(), 25.) << "lives on with its user";
  set_program_limit(1);
  EXPECT_EQ(cache_state().programs, 1);
  set_program_limit(2048);
}

TEST(ProgramCache, OptionsArePartOfTheKey) {
  std::int64_t before = detail::compile_count();
  auto graph = affine(21.);
  auto usual = detail::program_for(graph), narrow = detail::program_for(graph, {.lanes = 1}),
       serial = detail::program_for(graph, {.parallel = false});
  EXPECT_EQ(detail::compile_count(), before + 3);
  EXPECT_NE(usual, narrow);
  EXPECT_NE(usual, serial);
  EXPECT_EQ(detail::program_for(affine(21.), {.lanes = 1}), narrow);
}

TEST(ProgramCache, ThreadsShareOneCompile) {
  constexpr int threads = 8;
  for (int round = 0; round < 4; ++round) {
    auto graph = affine(31. + round);
    std::int64_t before = detail::compile_count();
    std::barrier start(threads);
    std::shared_ptr<const detail::Program> programs[threads];
    {
      std::vector<std::jthread> pool;
      for (auto& p : programs)
        pool.emplace_back([&] {
          start.arrive_and_wait();
          p = detail::program_for(graph);
        });
    }
    EXPECT_EQ(detail::compile_count(), before + 1);
    for (const auto& p : programs) EXPECT_EQ(p, programs[0]);
  }
}

// An op whose emission throws as often as it is told to.
std::atomic<int> failures_left = 0;
TEST(ProgramCache, PublishedOnlyAfterSuccess) {
  static const Op* sine = detail::find_op("sin");
  static const Op stubborn = [] {
    Op op = *sine;
    op.name = "stubborn";
    op.emit = [](Emitter& e, const Params& p, std::span<const detail::Value> in,
                 std::span<detail::Value> out) {
      if (failures_left-- > 0) throw std::runtime_error("not yet");
      sine->emit(e, p, in, out);
    };
    return op;
  }();
  detail::GraphBuilder builder;
  detail::ValueId x = builder.input(array(1.).aval()), y;
  builder.append(stubborn, {}, {&x, 1}, {&y, 1});
  detail::GraphRef graph = builder.finish({&y, 1});
  const std::int64_t before = detail::compile_count(), held = cache_state().programs;
  failures_left = 2;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(detail::program_for(graph), std::runtime_error);
  EXPECT_EQ(cache_state().programs, held);
  auto program = detail::program_for(graph);
  EXPECT_EQ(detail::compile_count(), before + 1);
  expect_same_bits(detail::run(*program, std::vector{array(1.)})[0], sin(array(1.)));
}

}  // namespace
}  // namespace apsis::testing
