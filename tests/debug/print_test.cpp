// What debug::print writes, and when.

#include <gtest/gtest.h>

#include <apsis/apsis.hpp>

namespace apsis::testing {
namespace {

template <class Run>
std::string printed(const Run& run) {
  ::testing::internal::CaptureStdout();
  run();
  return ::testing::internal::GetCapturedStdout();
}

TEST(Print, Formats) {
  auto line = [](const auto&... a) { return printed([&] { debug::print(a...); }); };
  EXPECT_EQ(line("nothing"), "nothing\n");
  EXPECT_EQ(line("{} and {}", array(1.5), array({1, 2})), "1.5 and [1 2]\n");
  EXPECT_EQ(line("{1} before {0}", array(1), array(2)), "2 before 1\n");
  EXPECT_EQ(line("loss {loss}, {}", array(1), debug::arg("loss", array(0.25))), "loss 0.25, 1\n");
  EXPECT_EQ(line("{{{}}}", array(true)), "{True}\n");
  EXPECT_EQ(line("{:.3f}|{:8.2e}", array(1. / 3), array(1234.)), "0.333|1.23e+03\n");
  EXPECT_EQ(line("{:.1f}", array({{1., 2.}, {3., 4.}})), "[[1.0 2.0] [3.0 4.0]]\n");
  EXPECT_EQ(line("{:.1f}", complex(array({1., 3.}), array({-2., 0.}))), "[1.0-2.0j 3.0+0.0j]\n");
  EXPECT_EQ(line("{} {}", 3, 2.5), "3 2.5\n");
}

const auto noisy = [](const Array& x) {
  debug::print("start {}", x);
  Array y = while_loop([](const Array& v) { return v < 4.; },
                       [](const Array& v) { return debug::print("at {}", v), v * 2.; }, x);
  debug::print("end {y}", debug::arg("y", y));
  return y;
};

TEST(Print, ComesInProgramOrder) {
  std::string want = "start 1.0\nat 1.0\nat 2.0\nend 4.0\n";
  Array x = array(1.);
  EXPECT_EQ(printed([&] { noisy(x); }), want);
  auto fast = jit(noisy);
  EXPECT_EQ(printed([&] { fast(x); }), want);
  EXPECT_EQ(printed([&] { fast(x); }), want);
  EXPECT_EQ(printed([&] { jit(value_and_grad(noisy))(x); }), want);
  EXPECT_EQ(printed([&] { jvp(noisy, x, x); }), want);
}

TEST(Print, UnderVmap) {
  auto f = [](const Array& x) { return debug::print("x = {}", x), debug::print("once"), x; };
  std::string want = "x = 1.0\nx = 2.0\nonce\n";
  EXPECT_EQ(printed([&] { vmap(f)(array({1., 2.})); }), want);
  EXPECT_EQ(printed([&] { jit(vmap(f))(array({1., 2.})); }), want);
  // Loops whose lanes run at their own pace: lane after lane.
  EXPECT_EQ(printed([&] {
              jit(vmap([](const Array& x) {
                return while_loop([](const Array& v) { return v < 4.; },
                                  [](const Array& v) { return debug::print("at {}", v), v * 2.; }, x);
              }))(array({1., 3.}));
            }),
            "at 1.0\nat 2.0\nat 3.0\n");
}

TEST(Print, BreakpointsStopWhereTheConditionHolds) {
  static std::vector<std::string> reached;
  auto before = debug::on_breakpoint([](const char* text) { reached.push_back(text); });
  auto f = jit([](const Array& x) {
    return fori_loop(
        0, 4, [](const Array& i, const Array& v) { return debug::breakpoint_if(v > 3., v, i), v + 1.; }, x);
  });
  f(array(1.));
  debug::on_breakpoint(before);
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_EQ(reached[0], "breakpoint_if: reached\n  value 0: 4.0\n  value 1: 3");
}

TEST(Announce, SaysWhichTransformationsComeBy) {
  auto f = [](const Array& x) { return sum(debug::announce_transform(x, "x") * 2.); };
  std::string text = printed([&] { jit(grad(f))(array({1., 2.})); });
  auto place = [&](const char* what) { return text.find(what); };
  EXPECT_NE(place("x: derivative, f64[2]"), std::string::npos) << text;
  EXPECT_NE(place("x: transpose, f64[2]"), std::string::npos) << text;
  EXPECT_LT(place("derivative"), place("transpose"));
  std::string mapped = printed([&] { vmap(f)(ones({3, 2})); });
  EXPECT_EQ(mapped, "[announce_transform] x: vmap, f64[3,2]\n[announce_transform] x: run, f64[3,2]\n");
}

TEST(BackwardNan, NamesTheCotangentThatHasOne) {
  auto loss = [](const Array& x) {
    Array r = debug::backward_nan(x, "radius");
    return sum(sqrt(r * r - 1.));  // at 1 the slope is infinite, and infinity times zero is no number
  };
  auto at = [&](const auto& gradient, double x) {
    try {
      gradient(array({2., x}));
    } catch (const Error& e) {
      EXPECT_STREQ(e.id(), "backward_nan");
      std::string what = e.what();
      EXPECT_NE(what.find("print_test.cpp:"), std::string::npos) << what;
      return what.substr(0, what.find('\n'));
    }
    return std::string();
  };
  EXPECT_EQ(at(grad(loss), 3.), "");
  EXPECT_EQ(at(jit(grad(loss)), 3.), "");
  auto zero_slope = [](const Array& x) {
    Array r = debug::backward_nan(x, "radius");
    return sum(sqrt(r * 0.));
  };
  EXPECT_EQ(at(grad(zero_slope), 1.),
            "[backward_nan] the cotangent that came back to \"radius\" has a NaN: [nan nan]");
  EXPECT_EQ(at(jit(grad(zero_slope)), 1.),
            "[backward_nan] the cotangent that came back to \"radius\" has a NaN: [nan nan]");
}

TEST(Leaks, AreReportedWithTheirPlace) {
  Array kept;
  auto f = [&kept](const Array& x) {
    kept = x * 2.;
    return x;
  };
  auto good = [](const Array& x) { return grad([](const Array& v) { return sum(v * v); })(x); };
  EXPECT_NO_THROW(debug::check_leaks(jit(good))(ones({3})));
  EXPECT_NO_THROW(jit(debug::check_leaks(good))(ones({3})));
  try {
    debug::check_leaks(jit(f))(ones({3}));
    ADD_FAILURE() << "no leak was found";
  } catch (const Error& e) {
    EXPECT_STREQ(e.id(), "tracers_leaked");
    EXPECT_NE(std::string(e.what()).find("1 traced values outlive"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("f64[3], made at"), std::string::npos) << e.what();
  }
}

TEST(LiveArrays, KnowsWhatIsThere) {
  debug::TrackArrays tracking;
  EXPECT_TRUE(debug::live_arrays().empty());
  Array a = ones({1000});
  {
    Array b = zeros({3}, Dtype::F32);
    auto live = debug::live_arrays();
    ASSERT_EQ(live.size(), 2u);
    EXPECT_EQ(live[0].bytes, 8000u);
    EXPECT_EQ(live[1].dtype, Dtype::F32);
  }
  EXPECT_EQ(debug::live_arrays().size(), 1u);
}

TEST(LogCompiles, WritesALineForEachProgram) {
  auto f = jit([](const Array& x) { return x * 3.25 + 1.; });
  ::testing::internal::CaptureStderr();
  {
    debug::LogCompiles log;
    f(array({1., 2., 3.}));
    f(array({1., 2., 3.}));
  }
  f(array({1., 2.}));
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("[log_compiles] (f64[3]) -> (f64[3]): ")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

}  // namespace
}  // namespace apsis::testing
