// Trouble 1: decorators and compilation ahead of time.
//
// JAX, up to the time when `.lower` became a method of a class: a decorator written in the usual way,
//     def swap_args(f):
//         @functools.wraps(f)
//         def swapped(x, y): return f(y, x)
//         return swapped
//     swap_args(jax.jit(sub)).lower(x, y).compile()(x, y)
// copied the attributes of the jitted function to the wrapper, `.lower` among them, which then lowered `sub`
// itself: the compiled program computed x - y where calling the decorated function computes y - x. Nothing
// was reported. Here the stages are free functions of the callable they are given, so there is nothing to
// copy.

#include "transform/checks.hpp"
#include "troubles/wrappers.hpp"

namespace apsis::testing {
namespace {

Array subtract(const Array& x, const Array& y) { return x - y; }
Array scaled(const Array& x, const Array& y, int n) { return (x - y) * n; }

const auto swap_arguments = [](const auto& f) {
  return [f](const Array& x, const Array& y, const auto&... more) { return f(y, x, more...); };
};
const auto doubled = [](const auto& f) {
  return [f](const Array& x, const Array& y) { return 2. * f(x, y); };
};
struct Swapped {
  Array operator()(const Array& x, const Array& y) const {
    static const auto f = jit(&subtract);
    return f(y, x);
  }
};

const Array x = array({5., 7.}), y = array({1., 2.});

/// Each stage of f(x, y) is what calling it computes.
template <class F>
void expect_stages(const F& f, const Array& want) {
  expect_same_bits(f(x, y), want);
  auto traced = trace(f, x, y);
  auto lowered = traced.lower();
  EXPECT_EQ(traced.text(), lowered.text());
  EXPECT_EQ(make_graph(f, x, y), lowered.text());
  expect_same_bits(lowered.compile()(x, y), want);
  expect_same_bits(lower(f, x, y).compile()(x, y), want);
  expect_same_bits(compile(f, x, y)(x, y), want);
  expect_same_bits(jit(f)(x, y), want);
  // The printed program, read back and run.
  detail::GraphRef graph = detail::parse_graph(lowered.text());
  std::vector<Array> inputs{x, y};
  expect_same_bits(detail::interpret(*graph, inputs), std::vector<Array>{want});
}

TEST(DecoratorsAheadOfTime, WhatWrapsAJittedFunctionIsWhatIsCompiled) {
  const auto jitted = jit(&subtract);
  expect_stages(jitted, x - y);
  expect_stages(swap_arguments(jitted), y - x);
  expect_stages(doubled(swap_arguments(jitted)), 2. * (y - x));
  expect_stages(swap_arguments(doubled(swap_arguments(jitted))), 2. * (x - y));
  expect_stages([&](const Array& a, const Array& b) { return jitted(b, a); }, y - x);
  expect_stages(Swapped{}, y - x);
  expect_stages(vmap(swap_arguments(jitted)), y - x);
  expect_stages(swap_arguments(vmap(jitted)), y - x);
  expect_stages(
      vmap(jit(swap_arguments(vmap(jitted, {.in_axes = {{}, {}}, .axis_size = 1}))), {.out_axes = 0}),
      reshape(y - x, {2, 1}));
}

TEST(DecoratorsAheadOfTime, WrapsGoesThroughTheDecoratorAtEveryStage) {
  const auto jitted = jit(&subtract, {.name = "subtract"});
  const auto swapped = wraps(swap_arguments, jitted);
  expect_stages(swapped, y - x);
  expect_stages(wraps(doubled, swapped), 2. * (y - x));
  expect_stages(wraps(swap_arguments, wraps(doubled, swapped)), 2. * (x - y));
  expect_stages(vmap(swapped), y - x);
  expect_stages(wraps(swap_arguments, jit(vmap(jitted))), y - x);
  // The program of the stages is that of the decorated function, whatever the decorator.
  EXPECT_EQ(make_graph(swapped, x, y),
            make_graph([](const Array& a, const Array& b) { return b - a; }, x, y));
  EXPECT_NE(make_graph(swapped, x, y), make_graph(jitted, x, y));
}

TEST(DecoratorsAheadOfTime, WrapsKeepsNameAndHasACacheOfItsOwn) {
  const auto jitted = jit(&subtract, {.name = "subtract", .arguments = "x, y"});
  const auto swapped = wraps(swap_arguments, jitted);
  swapped(x, y);
  swapped(x, y);
  EXPECT_EQ(trace_count(swapped), 1);
  EXPECT_EQ(trace_count(jitted), 0);
  EXPECT_EQ(explain(swapped),
            "subtract: 1 trace, 1 of at most 512 signatures kept\n"
            "1. x: f64[2], y: f64[2]\n"
            "   the first trace\n");
  // Inside another program it is a call of that name.
  EXPECT_NE(make_graph([&](const Array& a, const Array& b) { return swapped(a, b); }, x, y)
                .find("name=\"subtract\""),
            std::string::npos);
}

TEST(DecoratorsAheadOfTime, WrapsComposesWithGradAndVmap) {
  const auto loss = jit([](const Array& a, const Array& b) { return sum(a * a * b); });
  const auto swapped = wraps(swap_arguments, loss);
  Array want = y * y;  // the first argument is b now
  expect_same_bits(grad(swapped)(x, y), want);
  expect_same_bits(compile(grad(swapped), x, y)(x, y), want);
  expect_same_bits(jit(grad(swapped))(x, y), want);
  expect_same_bits(compile(vmap(grad(swapped)), x, y)(x, y), want);
  expect_same_bits(wraps(swap_arguments, jit(grad<1>(swapped)))(y, x), 2. * x * y);
  expect_same_bits(value_and_grad<0, 1>(swapped)(x, y).first, sum(y * y * x));
}

TEST(DecoratorsAheadOfTime, StagesShareTheTraceAndTheProgramOfTheJittedFunction) {
  const auto jitted = wraps(doubled, jit(&subtract));
  jitted(x, y);
  std::int64_t compiled = detail::compile_count();
  expect_same_bits(compile(jitted, x, y)(x, y), 2. * (x - y));
  EXPECT_EQ(trace_count(jitted), 1);
  EXPECT_EQ(detail::compile_count(), compiled);
  expect_same_bits(compile(jitted, array({1.}), array({3.}))(array({2.}), array({1.})), array({2.}));
  EXPECT_EQ(trace_count(jitted), 2);
  jitted(array({1.}), array({3.}));
  EXPECT_EQ(trace_count(jitted), 2);  // traced ahead of time
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    std::string what = error.what();
    return what.substr(0, what.find("\n  at "));
  }
  return "nothing was refused";
}

struct Options {
  std::vector<Array> parts;
  Static<double> rate = 0.5;
  std::string mode = "fast";
};

TEST(DecoratorsAheadOfTime, CompiledRefusesWhatItWasNotMadeFor) {
  auto ready = compile(wraps(swap_arguments, jit(&scaled, {.arguments = "x, y, n"})), x, y, 3);
  expect_same_bits(ready(x, y, 3), (y - x) * 3);
  EXPECT_EQ(
      refusal([&] { ready(x, y, 4); }),
      "[compiled] the program was compiled for another static value or structure (n: static int 3 → 4); pass "
      "the same, or compile again");
  EXPECT_EQ(refusal([&] {
              ready(x, array({1., 2., 3.}), 3);
            }),
            "[compiled] y was f64[2] when this program was compiled, and is f64[3] now; convert it, or "
            "compile again");
  EXPECT_EQ(refusal([&] { ready(astype(x, i32), y, 3); }),
            "[compiled] x was f64[2] when this program was compiled, and is i32[2] now; convert it, or "
            "compile again");
  EXPECT_EQ(refusal([&] { ready(Array(), y, 3); }),
            "[compiled] x was f64[2] when this program was compiled, and is empty now; convert it, or "
            "compile again");

  auto total = [](const Options& o) { return o.parts[0] * o.rate; };
  auto made = compile(total, Options{{x}});
  expect_same_bits(made(Options{{x}}), x * 0.5);
  EXPECT_EQ(
      refusal([&] {
        made(Options{{x}, 0.25});
      }),
      "[compiled] the program was compiled for another static value or structure (argument 0.rate: static "
      "double 0.5 → 0.25); pass the same, or compile again");
  EXPECT_EQ(
      refusal([&] {
        made(Options{{x, y}, 0.5, "slow"});
      }),
      "[compiled] the program was compiled for another static value or structure (argument 0.parts: size 1 → "
      "size 2; argument 0.mode: static string \"fast\" → \"slow\"); pass the same, or compile again");
  EXPECT_EQ(
      refusal([&] {
        vmap([&](const Array& a) { return made(Options{{a}}); })(stack({x, y}));
      }),
      "[compiled] argument 0.parts[0] is traced: a compiled program cannot be transformed; transform the "
      "function, then compile");
}

}  // namespace
}  // namespace apsis::testing
