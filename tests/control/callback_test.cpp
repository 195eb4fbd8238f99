// Functions of the host in eager and compiled programs, under every transformation, in program order.

#include <gtest/gtest.h>

#include <memory>

#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// What callbacks saw, in the order in which they saw it.
struct Log {
  std::vector<double> seen;
  std::vector<double> take() { return std::exchange(seen, {}); }
};
Log log_of_calls;

auto note() {
  return io_callback([](const Array& x) { log_of_calls.seen.push_back(x.item<double>()); });
}
auto twice() {
  return pure_callback([](const Array& x) { return x * 2.; }, array(0.));
}
using Seen = std::vector<double>;

TEST(PureCallback, IsAValueLikeAnyOther) {
  auto f = [](const Array& x) { return twice()(x) + 1.; };
  Array x = array(3.);
  EXPECT_EQ(f(x).item<double>(), 7.);
  EXPECT_EQ(jit(f)(x).item<double>(), 7.);
  auto loop = [&](const Array& v) {
    return fori_loop(
        0, 5, [&](const Array&, const Array& c) { return f(c); }, v);
  };
  EXPECT_EQ(expect_compiled_as_interpreted(loop, x).item<double>(), 32. * 3 + 31);
  EXPECT_EQ(jit(loop)(x).item<double>(), 32. * 3 + 31);
}

TEST(PureCallback, WorksOnTreesAndStaticValues) {
  struct Model {
    Array a, b;
    int order = 2;
  };
  auto host = pure_callback(
      [](const Model& m, const Array& x) {
        return Model{m.a + x, m.b * m.order, m.order + 1};
      },
      Model{array(0.), zeros({2})});
  auto f = [&](const Model& m, const Array& x) { return host(m, x); };
  Model m{array(1.), array({2., 3.}), 5};
  Model got = jit(f)(m, array(10.));
  EXPECT_EQ(got.a.item<double>(), 11.);
  EXPECT_EQ(got.b.to_vector<double>(), (Seen{10., 15.}));
  EXPECT_EQ(got.order, 2);  // static parts are those of the declaration
}

TEST(PureCallback, KeepsWhatItGets) {
  std::vector<Array> kept;
  auto keep = io_callback([&kept](const Array& x) { kept.push_back(x); });
  jit([&](const Array& x) {
    keep(x * 2.);
    keep(x * 3.);
    return x;
  })(ones({100}));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0][99].item<double>(), 2.);
  EXPECT_EQ(kept[1][0].item<double>(), 3.);
}

TEST(PureCallback, VmapMethods) {
  std::vector<std::string> shapes;
  auto with = [&shapes](VmapMethod method) {
    return pure_callback(
        [&shapes](const Array& a, const Array& b) {
          shapes.push_back(to_string(a.shape()) + to_string(b.shape()));
          return a * b;
        },
        array(0.), {.vmap_method = method});
  };
  Array x = array({1., 2., 3.}), k = array(10.);
  auto run = [&](VmapMethod method) {
    auto host = with(method);
    Array got = vmap([&](const Array& a, const Array& b) { return host(a, b); }, {.in_axes = {0, {}}})(x, k);
    EXPECT_EQ(got.to_vector<double>(), (Seen{10., 20., 30.}));
    return std::exchange(shapes, {});
  };
  EXPECT_EQ(run(VmapMethod::Sequential), (std::vector<std::string>{"[][]", "[][]", "[][]"}));
  EXPECT_EQ(run(VmapMethod::ExpandDims), (std::vector<std::string>{"[3][1]"}));
  EXPECT_EQ(run(VmapMethod::BroadcastAll), (std::vector<std::string>{"[3][3]"}));
  auto host = with(VmapMethod::Sequential);
  auto inner = vmap([&](const Array& a) { return host(a, k); });
  Array nested = jit(vmap(inner, {.in_axes = {1}, .out_axes = 1}))(array({{1., 2.}, {3., 4.}, {5., 6.}}));
  EXPECT_EQ(nested.to_vector<double>(), (Seen{10, 20, 30, 40, 50, 60}));
}

TEST(PureCallback, InLanes) {
  // Lanes run their loops at their own pace; resting ones do not call.
  auto host = pure_callback(
      [](const Array& x) {
        EXPECT_GE(x.item<double>(), 1.);
        return x * 2.;
      },
      array(0.));
  auto f = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 50.; }, [&](const Array& y) { return host(y); }, x);
  };
  Array x = linspace(1., 40., 20), got = vmap(f)(x);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(got[i].item<double>(), f(x[i]).item<double>());
  expect_same_bits(jit(vmap(f))(x), got);
}

TEST(PureCallback, IsNotCalledIfNobodyNeedsIt) {
  int calls = 0;
  auto host = pure_callback([&calls](const Array& x) { return ++calls, x; }, array(0.));
  jit([&](const Array& x) { return (host(x), x); })(array(1.));
  EXPECT_EQ(calls, 0);
  auto same = [&](const Array& x) { return host(x) + host(x); };  // equal calls are one
  jit(same)(array(1.));
  EXPECT_EQ(calls, 1);
}

