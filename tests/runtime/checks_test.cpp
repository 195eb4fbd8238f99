// jit(f, {.checks = …}): what compiled programs check of their own ops, and how they say which op it was.

#include <gtest/gtest.h>

#include "codegen/compile/compile.hpp"
#include "runtime/program_file.hpp"
#include "transform/checks.hpp"
#include "transform/checks/op_checks.hpp"

namespace apsis::testing {
namespace {

struct Failure {
  std::string id, text, place;
};
template <class Run>
Failure failure_of(const Run& run) {
  try {
    run();
  } catch (const Error& e) {
    std::string what = e.what();
    std::size_t end = what.find("\n  at ");
    std::size_t file = end == std::string::npos ? end : what.rfind('/', what.find(" in ", end));
    return {e.id(), what.substr(0, end),
            file == std::string::npos ? "" : what.substr(file + 1, what.find(" in ", end) - file - 1)};
  }
  return {};
}

/// Where the line of `log` below stands, as errors write it.
#define HERE(offset) ("checks_test.cpp:" + std::to_string(__LINE__ + (offset)))

TEST(Checks, NameTheFirstOpThatMadeANan) {
  auto f = [](const Array& x) {
    Array y = x * 2.;
    Array z = log(y);
    return sqrt(z) + z;
  };
  std::string log_line = HERE(-3);
  auto fast = jit(f, {.checks = {.nan = true}});
  Array good = array({1., 2.});
  expect_same_bits(fast(good), jit(f)(good));
  Failure bad = failure_of([&] { fast(array({1., -2.})); });
  EXPECT_EQ(bad.id, "check_nan_made");
  EXPECT_EQ(bad.text, "[checks] `log` made a NaN of operands that have none");
  EXPECT_EQ(bad.place, log_line);
  EXPECT_EQ(failure_of([&] {
              fast(array({0.75, 0.25}));
            }).text,
            "[checks] `sqrt` made a NaN of operands that have none");
  EXPECT_EQ(failure_of([&] {
              fast(array({0., std::nan("")}));
            }).text,
            "[checks] `mul` computed with a NaN that came in from outside");
  EXPECT_TRUE(std::isnan(jit(f)(array({-1.}))[0].item<double>()));  // unless asked
}

TEST(Checks, LookIntoLoopsBranchesAndDerivatives) {
  auto loop = [](const Array& x) {
    return while_loop([](const Array& y) { return y > -3.; },
                      [](const Array& y) { return y - 1. + 0. * sqrt(y); }, x);
  };
  auto checked = jit(loop, {.checks = {.nan = true}});
  EXPECT_EQ(failure_of([&] { checked(array(2.5)); }).text,
            "[checks] `sqrt` made a NaN of operands that have none");
  // The value is there, the derivative is not: zero times infinity.
  auto power = [](const Array& x) { return x * sqrt(x); };
  std::string line = HERE(-1);
  auto slope = jit(grad(power), {.checks = {.nan = true}});
  EXPECT_EQ(slope(array(4.)).item<double>(), 3.);
  Failure bad = failure_of([&] { slope(array(0.)); });
  EXPECT_EQ(bad.id, "check_nan_made");
  EXPECT_EQ(bad.place, line);
  auto branch = jit(
      [](const Array& x) {
        return cond(
            x > 1., [](const Array& v) { return log(v - 2.); }, [](const Array& v) { return v; }, x);
      },
      {.checks = {.nan = true}});
  EXPECT_EQ(branch(array(-5.)).item<double>(), -5.);
  EXPECT_EQ(failure_of([&] { branch(array(1.5)); }).text,
            "[checks] `log` made a NaN of operands that have none");
}

TEST(Checks, NameTheLane) {
  auto f = jit([](const Array& x) { return log(x); }, {.checks = {.nan = true}});
  EXPECT_EQ(
      failure_of([&] {
        vmap(f)(array({1., 2., -1.}));
      }).text,
      "[checks] `log` made a NaN of operands that have none (1 of 3 lanes failed, the first is lane 2)");
}

TEST(Checks, Indices) {
  auto at = jit([](const Array& x, const Array& i) { return x[i]; }, {.checks = {.index = true}});
  Array x = array({1., 2., 3.});
  EXPECT_EQ(at(x, array({2, 0, -1})).to_vector<double>(), (std::vector<double>{3., 1., 3.}));
  Failure bad = failure_of([&] { at(x, array({2, 7})); });
  EXPECT_EQ(bad.id, "check_index");
  EXPECT_NE(bad.text.find("has an index out of range: they go from 2 to 7, allowed is 0 to 2, along axis 0"),
            std::string::npos)
      << bad.text;
  auto set = jit([](const Array& v, const Array& i) { return v.at(i).set(0.); }, {.checks = {.index = true}});
  EXPECT_EQ(set(x, array(1)).to_vector<double>(), (std::vector<double>{1., 0., 3.}));
  EXPECT_EQ(failure_of([&] { set(x, array(3)); }).id, "check_index");
  auto pick = jit([](const Array& v, const Array& i) { return v[i]; }, {.checks = {.index = true}});
  EXPECT_EQ(failure_of([&] { pick(x, array({0, 5})); }).place, HERE(-1));  // of an operator too
}

struct Filled {
  Array i, b;
};

// A lane that has ended makes no more updates, and one that goes on makes its own.
TEST(Checks, IndicesOfLoopsOfLanes) {
  const auto fill = [](const Array& b, const Array& n) {
    return while_loop([&](const Filled& s) { return s.i < n; },
                      [&](const Filled& s) {
                        return Filled{s.i + 1, s.b.at(s.i).set(2. * s.b[s.i])};
                      },
                      Filled{0, b})
        .b;
  };
  const Array b = reshape(arange(20.), {4, 5});
  for (const LaneLoops loops : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
    const auto lanes = vmap(fill, {.loops = loops});
    const auto checked = jit(lanes, {.checks = {.index = true}});
    expect_same_bits(checked(b, array({1, 0, 5, 3})), jit(lanes)(b, array({1, 0, 5, 3})));
    const Failure bad = failure_of([&] { checked(b, array({1, 0, 6, 3})); });
    EXPECT_EQ(bad.id, "check_index");
    EXPECT_NE(bad.text.find("from 5 to 5, allowed is 0 to 4"), std::string::npos) << bad.text;
  }
}

TEST(Checks, Divisions) {
  auto divide = jit([](const Array& a, const Array& b) { return a / b; }, {.checks = {.division = true}});
  EXPECT_EQ(divide(array(1.), array(4.)).item<double>(), 0.25);
  Failure bad = failure_of([&] { divide(array({1., 2.}), array({1., 0.})); });
  EXPECT_EQ(bad.id, "check_division");
  EXPECT_EQ(bad.text, "[checks] `div` divides by zero");
  auto rest = jit([](const Array& a, const Array& b) { return a % b; }, {.checks = Checks::all()});
  EXPECT_EQ(rest(array(7), array(4)).item<std::int64_t>(), 3);
  EXPECT_EQ(failure_of([&] { rest(array(7), array(0)); }).id, "check_division");
}

/// What compiled code says, and the evaluator of the same checked program: one text.
template <class F, class... A>
std::string said_by_both(const F& f, const A&... args) {
  const Failure compiled = failure_of([&] { jit(f, {.checks = Checks::all()})(args...); });
  const StagedCall call = staged_call(f, args...);
  const detail::GraphRef checked = detail::with_checks(*call.graph, Checks::all());
  const Failure reference = failure_of([&] {
    detail::InterpretScope scope;
    detail::interpret(*checked, call.inputs);
  });
  EXPECT_EQ(compiled.text, reference.text);
  EXPECT_EQ(compiled.id, reference.id);
  EXPECT_EQ(compiled.place, reference.place);
  return compiled.text;
}

/// The same of a function of a scalar alone, in loops, in calls, in derivatives and in lanes.
template <class F>
void expect_said_everywhere(const F& f, double good, double bad, const std::string& text) {
  EXPECT_EQ(said_by_both(f, array(good)), "");
  EXPECT_EQ(said_by_both(f, array(bad)), text);
  const auto loop = [&](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array& i, const Array& y) { return y + 0. * f(where(i == 2, x, good)); }, x);
  };
  EXPECT_EQ(said_by_both(loop, array(good)), "");
  EXPECT_EQ(said_by_both(loop, array(bad)), text);
  const auto until = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 90.; },
                      [&](const Array& y) { return where(y == y, y + 40., 0. * f(y)); }, x);
  };
  EXPECT_EQ(said_by_both(until, array(bad)), text);
  const auto called = [inner = jit(f)](const Array& x) { return inner(x) + 1.; };
  EXPECT_EQ(said_by_both(called, array(bad)), text);
  said_by_both(grad([&](const Array& x) { return f(x) * 2.; }), array(bad));
  for (std::int64_t lanes : {3, 40}) {
    const Array fine = full({lanes}, good), x = fine.at(lanes - 1).set(bad);
    EXPECT_EQ(said_by_both(vmap(f), fine), "");
    EXPECT_NE(said_by_both(vmap(f), x), "");
    EXPECT_NE(said_by_both(vmap(loop), x), "");
    EXPECT_NE(said_by_both(vmap(until), x), "");
    // Checked before it is mapped, the function knows its lanes.
    const auto mapped = vmap(jit(f, {.checks = Checks::all()}));
    const std::string lane = "the first is lane " + std::to_string(lanes - 1) + ")";
    const Failure compiled = failure_of([&] { jit(mapped)(x); });
    EXPECT_EQ(compiled.text, text + " (1 of " + std::to_string(lanes) + " lanes failed, " + lane);
    EXPECT_EQ(failure_of([&] { jit(mapped)(fine); }).text, "");
  }
}

