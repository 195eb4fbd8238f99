#include "diffeq/step.hpp"

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/layout.hpp"

namespace apsis {

namespace detail {

Array weighted(const std::vector<double>& weights, std::span<const Array> slopes, std::size_t leaves,
               std::size_t leaf) {
  Array total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const Array& slope = slopes[i * leaves + leaf];
    Array term = weights[i] == 1 ? slope : weights[i] * slope;
    total = total.is_empty() ? term : total + term;
  }
  return total;
}

Array stage_time(double c, const Array& t0, const Array& t1, const Array& length) {
  return c == 1 ? t1 : c == 0 ? t0 : t0 + c * length;
}

std::vector<Array> dense_output(const std::vector<std::vector<double>>& dense, const Array& theta,
                                const Array& h, std::span<const Array> y0, std::span<const Array> slopes) {
  std::vector<Array> y(y0.begin(), y0.end());
  std::vector<Array> weights(dense[0].size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Horner, from the highest power; a slope that no power uses has no weight.
    Array p;
    for (std::size_t d = dense.size(); d-- > 0;) {
      double c = dense[d][i];
      if (p.is_empty() && c == 0) continue;
      p = p.is_empty() ? theta * c : (c == 0 ? p : p + c) * theta;
    }
    weights[i] = p;
  }
  for (std::size_t leaf = 0; leaf < y.size(); ++leaf) {
    Array total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].is_empty()) continue;
      Array term = weights[i] * slopes[i * y.size() + leaf];
      total = total.is_empty() ? term : total + term;
    }
    y[leaf] = y0[leaf] + h * total;
  }
  return y;
}

StepWork more_work(const StepWork& work, const Array& evaluations, const Array& jacobian,
                   const Array& factorisation) {
  return {work.evaluations + evaluations, work.jacobians + where(jacobian, 1, 0),
          work.factorisations + where(factorisation, 1, 0)};
}

StepWork sum_of_work(std::initializer_list<const SolverAttempt*> attempts) {
  const auto total = [&](Array StepWork::*part) {
    Array program;
    std::int64_t known = 0;  // what is the same for each step stays a number
    for (const SolverAttempt* a : attempts) {
      const Array& n = a->work.*part;
      if (is_concrete(n))
        known += n.item<std::int64_t>();
      else
        program = program.is_empty() ? n : program + n;
    }
    return program.is_empty() ? array(known) : program + known;
  };
  return {total(&StepWork::evaluations), total(&StepWork::jacobians), total(&StepWork::factorisations)};
}

std::vector<Array> drifted(const SolverStep& s) {
  const Array h = s.slopes.length(s.t0, s.t1);
  std::vector<Array> y = s.slopes(s.t0, s.y0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = s.y0[i] + h * y[i];
  return y;
}

}  // namespace detail

Array Slopes::length(const Array& t0, const Array& t1) const { return (t1 - t0) * direction_; }

std::vector<Array> Slopes::term(std::size_t i, const Array& t, std::span<const Array> y) const {
  if (asked_ != nullptr) ++*asked_;
  return by_term(i, t, y);
}

std::vector<Array> Slopes::by_term(std::size_t i, const Array& t, std::span<const Array> y) const {
  if (delayed()) return terms_.delays.slope(terms_.context, t * direction_, y, *past_);
  return terms_.slope(terms_.context, i, t * direction_, y);
}

Slopes Slopes::seeing(const detail::PastLookup& past) const {
  Slopes with = *this;
  with.past_ = &past;
  return with;
}

std::vector<Array> Slopes::operator()(const Array& t, std::span<const Array> y) const {
  if (asked_ != nullptr) ++*asked_;
  if (terms_.structure == TermStructure::Partitioned) {
    std::vector<Array> slope = by_term(0, t, part(1, y));
    for (Array& a : by_term(1, t, part(0, y))) slope.push_back(a);
    return slope;
  }
  std::vector<Array> slope;
  for (std::size_t i = 0; i < terms_.count; ++i) {
    if (is_control(i)) continue;
    const std::vector<Array> more = by_term(i, t, y);
    if (slope.empty()) {
      slope = more;
      continue;
    }
    for (std::size_t leaf = 0; leaf < slope.size(); ++leaf) slope[leaf] = slope[leaf] + more[leaf];
  }
  for (std::size_t leaf = 0; slope.size() < y.size(); ++leaf) slope.push_back(zeros_like(y[leaf]));
  return slope;
}

std::vector<Array> Slopes::rate(const Array& t, std::span<const Array> y) const {
  if (mass_.is_empty()) return (*this)(t, y);
  const detail::Layout layout(y);
  return layout.split(matmul(pseudoinverse_, layout.join((*this)(t, y))));
}

std::vector<Array> LocalLinearInterpolation::evaluate(const DenseStep& s) const {
  std::vector<Array> y;
  for (std::size_t i = 0; i < s.y0.size(); ++i) y.push_back(s.y0[i] + s.theta * (s.y1[i] - s.y0[i]));
  return y;
}

// With D = y1 - y0, k0 and k1 the slopes times h: θ k0 + θ² (3 D - 2 k0 - k1) + θ³ (k0 + k1 - 2 D).
std::vector<Array> ThirdOrderHermiteInterpolation::evaluate(const DenseStep& s) const {
  const std::size_t leaves = s.y0.size();
  std::vector<Array> y;
  for (std::size_t i = 0; i < leaves; ++i) {
    const Array k0 = s.h * s.dense[i], k1 = s.h * s.dense[leaves + i], d = s.y1[i] - s.y0[i];
    const Array cubic = k0 + k1 - 2 * d, square = 3 * d - 2 * k0 - k1;
    y.push_back(s.y0[i] + s.theta * (k0 + s.theta * (square + s.theta * cubic)));
  }
  return y;
}

}  // namespace apsis