TEST(PureCallback, ThrowsThroughCompiledCode) {
  auto host = pure_callback(
      [](const Array& x) -> Array {
        if (x.item<double>() > 3.) throw std::runtime_error("too large: " + to_string(x));
        return x + 1.;
      },
      array(0.));
  auto f = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 10.; }, [&](const Array& y) { return host(y); }, x);
  };
  auto message = [](const auto& run) {
    try {
      run();
    } catch (const std::runtime_error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(message([&] { jit(f)(array(0.5)); }), "too large: 3.5");
  // The lowest lane wins.
  EXPECT_EQ(message([&] { jit(vmap(f))(array({11., 0.25, 12., 0.5})); }), "too large: 3.25");
  EXPECT_EQ(jit(f)(array(12.)).item<double>(), 12.);
}

TEST(IoCallback, RunsOnceAPassInProgramOrder) {
  auto f = [](const Array& x) {
    auto write = note();
    write(x);
    Array y = fori_loop(
        0, 3, [&](const Array& i, const Array& c) { return write(c), c * 2. + i; }, x);
    write(y);
    return y;
  };
  f(array(1.));
  Seen want = log_of_calls.take();
  EXPECT_EQ(want, (Seen{1, 1, 2, 5, 12}));
  jit(f)(array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
  jit(jit(f))(array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
  // The forward pass has it; the reverse pass, which computes the loop's body again, has not.
  grad(f)(array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
  jit(grad(f))(array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
  jit(grad(grad(f)))(array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
  jvp(f, array(1.), array(1.));
  EXPECT_EQ(log_of_calls.take(), want);
}

TEST(IoCallback, StaysInLoopsAndBranchesWithoutResults) {
  auto f = [](const Array& x) {
    auto write = note();
    fori_loop(
        0, 2, [&](const Array&, const Array& c) { return write(c), c + 1.; }, x);  // its result is not used
    cond(
        x > 0., [&](const Array& v) { return write(v), std::tuple<>(); },
        [](const Array&) { return std::tuple<>(); }, x);
    return x;
  };
  jit(f)(array(1.));
  EXPECT_EQ(log_of_calls.take(), (Seen{1, 2, 1}));
  jit(f)(array(-1.));
  EXPECT_EQ(log_of_calls.take(), (Seen{-1, 0}));
}

TEST(IoCallback, UnderVmapLaneAfterLane) {
  auto f = [](const Array& x) { return note()(x), x; };
  vmap(f)(array({3., 1., 2.}));
  EXPECT_EQ(log_of_calls.take(), (Seen{3, 1, 2}));
  jit(vmap(f))(array({3., 1., 2.}));
  EXPECT_EQ(log_of_calls.take(), (Seen{3, 1, 2}));
  // An argument that is not mapped: once.
  jit(vmap([](const Array& x) { return note()(array(7.)), x; }))(array({3., 1., 2.}));
  EXPECT_EQ(log_of_calls.take(), (Seen{7}));
  // Branches: for the lanes that chose them.
  auto g = [](const Array& x) {
    return cond(
        x > 1.5, [](const Array& v) { return note()(v), v; }, [](const Array& v) { return -v; }, x);
  };
  Array got = jit(vmap(g))(array({3., 1., 2.}));
  EXPECT_EQ(log_of_calls.take(), (Seen{3, 2}));
  EXPECT_EQ(got.to_vector<double>(), (Seen{3, -1, 2}));
  // Loops: lane after lane, each at its own pace, and each with its number.
  auto h = [](const Array& x) {
    Array lane = axis_index("i");
    auto body = [&](const Array& y) { return note()(y + 10. * lane), y + 1.; };
    return while_loop([](const Array& y) { return y < 3.; }, body, x);
  };
  jit(vmap(h, {.axis_name = "i"}))(array({1., 2., 0.}));
  EXPECT_EQ(log_of_calls.take(), (Seen{1, 2, 12, 20, 21, 22}));
}

TEST(IoCallback, ReturnsResults) {
  auto counter = std::make_shared<double>(0.);
  auto next =
      io_callback([counter](const Array& step) { return array(*counter += step.item<double>()); }, array(0.));
  auto f = [&](const Array& x) {
    Array a = next(x), b = next(x);  // effects: never merged
    return a * 100. + b;
  };
  EXPECT_EQ(jit(f)(array(1.)).item<double>(), 102.);
  EXPECT_EQ(jit(f)(array(1.)).item<double>(), 304.);
  EXPECT_EQ(jit(vmap(f))(array({1., 10.})).to_vector<double>(), (Seen{100 * 5 + 16, 100 * 15 + 26}));
}

TEST(IoCallback, EqualProgramsAreCompiledOnce) {
  auto f = [](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return note()(c), c * 2.; }, x);
  };
  f(array(1.));
  std::int64_t before = detail::compile_count();
  for (int i = 0; i < 3; ++i) f(array(1.));  // traced anew each time; the callback has no state
  EXPECT_EQ(detail::compile_count(), before);
  log_of_calls.take();
  // One with a state: the same object is the same program.
  int calls = 0;
  auto count = io_callback([&calls](const Array&) { ++calls; });
  auto g = [&](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return count(c), c * 2.; }, x);
  };
  g(array(1.));
  before = detail::compile_count();
  g(array(1.));
  EXPECT_EQ(detail::compile_count(), before);
  EXPECT_EQ(calls, 6);
}

TEST(IoCallback, MayCallCompiledFunctions) {
  auto inner = jit([](const Array& x) { return x * x; });
  double sum = 0;
  auto add = io_callback([&](const Array& x) { sum += inner(x).item<double>(); });
  jit([&](const Array& x) {
    return fori_loop(
        0, 4, [&](const Array& i, const Array& c) { return add(c + i), c; }, x);
  })(array(0.));
  EXPECT_EQ(sum, 14.);
}

}  // namespace
}  // namespace apsis::testing
