// Long programs are compiled as functions of bounded length, so that each operation of a program of 100,000
// takes as long to compile as one of a thousand.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "apsis/apsis.hpp"
#include "codegen/compiled_equal.hpp"

namespace apsis {
namespace {

/// Mixed elementwise operations, `count` of them, none of which is there twice.
Array chain(Array x, int count) {
  for (int k = 0; k < count; ++k)
    x = k % 3 == 0   ? x * (1. + 1e-6 * k) + 0.5
        : k % 3 == 1 ? x / (x * x + (1. + 1e-6 * k))
                     : x - (0.25 + 1e-6 * k) * abs(x);
  return x;
}

/// Lines of the longest function in the text of a program's code, and how many functions there are.
struct Functions {
  std::size_t longest = 0, count = 0;
  explicit Functions(const std::string& code) {
    std::istringstream lines(code);
    std::size_t length = 0;
    for (std::string line; std::getline(lines, line); ++length) {
      if (line.starts_with("define")) {
        length = 0;
        ++count;
      }
      longest = line == "}" ? std::max(longest, length) : longest;
    }
  }
};

template <class F>
Functions functions_of(const F& f, const Array& x) {
  return Functions(lower(f, x).compile().code_text());
}

/// The same with so many operations.
using Program = std::function<Functions(int)>;

void expect_bounded(const Program& program) {
  constexpr std::size_t longest = 20000;  // lines
  const Functions some = program(2000), many = program(6000);
  EXPECT_LE(some.longest, longest);
  EXPECT_LE(many.longest, longest);
  EXPECT_GT(many.count, some.count);
}

TEST(Parts, LengthOfFunctionsIsBounded) {
  expect_bounded([](int n) { return functions_of([n](const Array& x) { return chain(x, n); }, Array(0.3)); });
}

TEST(Parts, LengthOfFunctionsIsBoundedInGradients) {
  expect_bounded([](int n) {
    return functions_of(grad([n](const Array& x) { return sum(chain(x, n)); }), linspace(-1., 1., 5));
  });
}

TEST(Parts, LengthOfFunctionsIsBoundedInLoopBodies) {
  const auto run = [](const Array& x, int n) {
    return fori_loop(
        0, 3, [n](const Array&, const Array& y) { return chain(y, n); }, x);
  };
  expect_bounded(
      [&](int n) { return functions_of([&, n](const Array& x) { return run(x, n); }, Array(0.3)); });
  expect_bounded(
      [&](int n) { return functions_of(grad([&, n](const Array& x) { return run(x, n); }), Array(0.3)); });
}

TEST(Parts, LengthOfFunctionsIsBoundedInManyLoopsAndInWideArrays) {
  expect_bounded([](int n) {
    return functions_of(
        [n](Array x) {
          for (int k = 0; k < n / 10; ++k)
            x = fori_loop(
                0, 3, [](const Array&, const Array& y) { return 0.5 * y + 1.; }, x);
          return x;
        },
        Array(0.3));
  });
  expect_bounded([](int n) {
    return functions_of(
        [n](const Array& x) {
          std::vector<Array> parts;
          for (int k = 0; k < n; ++k) parts.push_back(x * static_cast<double>(k));
          return stack(parts);
        },
        Array(0.3));
  });
}

/// What loops, branches, lanes and parts of arrays bring from part to part.
TEST(Parts, ValuesCrossTheBordersOfParts) {
  const auto body = [](const Array& x, const Array& w) {
    Array i = astype(10. * abs(x[0]), i64), y = x;
    for (int k = 0; k < 40; ++k) {
      y = where(y > 0.1 * k, chain(y, 3), y - w[k % 7]);
      if (k % 10 == 3) y = y.at(i % 5).add(0.01);
      if (k % 10 == 7)
        y = cond(
            any(y > 1.), [](const Array& z) { return 0.5 * z; }, [](const Array& z) { return z; }, y);
    }
    return y;
  };
  const auto run = [&](const Array& x, const Array& w) {
    auto end = while_loop(
        [](const std::pair<Array, Array>& s) { return s.first < 4; },
        [&](const std::pair<Array, Array>& s) { return std::pair(s.first + 1, body(s.second, w)); },
        std::pair(Array(0), x));
    return sum(square(end.second)) + sum(body(x, w));
  };
  const Array xs = reshape(linspace(-1., 1., 35), {7, 5}), w = linspace(0.1, 0.9, 7);
  const auto all = [&](const Array& x, const Array& v) {
    return vmap(value_and_grad(run), {.in_axes = {0, {}}})(x, v);
  };
  const std::string text = trace(all, xs, w).text();
  const auto graph = detail::parse_graph(text);
  const Array inputs[] = {xs, w};
  const auto whole = detail::run(*detail::compile(*graph), inputs);
  for (int part : {10, 40, 333}) {
    const auto divided = detail::run(*detail::compile(*graph, {.part = part}), inputs);
    ASSERT_EQ(divided.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(detail::same_bits(divided[i], whole[i])) << "part " << part << ", result " << i;
  }
}

// What follows a loop reads what the loop made where it is: its length is not that of the loop.
TEST(Parts, GoOnBesideALongLoop) {
  const auto f = [](const Array& x) {
    const Array end = fori_loop(
        0, 10, [](const Array&, const Array& y) { return chain(y, 300); }, x);
    return sin(end) + end * chain(x, 20);
  };
  EXPECT_EQ(functions_of(f, array(0.5)).count, 1u);
}

}  // namespace
}  // namespace apsis
