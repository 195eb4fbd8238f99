// Every op's derivative, transpose and batching rules, called directly on the examples of its record.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/lax.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

namespace lax = detail::lax;

// The elements as doubles; of complex numbers both parts, one after the other.
std::vector<double> numbers_of(const Array& a) {
  if (!is_complex(a.dtype())) return a.to_vector<double>();
  std::vector<double> out;
  for (const complex128& z : a.to_vector<complex128>()) {
    out.push_back(z.real);
    out.push_back(z.imag);
  }
  return out;
}

// Sum of the products of elements; of complex numbers its real part.
double dot_of(const Array& a, const Array& b) {
  const auto x = numbers_of(a), y = numbers_of(b);
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    total += is_complex(a.dtype()) && i % 2 == 1 ? -x[i] * y[i] : x[i] * y[i];
  return total;
}

Array moved(const Array& x, const Array& direction, double step) {
  auto values = x.to_vector<double>();
  const auto d = direction.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += step * d[i];
  Array out = array_of(Dtype::F64, x.shape(), values);
  return out;
}

struct Jvp {
  std::vector<Array> outs, tangents;
};

Jvp jvp(const Op& op, const Params& params, std::span<const Array> primals, std::span<const Array> tangents) {
  const std::size_t results = run(op, params, primals).size();
  Jvp r{std::vector<Array>(results), std::vector<Array>(results)};
  op.jvp({params, primals, tangents, r.outs, r.tangents});
  return r;
}

// Central differences in a random direction of each floating operand alone, then of all. The step balances
// the error of second order against rounding.
void check_differences(const Record& record, const Example& example, Random& random) {
  constexpr double step = 6e-6;
  const std::size_t count = example.operands.size();
  for (std::size_t which = 0; which <= count; ++which) {
    std::vector<Array> directions(count), forward = example.operands, backward = example.operands;
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      if ((which < count && which != i) || example.operands[i].dtype() != Dtype::F64) continue;
      const Array& x = example.operands[i];
      directions[i] = random_array(random, Dtype::F64, x.shape(), -1, 1);
      forward[i] = moved(x, directions[i], step);
      backward[i] = moved(x, directions[i], -step);
      any = true;
    }
    if (!any) continue;
    const Jvp derivative = jvp(*record.op, example.params, example.operands, directions);
    const auto primal = run(*record.op, example.params, example.operands);
    const auto up = run(*record.op, example.params, forward),
               down = run(*record.op, example.params, backward);
    for (std::size_t k = 0; k < primal.size(); ++k) {
      EXPECT_TRUE(same_elements(derivative.outs[k], primal[k])) << "the jvp rule changes the result";
      if (!is_inexact(primal[k].dtype())) {
        EXPECT_TRUE(derivative.tangents[k].is_empty()) << "a discrete result has a tangent";
        continue;
      }
      const auto u = numbers_of(up[k]), d = numbers_of(down[k]);
      std::vector<double> t(u.size(), 0.);
      if (!derivative.tangents[k].is_empty()) {
        EXPECT_EQ(derivative.tangents[k].aval(), primal[k].aval());
        t = numbers_of(derivative.tangents[k]);
      }
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double difference = (u[i] - d[i]) / (2 * step);
        EXPECT_NEAR(t[i], difference, record.jvp_tolerance * std::max(1., std::fabs(difference)))
            << "element " << i;
      }
    }
  }
}

// Ops whose derivative is zero on purpose.
bool is_constant_for_derivatives(const Op& op) { return std::string(op.name) == "stop_gradient"; }

