// Functions that a program calls several times become machine functions; what comes of it are the same bits.

#include <string>

#include "apsis/apsis.hpp"
#include "codegen/compiled_equal.hpp"

namespace apsis {
namespace {

/// `count` statements of two multiply-adds each.
Array chain(Array x, int count) {
  for (int k = 0; k < count; ++k) x = k % 2 ? x * x * 0.1 + 0.5 : x * 1.01 - x * x * 0.01;
  return x;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// How often the code of f on x defines and calls functions of the program.
using Counts = std::pair<std::size_t, std::size_t>;
template <class F>
Counts calls_of(const F& f, const Array& x) {
  const std::string code = lower(f, x).compile().code_text();
  return {count_of(code, "define internal i32 @function"), count_of(code, "call i32 @function")};
}

auto repeated(int statements, int times) {
  return [f = jit([statements](const Array& x) { return chain(x, statements); }), times](Array x) {
    for (int k = 0; k < times; ++k) x = f(x);
    return x;
  };
}

TEST(Calls, LongFunctionsAreWrittenOnce) {
  EXPECT_EQ(calls_of(repeated(80, 5), Array(0.3)), Counts(1, 5));
  EXPECT_EQ(calls_of(repeated(80, 5), linspace(0., 1., 5)), Counts(1, 5));
  EXPECT_EQ(calls_of(repeated(80, 5), linspace(0., 1., 500)), Counts(1, 5));
}

TEST(Calls, ShortFunctionsAndThoseCalledOnceAreWrittenInPlace) {
  EXPECT_EQ(calls_of(repeated(4, 30), Array(0.3)), Counts(0, 0));
  EXPECT_EQ(calls_of(repeated(80, 1), Array(0.3)), Counts(0, 0));
}

TEST(Calls, EqualFunctionsAreOne) {
  const auto f = jit([](const Array& x) { return chain(x, 80); });
  const auto g = jit([](const Array& x) { return chain(x, 80); });
  EXPECT_EQ(calls_of([&](const Array& x) { return f(g(f(x))); }, Array(0.3)), Counts(1, 3));
}

TEST(Calls, FunctionsAreWrittenForTheKindsOfTheirOperands) {
  const auto f = jit([](const Array& x) { return chain(x, 80); });
  const auto both = [&](const Array& x) { return f(f(x)) + f(f(transpose(x))); };
  const Array x = reshape(linspace(0., 1., 30 * 30), {30, 30});
  // The columns of x, its rows, and arrays that the function made.
  EXPECT_EQ(calls_of(both, x), Counts(2, 4));
}

TEST(Calls, ExplainTellsOfThem) {
  const auto g = jit(repeated(80, 5), {.name = "five"});
  EXPECT_EQ(explain(g).find("compiled once"), std::string::npos);
  (void)g(Array(0.3));
  EXPECT_NE(explain(g).find("compiled once for 5 places: jit, of "), std::string::npos) << explain(g);
}

TEST(Calls, LanesShareFunctionsToo) {
  const auto f = jit([](const Array& x) { return chain(x, 80); });
  const auto loop = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 2.; },
                      [&](const Array& y) { return y + abs(f(f(y))) + 0.1; }, x);
  };
  EXPECT_EQ(calls_of(vmap(loop), linspace(0., 1., 64)), Counts(1, 2));
}

/// What a function leaves for its pull-back stays in memory, so that both are worth a call.
TEST(Calls, GradientsShareFunctionsToo) {
  const auto slope = grad(repeated(40, 6));
  EXPECT_EQ(calls_of(slope, Array(0.3)), Counts(2, 12));
  const auto loop = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 2.; },
                      [&](const Array& y) { return y + abs(slope(y)) + 0.1; }, x);
  };
  // The first cotangent is the same in all lanes.
  EXPECT_EQ(calls_of(vmap(loop), linspace(0., 1., 64)), Counts(3, 12));
  const auto of_three = grad([f = repeated(40, 4)](const Array& x) { return sum(f(x)); });
  for (const Array& x : {linspace(-0.3, 0.8, 3), Array(0.3)}) {
    const Array many = stack({x, x + 0.2, x * 0.7, x - 0.1, x * 0.5});
    detail::expect_compiled_equal(*detail::parse_graph(trace(of_three, x).text()), {&x, 1});
    detail::expect_compiled_equal(*detail::parse_graph(trace(vmap(of_three), many).text()), {&many, 1});
  }
}

/// Arrays as well, however many: they are passed by the address of all that the function left.
TEST(Calls, WhatIsLeftForPullBacksIsOneParameter) {
  const auto slope = grad([f = repeated(80, 6)](const Array& x) { return sum(sin(f(x))); });
  const Array x = linspace(0., 1., 500);
  const std::string code = lower(slope, x).compile().code_text();
  EXPECT_EQ(calls_of(slope, x), Counts(2, 12));
  const std::string define = "define internal i32 @function";
  for (std::size_t at = code.find(define); at != code.npos; at = code.find(define, at + 1))
    EXPECT_LE(count_of(code.substr(at, code.find('\n', at) - at), "ptr "), 6u);
  const Array many = reshape(linspace(-0.4, 0.9, 20 * 11), {11, 20});
  const auto loop = [&](const Array& v) {
    return while_loop([](const Array& y) { return sum(y) < 3.; },
                      [&](const Array& y) { return y + 0.05 * abs(slope(y)) + 0.01; }, v);
  };
  detail::expect_compiled_equal(*detail::parse_graph(trace(slope, x).text()), {&x, 1});
  detail::expect_compiled_equal(*detail::parse_graph(trace(vmap(loop), many).text()), {&many, 1});
}

/// Values, gradients and lanes of a function with arguments and results of all sizes.
TEST(Calls, KeepAllBits) {
  const auto f = jit([](const Array& a, const Array& b, const Array& c, const Array& wanted) {
    const Array chained = chain(c, 6) * a;
    return std::tuple(chain(a, 8) + sum(b), chained, where(wanted, b * a, chain(b, 6)), wanted,
                      sum(chained) < 3., transpose(reshape(c, {5, 4})));
  });
  const auto calls = [&](const Array& x) {
    Array total = sum(x), b = x[range(0, 3)], c = x;
    Array wanted = b > 0.3;
    for (int k = 0; k < 2; ++k) {
      const auto [scalar, array, three, same, all, turned] = f(total, b, c, wanted);
      total = total + where(all, scalar, 0.5) + turned(2, 1);
      b = three;
      c = array * 0.5 + reshape(turned, {20}) * 0.1;
      wanted = logical_not(same);
    }
    return total + sum(b) + sum(c);
  };
  const Array x = linspace(-0.4, 0.9, 20);
  const auto expect_equal = [](const auto& g, const Array& at) {
    detail::expect_compiled_equal(*detail::parse_graph(trace(g, at).text()), {&at, 1});
  };
  expect_equal(calls, x);
  expect_equal(grad(calls), x);
  const Array many = reshape(linspace(-0.4, 0.9, 20 * 11), {11, 20});
  const auto loop = [&](const Array& v) {
    return while_loop([](const Array& y) { return sum(y) < 3.; },
                      [&](const Array& y) { return y + 0.05 * abs(calls(y)) + 0.01; }, v);
  };
  expect_equal(vmap(loop), many);
  expect_equal(vmap(grad(calls)), many);
}

}  // namespace
}  // namespace apsis
