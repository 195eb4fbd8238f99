// Trouble 2: inlining, and waiting for results.
//
// In Equinox
//     @eqx.filter_jit(inline=True)
//     def f(x): return x, x.shape[0]
// called inside another jitted function, failed: the inner program's second output had been folded to a plain
// integer while tracing, and what comes back from an inlined call was taken to be an array. Calling
// block_until_ready on a tree of results failed for the same reason, on its integers. Here what is static in
// a result is part of its type, and never among the outputs of a program.

#include "troubles/wrappers.hpp"

namespace apsis::testing {
namespace {

enum class Status { Good, Bad };
struct Results {
  Array traced, same_as_argument, folded, weak_folded, empty;
  int rows;
  Status status;
  std::string note;
  Static<double> rate;
  std::optional<Array> there, not_there;
  std::optional<int> number;
  std::vector<Array> many;
  std::pair<Array, std::tuple<int, Array>> nested;
  std::variant<int, Array> either;
};

Results mixed(const Array& x, int n) {
  Array constant = array({1., 2.}) * 3.;  // of no argument: folded while tracing, or computed in the program
  return {.traced = x * n,
          .same_as_argument = x,
          .folded = constant,
          .weak_folded = Array(2) + 3,
          .rows = static_cast<int>(x.dim(0)),
          .status = Status::Bad,
          .note = "note",
          .rate = 0.25,
          .there = x + 1.,
          .number = n,
          .many = {x, Array(), array(7)},
          .nested = {Array(), {n, array(true)}},
          .either = n};
}

const Array x = array({5., 6., 7.});

void expect_equal(const Results& got, const Results& want) {
  EXPECT_TRUE(tree_structure_equal(got, want)) << structure_difference(got, want, "results");
  expect_same_bits(got, want);  // leaf by leaf, with dtype, weakness, emptiness
  EXPECT_EQ(got.rows, 3);
  EXPECT_EQ(got.status, Status::Bad);
  EXPECT_EQ(got.note, "note");
  EXPECT_FALSE(got.not_there.has_value());
  EXPECT_EQ(std::get<int>(got.either), want.number);
}

TEST(InlineOutputs, ResultsOfEveryKindAreKept) {
  const Results want = mixed(x, 4);
  for (bool in_line : {false, true}) {
    auto f = jit(&mixed, {.inline_calls = in_line});
    expect_equal(f(x, 4), want);
    expect_equal(jit([&](const Array& a) { return f(a, 4); })(x), want);
    expect_equal(jit(jit([&](const Array& a) { return f(a, 4); }), {.inline_calls = in_line})(x), want);
    expect_equal(compile([&](const Array& a) { return f(a, 4); }, x)(x), want);
    // Results of one call that arguments, branches and loops of another program use.
    auto used = jit([&](const Array& a) {
      Results r = f(a, 2);
      return fori_loop(
          0, r.rows, [&](const Array&, const Array& c) { return c + r.traced + f(c, r.rows).traced; },
          *r.there);
    });
    Array c = x + 1.;
    for (int i = 0; i < 3; ++i) c = c + x * 2 + c * 3;
    expect_same_bits(used(x), c);
    EXPECT_EQ(trace_count(f), 3);  // of n = 4, 2, 3, however often it is called
  }
}

TEST(InlineOutputs, UnderDerivativesAndBatches) {
  for (bool in_line : {false, true}) {
    auto f = jit(&mixed, {.inline_calls = in_line});
    auto [value, aux, slope] = jit(value_and_grad([&](const Array& a) {
      Results r = f(a, 3);
      return std::pair{sum(r.traced * *r.there), r};
    }))(x);
    EXPECT_EQ(value.item<double>(), 3. * (5 * 6 + 6 * 7 + 7 * 8));
    expect_same_bits(slope, 3. * (2. * x + 1.));
    expect_equal(aux, mixed(x, 3));

    Results lanes = jit(vmap([&](const Array& a) { return f(a, 3); }))(stack({x, 2. * x}));
    expect_same_bits(lanes.traced, stack({3. * x, 6. * x}));
    expect_same_bits(lanes.folded, array({{3., 6.}, {3., 6.}}));
    EXPECT_EQ(lanes.rows, 3);
    EXPECT_TRUE(lanes.empty.is_empty());
  }
}

TEST(InlineOutputs, TheProgramIsFlatOrACall) {
  auto text = [](bool in_line) {
    auto f = jit([](const Array& a) { return sin(a) * 2.; }, {.name = "wave", .inline_calls = in_line});
    return make_graph([&](const Array& a) { return f(f(a)); }, x);
  };
  EXPECT_NE(text(false).find("call"), std::string::npos);
  EXPECT_NE(text(false).find("wave"), std::string::npos);
  EXPECT_EQ(text(true), make_graph([](const Array& a) { return sin(sin(a) * 2.) * 2.; }, x));
}

TEST(InlineOutputs, WaitingTakesAnything) {
  const Results want = mixed(x, 4);
  expect_equal(block_until_ready(jit(&mixed)(x, 4)), want);
  EXPECT_EQ(block_until_ready(3), 3);
  EXPECT_EQ(block_until_ready(std::optional<int>()), std::nullopt);
  EXPECT_EQ(block_until_ready(std::string("text")), "text");
  EXPECT_TRUE(block_until_ready(Array()).is_empty());
  const Results& same = block_until_ready(want);
  EXPECT_EQ(&same, &want);
  // Traced values as well: there is nothing to wait for, and no error.
  expect_equal(
      jit([](const Array& a, int n) { return block_until_ready(mixed(block_until_ready(a), n)); })(x, 4),
      want);
  expect_same_bits(grad([](const Array& a) { return sum(block_until_ready(a * a)); })(x), 2. * x);
}

}  // namespace
}  // namespace apsis::testing