TEST(Checks, SayTheSameInEveryForm) {
  expect_said_everywhere([](const Array& x) { return exp(log(x * 2.) + 1.); }, 2., -3.,
                         "[checks] `log` made a NaN of operands that have none");
  expect_said_everywhere([](const Array& x) { return 1. + 3. / (x - 1.); }, 2., 1.,
                         "[checks] `div` divides by zero");
  const Array table = linspace(0., 1., 50);
  expect_said_everywhere(
      [&](const Array& x) { return table[astype(x, i64)] + x; }, 7., 70.,
      "[checks] `dynamic_slice` has an index out of range: they go from 70 to 70, allowed is 0 to 49, "
      "along axis 0");
}

TEST(Checks, TheFirstOfTheProgramIsNamedThoughTheLastIsTested) {
  const auto f = [](const Array& x, const Array& y) {
    Array a = sqrt(x), b = log(y);
    return exp(a + b) * 2.;
  };
  const Array good = linspace(1., 2., 30), bad = good.at(17).set(-1.);
  EXPECT_EQ(said_by_both(f, good, good), "");
  EXPECT_EQ(said_by_both(f, bad, bad), "[checks] `sqrt` made a NaN of operands that have none");
  EXPECT_EQ(said_by_both(f, good, bad), "[checks] `log` made a NaN of operands that have none");
  EXPECT_EQ(said_by_both(f, good, good.at(3).set(std::nan(""))),
            "[checks] `log` computed with a NaN that came in from outside");
}