TEST(Rules, JvpAgreesWithDifferences) {
  for (const Record& record : all_records()) {
    if (!record.op->jvp || is_constant_for_derivatives(*record.op)) continue;
    Random random(5);
    for (const Example& example : record.smooth) {
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      check_differences(record, example, random);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Rules, StopGradientHasNoTangent) {
  const Op* op = nullptr;
  for (const Record& record : all_records())
    if (is_constant_for_derivatives(*record.op)) op = record.op;
  ASSERT_NE(op, nullptr);
  const Array x = array({1., 2.});
  const Jvp derivative = jvp(*op, {}, {&x, 1}, {&x, 1});
  EXPECT_TRUE(same_elements(derivative.outs[0], x));
  EXPECT_TRUE(derivative.tangents[0].is_empty());
}

// <f(t), ct> = <t, fᵀ(ct)> for f linear in the operands of the mask, and nothing for a zero cotangent.
void check_transpose(const Op& op, const Example& example, const std::vector<bool>& mask, Random& random) {
  std::vector<Array> inputs = example.operands, residuals = example.operands;
  std::vector<Aval> avals;
  for (const Array& a : example.operands) avals.push_back(a.aval());
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) continue;
    inputs[i] = random_array(random, avals[i].dtype(), avals[i].shape(), -1, 1);
    residuals[i] = Array{};
  }
  const auto out = run(op, example.params, inputs);
  std::vector<Array> cotangents;
  for (const Array& result : out)
    cotangents.push_back(random_array(random, result.dtype(), result.shape(), -1, 1));
  const std::vector<Array> none(out.size());
  std::vector<Accumulator> operands;
  for (std::size_t i = 0; i < mask.size(); ++i) operands.emplace_back(mask[i], avals[i]);
  std::vector<Accumulator> nothing = operands;
  op.transpose({example.params, residuals, cotangents, operands});
  double pulled = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    EXPECT_EQ(operands[i].terms().empty(), !mask[i]) << "operand " << i;
    for (const Accumulator::Term& term : operands[i].terms()) {
      EXPECT_EQ(term.cotangent.aval(), avals[i]);
      pulled += dot_of(inputs[i], term.cotangent);
    }
  }
  double pushed = 0;
  for (std::size_t k = 0; k < out.size(); ++k) pushed += dot_of(out[k], cotangents[k]);
  EXPECT_NEAR(pushed, pulled, 1e-13 * std::max(1., std::fabs(pushed)));
  op.transpose({example.params, residuals, none, nothing});
  for (const Accumulator& operand : nothing) EXPECT_TRUE(operand.terms().empty());
}

TEST(Rules, TransposeIsTheAdjoint) {
  for (const Record& record : all_records()) {
    if (!record.op->transpose) continue;
    EXPECT_FALSE(record.linear.empty()) << record.op->name;
    Random random(6);
    for (const Example& example : record.smooth)
      for (const std::vector<bool>& mask : record.linear) {
        if (mask.size() != example.operands.size()) continue;  // an operand may be left out
        SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
        check_transpose(*record.op, example, mask, random);
      }
  }
}

Array entry(const Array& whole, int axis, std::int64_t index) {
  Dims start = Dims::filled(whole.shape().size(), 0), limit = whole.shape();
  start[static_cast<std::size_t>(axis)] = index;
  limit[static_cast<std::size_t>(axis)] = index + 1;
  return lax::squeeze_axis(lax::slice(whole, start, limit), axis);
}

// Lanes of a batched call are single calls bit for bit: each operand mapped alone at its first and last axis,
// and all mapped together at different axes.
void check_batch(const Op& op, const Example& example) {
  constexpr std::int64_t lanes = 3;
  const std::size_t count = example.operands.size();
  for (std::size_t which = 0; which <= count; ++which)
    for (bool last : {false, true}) {
      std::vector<Array> operands = example.operands;
      std::vector<int> axes(count, -1);
      for (std::size_t i = 0; i < count; ++i) {
        if (which < count && which != i) continue;
        const Array& x = example.operands[i];
        // Lane by lane other values: the operand, itself reversed, and itself again.
        const Array reversed = lax::reverse(x, Dims::counting(x.shape().size()));
        axes[i] = last != (i % 2 == 1) ? x.ndim() : 0;
        const Array parts[lanes] = {lax::expand_axis(x, axes[i]), lax::expand_axis(reversed, axes[i]),
                                    lax::expand_axis(x, axes[i])};
        operands[i] = lax::concatenate(parts, axes[i]);
      }
      std::vector<Array> outs;
      std::vector<int> out_axes;
      op.batch({example.params, lanes, operands, axes, outs, out_axes});
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        std::vector<Array> single;
        for (std::size_t i = 0; i < count; ++i)
          single.push_back(axes[i] < 0 ? operands[i] : entry(operands[i], axes[i], lane));
        const auto expected = run(op, example.params, single);
        ASSERT_EQ(outs.size(), expected.size());
        for (std::size_t k = 0; k < outs.size(); ++k) {
          const Array got = out_axes[k] < 0 ? outs[k] : entry(outs[k], out_axes[k], lane);
          EXPECT_TRUE(same_elements(got, expected[k])) << "lane " << lane << ", operand " << which;
        }
      }
    }
}

TEST(Rules, LanesAreSingleCalls) {
  for (const Record& record : all_records()) {
    if (!record.op->batch) continue;
    for (const Example& example : record.examples) {
      if (example.operands.empty() || example.operands[0].size() > 400)
        continue;  // the long edge grids add nothing here
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      check_batch(*record.op, example);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace apsis::testing
