// Ahead-of-time compilation, and programs as text. (Golden texts are in tests/canonical.)

#include "ir/graph.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Point {
  Array x, y;
};

std::string text_of_error(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    std::string what = error.what();
    return what.substr(0, what.find("\n  at "));
  }
  return "nothing was thrown";
}

Array energy(const Point& p, const Array& mass) { return sum(p.x * p.x) / mass + exp(p.y); }
Point decay(const Point& p) {
  return while_loop([](const Point& s) { return s.y > 0.1; },
                    [](const Point& s) {
                      return Point{s.x + s.y * cos(s.x), s.y * 0.5};
                    },
                    p);
}
Array running(const Array& xs) {
  return scan([](const Array& c, const Array& x) { return std::pair{c * 0.5 + x, c - x}; }, 0., xs).second;
}

TEST(Stages, CompileAheadOfTime) {
  Point p{array({1., 2.}), array(0.)};
  auto ready = lower(energy, p, array(2.)).compile();
  EXPECT_EQ(ready(p, array(2.)).item<double>(), 3.5);
  EXPECT_EQ(ready({array({2., 2.}), array(0.)}, array(4.)).item<double>(), 3.);
  expect_same_bits(ready(p, array(2.)), jit(energy)(p, array(2.)));
  auto slopes = trace(grad(energy), p, array(2.)).lower().compile();
  expect_same_bits(slopes(p, array(2.)).x, array({1., 2.}));
}

TEST(Stages, RefusesOtherArguments) {
  Point p{array({1., 2.}), array(0.)};
  auto ready = lower(energy, p, array(2.)).compile();
  EXPECT_EQ(text_of_error([&] {
              ready({array({1., 2., 3.}), array(0.)}, array(2.));
            }),
            "[compiled] argument 0.x was f64[2] when this program was compiled, and is f64[3] now; convert "
            "it, or compile again");
  EXPECT_EQ(text_of_error([&] { ready(p, Array(2., f32)); }),
            "[compiled] argument 1 was f64[] when this program was compiled, and is f32[] now; convert it, "
            "or compile again");
  EXPECT_EQ(text_of_error([&] {
              ready({p.x, Array()}, array(2.));
            }),
            "[compiled] argument 0.y was f64[] when this program was compiled, and is empty now; convert it, "
            "or compile again");
  EXPECT_EQ(ready(p, array(2.)).item<double>(), 3.5);
}

template <class F, class... A>
void expect_reads_back(const F& f, const A&... args) {
  std::string text = make_graph(f, args...);
  detail::GraphRef graph = detail::parse_graph(text);
  detail::verify(*graph);
  EXPECT_EQ(detail::to_string(*graph), text);
  EXPECT_TRUE(graph == detail::parse_graph(detail::to_string(*graph)));
  EXPECT_EQ(lower(f, args...).text(), text);
  // What was read runs like what was traced.
  std::vector<Array> inputs;
  (for_each_leaf(args, [&](const Array& a) { inputs.push_back(a); }), ...);
  std::vector<Array> want = leaves_of(jit(f)(args...));
  expect_same_bits(detail::interpret(*graph, inputs), want);
}

TEST(Stages, TextReadsBack) {
  Point p{array({1., 2.}), array(0.7)};
  expect_reads_back(energy, p, array(2.));
  expect_reads_back(decay, p);
  expect_reads_back(grad([](const Point& q) { return sum(decay(q).x); }), p);
  expect_reads_back(running, array({1., 2., 3.}));
  expect_reads_back(vmap(decay), Point{array({1., 2.}), array({3., 0.5})});
  expect_reads_back(grad([](const Array& x) {
                      return sum(vmap([](const Array& v) { return decay({v, v}).x; })(x));
                    }),
                    array({1., 2.}));
  expect_reads_back(
      [](const Array& x) {
        return cond(
            x > 0., [](const Array& v) { return sin(v); }, [](const Array& v) { return v; }, x);
      },
      array(2.));
}

}  // namespace
}  // namespace apsis::testing
