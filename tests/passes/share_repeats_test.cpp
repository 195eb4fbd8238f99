// What a program has several times becomes calls of one function; the results are the same.

#include "passes/share_repeats.hpp"

#include <algorithm>

#include "apsis/apsis.hpp"
#include "codegen/compiled_equal.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

/// The program of f on x after the pass, whose results are the given one's.
template <class F>
GraphRef checked(const F& f, const Array& x) {
  const GraphRef given = parse_graph(trace(f, x).text()), made = share_repeats(*given);
  verify(*made);
  InterpretScope reference;
  const std::vector<Array> want = interpret(*given, {&x, 1}), got = interpret(*made, {&x, 1});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << to_string(*made);
  return made;
}

/// The functions that a graph, its regions not counted, calls.
std::vector<GraphRef> called(const Graph& graph) {
  std::vector<GraphRef> functions;
  for (const Eqn& e : graph.eqns())
    if (e.op->kind == OpKind::Call) functions.push_back(e.params.as<CallParams>().region);
  return functions;
}

Array chain(Array x, int count) {
  for (int k = 0; k < count; ++k)
    x = k % 3 == 0 ? sin(x) + 0.25 : k % 3 == 1 ? exp(x * 0.5) - x : x / (x * x + 1.5);
  return x;
}
/// A function without a part that is there twice.
Array unlike(Array x, int count) {
  for (int k = 0; k < count; ++k) x = sin(x * (1. + 0.01 * k)) + 0.25;
  return x;
}

TEST(ShareRepeats, OfAFunctionBetweenOtherCode) {
  const auto f = [](Array x) {
    for (int k = 0; k < 5; ++k) x = unlike(x, 15) * (2. + k) - 0.5 * k;
    return x;
  };
  const auto functions = called(*checked(f, Array(0.3)));
  EXPECT_EQ(functions.size(), 5u);
  EXPECT_TRUE(
      std::ranges::all_of(functions, [&](const GraphRef& g) { return g.get() == functions[0].get(); }));
}

// One value may be several inputs of a run, and others of the next.
TEST(ShareRepeats, RunsMayReadOneValueInSeveralPlaces) {
  const auto part = [](const Array& a, const Array& b, const Array& c) {
    return unlike(a * sin(b), 8) * unlike(b + 0.5 * c, 8) - unlike(exp(c) - a, 8);
  };
  const auto f = [=](const Array& x) {
    const Array y = cos(x), z = x * x, first = part(x, y, z);
    return part(first, first, y) + part(y, z, y) * part(z, z, z) - part(first, y, x);
  };
  EXPECT_GE(called(*checked(f, Array(0.3))).size(), 4u);
}

TEST(ShareRepeats, OfAChain) {
  const GraphRef made = checked([](const Array& x) { return chain(x, 400); }, Array(0.3));
  EXPECT_GE(called(*made).size(), 3u);
  EXPECT_LE(made->eqns().size(), 300u);
}

TEST(ShareRepeats, InLoopsAndOnFewElements) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 3,
        [](const Array&, Array y) {
          for (int k = 0; k < 4; ++k) y = unlike(y, 12) * (1. + k);
          return y;
        },
        x);
  };
  const GraphRef made = checked(f, array({0.1, 0.2, 0.3}));
  std::size_t found = 0;
  for (const Eqn& e : made->eqns())
    for (const Graph* region : regions_of(e.params)) found = std::max(found, called(*region).size());
  EXPECT_EQ(found, 4u);
}

/// Some of the runs are asked for values within them, and read one value in two places.
TEST(ShareRepeats, WhoseInnerValuesAreRead) {
  const auto f = [](const Array& x) {
    Array y = x, total = x;
    for (int k = 0; k < 6; ++k) {
      const Array middle = unlike(y, 14);
      y = unlike(middle + total * y, 14);
      if (k % 2) total = total + middle;
    }
    return total + y;
  };
  EXPECT_GE(called(*checked(f, Array(0.3))).size(), 6u);
  EXPECT_GE(called(*checked(grad(f), Array(0.3))).size(), 0u);
}

TEST(ShareRepeats, NotWhatIsShortOrLongInMemory) {
  const auto f = [](const Array& x) { return chain(x, 400); };
  EXPECT_TRUE(called(*checked(f, linspace(0., 1., 17))).empty());
  EXPECT_TRUE(
      called(*checked([](const Array& x) { return unlike(x, 4) + unlike(x + 1., 4); }, Array(0.3))).empty());
}

TEST(ShareRepeats, CompilesToTheSameBits) {
  const auto stages = [](const Array& x) {
    Array y = x;
    for (int k = 0; k < 4; ++k) y = y + 0.1 * unlike(y * (1. - 0.1 * k), 14);
    return y;
  };
  const auto expect_equal = [](const auto& g, const Array& at) {
    expect_compiled_equal(*parse_graph(trace(g, at).text()), {&at, 1});
  };
  expect_equal(stages, array({0.1, 0.2}));
  const auto loop = [&](const Array& v) {
    return while_loop([](const Array& y) { return y < 3.; },
                      [&](const Array& y) { return y + abs(stages(y)) + 0.1; }, v);
  };
  expect_equal(vmap(loop), linspace(0., 1., 19));
  expect_equal(vmap(grad(loop)), linspace(0., 1., 19));
}

}  // namespace
}  // namespace apsis::detail
