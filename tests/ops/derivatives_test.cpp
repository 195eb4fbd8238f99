// Derivatives of every op through the transformations: reverse mode is the adjoint of forward mode, and
// derivatives can be differentiated again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/lax.hpp"
#include "ops/records.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/linearize.hpp"

namespace apsis::testing {
namespace {

using Arrays = std::vector<Array>;

double inner(std::span<const Array> a, std::span<const Array> b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_empty() || b[i].is_empty()) continue;
    const auto x = a[i].to_vector<double>(), y = b[i].to_vector<double>();
    for (std::size_t k = 0; k < x.size(); ++k) total += x[k] * y[k];
  }
  return total;
}

// An op on its floating operands, the others held.
struct Function {
  const Op& op;
  const Example& example;
  std::vector<std::size_t> free;

  Function(const Op& op_, const Example& example_) : op(op_), example(example_) {
    for (std::size_t i = 0; i < example.operands.size(); ++i)
      if (is_floating(example.operands[i].dtype())) free.push_back(i);
  }
  Arrays point() const {
    Arrays x;
    for (std::size_t i : free) x.push_back(example.operands[i]);
    return x;
  }
  Arrays operator()(std::span<const Array> x) const {
    Arrays operands = example.operands;
    for (std::size_t k = 0; k < free.size(); ++k) operands[free[k]] = x[k];
    return bind_all(op, example.params, operands);
  }
};

Arrays random_like(Random& random, std::span<const Array> like) {
  Arrays out;
  for (const Array& a : like)
    out.push_back(
        is_floating(a.dtype())
            ? detail::lax::convert(random_array(random, a.dtype(), a.shape(), -1, 1), a.dtype(), a.weak())
            : Array{});
  return out;
}

detail::Linearized linearized(const Function& f, std::span<const Array> x) {
  return detail::linearize(detail::callee_of(f), x, std::vector<bool>(x.size(), true));
}

template <class Check>
void for_each_smooth(const Check& check) {
  std::size_t count = 0;
  for (const Record& record : all_records()) {
    if (!record.op->jvp) continue;
    for (const Example& example : record.smooth) {
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      check(record, Function(*record.op, example));
      if (::testing::Test::HasFailure()) return;
      ++count;
    }
  }
  EXPECT_GT(count, 150u);
}

TEST(Derivatives, ReverseIsTheAdjointOfForward) {
  Random random(41);
  for_each_smooth([&](const Record&, const Function& f) {
    const Arrays x = f.point(), tangents = random_like(random, x);
    const auto forward = detail::jvp(detail::callee_of(f), x, tangents);
    const auto reverse = linearized(f, x);
    const Arrays cotangents = random_like(random, forward.outs);
    const double pushed = inner(forward.tangents, cotangents);
    EXPECT_NEAR(pushed, inner(detail::push_forward(reverse.linear, tangents), cotangents),
                1e-12 * std::max(1., std::fabs(pushed)));
    EXPECT_NEAR(pushed, inner(tangents, detail::pull_back(reverse.linear, cotangents)),
                1e-12 * std::max(1., std::fabs(pushed)));
    for (std::size_t i = 0; i < forward.outs.size(); ++i)
      EXPECT_TRUE(same_elements(forward.outs[i], reverse.outs[i]));
  });
}

TEST(Derivatives, SecondOnesAgreeWithDifferences) {
  Random random(42);
  constexpr double step = 6e-6;
  for_each_smooth([&](const Record& record, const Function& f) {
    const Arrays x = f.point(), direction = random_like(random, x);
    const Arrays cotangents = random_like(random, f(x));
    auto gradient = [&](std::span<const Array> at) {
      Arrays g = detail::pull_back(linearized(f, at).linear, cotangents);
      for (std::size_t i = 0; i < g.size(); ++i)
        if (g[i].is_empty()) g[i] = detail::lax::full_like(at[i].aval(), 0);
      return g;
    };
    const auto second = detail::jvp(detail::callee_of(gradient), x, direction);
    auto moved = [&](double by) {
      Arrays at;
      for (std::size_t i = 0; i < x.size(); ++i)
        at.push_back(
            detail::lax::add(x[i], detail::lax::mul(direction[i], detail::lax::full_like(x[i].aval(), by))));
      return gradient(at);
    };
    const Arrays up = moved(step), down = moved(-step);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto u = up[i].to_vector<double>(), d = down[i].to_vector<double>();
      std::vector<double> t(u.size(), 0.);
      if (!second.tangents[i].is_empty()) t = second.tangents[i].to_vector<double>();
      for (std::size_t k = 0; k < u.size(); ++k) {
        const double difference = (u[k] - d[k]) / (2 * step);
        EXPECT_NEAR(t[k], difference, 10 * record.jvp_tolerance * std::max(1., std::fabs(difference)))
            << "operand " << i << ", element " << k;
      }
    }
  });
}

}  // namespace
}  // namespace apsis::testing