/// What a program that was kept on disk says is what it said before, its place included.
TEST(Checks, SayTheSameFromDisk) {
  const auto f = [](const Array& x) { return sqrt(log(x)) + 1.; };
  const StagedCall call = staged_call(f, linspace(-1., 1., 30));
  const detail::GraphRef checked = detail::with_checks(*call.graph, Checks::all());
  const detail::ProgramImage image = detail::compile_image(*checked);
  const auto read = detail::decode_program(detail::encode_program("key", image), "key");
  ASSERT_TRUE(read);
  const auto said = [&](const detail::ProgramImage& made) {
    try {
      detail::run(*detail::load_program(*checked, made), call.inputs);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(said(image).find("\n  at "), std::string::npos);
  EXPECT_EQ(said(*read), said(image));
}

/// A buffer that a loop writes to in place is not copied for the sake of a check.
TEST(Checks, UpdatesStayInPlace) {
  const auto fill = [](const Array& x) {
    return fori_loop(
        0, 100, [](const Array& i, const Array& v) { return v.at(i).set(sqrt(v[i]) + 1.); }, x);
  };
  const Array x = ones({100});
  const auto copies = [&](auto f) {
    const std::string code = lower(f, x).compile().code_text();
    std::size_t n = 0;
    for (std::size_t at = 0; (at = code.find("call void @llvm.memcpy", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(copies(jit(fill, {.checks = Checks::all()})), copies(jit(fill)));
  expect_same_bits(jit(fill, {.checks = Checks::all()})(x), jit(fill)(x));
}

TEST(Checks, NanDebugIsTheShortName) {
  auto f = debug::nan_debug([](const Array& x) { return sum(log(x)); });
  EXPECT_EQ(f(array({1., 1.})).item<double>(), 0.);
  EXPECT_EQ(failure_of([&] { f(array({1., -1.})); }).id, "check_nan_made");
}

// Whether it is checked is part of what a jitted function is, as an argument too.
TEST(Checks, BelongToAFunctionGivenAsAnArgument) {
  const auto root = [](const Array& x) { return sqrt(x); };
  const auto apply = jit([](const auto& f, const Array& x) { return f(x); });
  const auto checked = jit(root, {.checks = {.nan = true}}), unchecked = jit(root);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(isnan(apply(unchecked, array(-1.))).item<bool>());
    EXPECT_EQ(failure_of([&] { apply(checked, array(-1.)); }).id, "check_nan_made");
  }
}

}  // namespace
}  // namespace apsis::testing
