#include "apsis/optim/adaptive.hpp"

#include <algorithm>
#include <numeric>

#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

constexpr OptionRange finite = OptionRange::Finite, not_negative = OptionRange::NotNegative,
                      positive = OptionRange::Positive, fraction = OptionRange::Fraction;

/// 1 / sqrt(x + eps) where x > 0, else 0.
Array inverse_root(const Array& x, const Array& eps) {
  const Array nonzero = x > 0;
  return where(nonzero, rsqrt(where(nonzero, x, 1) + like(eps, x)), 0);
}
Array inverse_root(const Array& x, const Array& eps, bool eps_in_sqrt) {
  return eps_in_sqrt ? rsqrt(x + like(eps, x)) : 1 / (sqrt(x) + like(eps, x));
}
template <class Rule>
void check_rms(const Start& s, const char* name, const Rule& r) {
  s.check(name, "decay", r.decay, fraction);
  s.check(name, "eps", r.eps, not_negative);
  s.check(name, "initial_scale", r.initial_scale, not_negative);
}

/// `count` is that of updates with this one.
void over_rms(Step& s, const ScaleByRms& r, Leaves nu, const Array& count) {
  average(s, nu, r.decay, 2);
  s.map([&](std::size_t i) {
    const Array square_ = r.bias_correction ? unbiased(nu[i], r.decay, count) : nu[i];
    return inverse_root(square_, r.eps, r.eps_in_sqrt) * s.updates[i];
  });
}

}  // namespace

void ScaleByRss::start(Start& s) const {
  s.check("ScaleByRss", "initial_accumulator_value", initial_accumulator_value, not_negative);
  s.check("ScaleByRss", "eps", eps, not_negative);
  s.count();
  s.each([&](const Array& p) { return full_like(p, initial_accumulator_value); });
}
void ScaleByRss::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves nu = s.tree();
  s.map([&](std::size_t i) {
    keep(nu[i], square(s.updates[i]) + nu[i]);
    return inverse_root(nu[i], eps) * s.updates[i];
  });
  count = count + 1;
}
void Adagrad::start(Start& s) const {
  s.check("Adagrad", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Adagrad", "initial_accumulator_value", initial_accumulator_value, not_negative);
  s.check("Adagrad", "eps", eps, not_negative);
  ScaleByRss{initial_accumulator_value, eps}.start(s);
}
void Adagrad::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByRss{initial_accumulator_value, eps}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

void ScaleByRms::start(Start& s) const {
  check_rms(s, "ScaleByRms", *this);
  s.count();
  s.each([&](const Array& p) { return full_like(p, initial_scale); });
}
void ScaleByRms::step(Step& s) const {
  Array& count = s.scalar();
  count = count + 1;
  over_rms(s, *this, s.tree(), count);
}

void ScaleByStddev::start(Start& s) const {
  check_rms(s, "ScaleByStddev", *this);
  s.count();
  s.zeros();
  s.each([&](const Array& p) { return full_like(p, initial_scale); });
}
void ScaleByStddev::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  average(s, mu, decay);
  average(s, nu, decay, 2);
  count = count + 1;
  s.map([&](std::size_t i) {
    const Array m = bias_correction ? unbiased(mu[i], decay, count) : mu[i];
    const Array v = bias_correction ? unbiased(nu[i], decay, count) : nu[i];
    return inverse_root(v - square(m), eps, eps_in_sqrt) * s.updates[i];
  });
}

void RmsProp::start(Start& s) const {
  check_rms(s, "RmsProp", *this);
  s.check("RmsProp", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("RmsProp", "momentum", momentum, fraction);
  s.count();
  centered ? s.zeros() : s.empty();
  s.each([&](const Array& p) { return full_like(p, initial_scale); });
  momentum.is_empty() ? s.empty() : s.zeros();
}
void RmsProp::step(Step& s) const {
  const Array count = s.next_scalar();
  if (centered) {
    ScaleByStddev{decay, eps, initial_scale, eps_in_sqrt, bias_correction}.step(s);
  } else {
    Array& counter = s.scalar();
    counter = counter + 1;
    s.tree();  // mu, which is empty
    over_rms(s, ScaleByRms{decay, eps, initial_scale, eps_in_sqrt, bias_correction}, s.tree(), counter);
  }
  scale_by_learning_rate(s, learning_rate, count);
  add_trace(s, s.tree(), momentum, nesterov);
}

void ScaleByAdadelta::start(Start& s) const {
  s.check("ScaleByAdadelta", "rho", rho, fraction);
  s.check("ScaleByAdadelta", "eps", eps, not_negative);
  s.count();
  s.zeros();
  s.zeros();
}
void ScaleByAdadelta::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves e_g = s.tree(), e_x = s.tree();
  average(s, e_g, rho, 2);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return sqrt(e_x[i] + like(eps, g)) / sqrt(e_g[i] + like(eps, g)) * g;
  });
  average(s, e_x, rho, 2);
  count = count + 1;
}
void Adadelta::start(Start& s) const {
  s.check("Adadelta", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Adadelta", "weight_decay", weight_decay, finite);
  s.check("Adadelta", "rho", rho, fraction);
  s.check("Adadelta", "eps", eps, not_negative);
  ScaleByAdadelta{rho, eps}.start(s);
}
void Adadelta::step(Step& s) const {
  const Array count = s.next_scalar();
  add_decayed_weights(s, weight_decay, mask, count);
  ScaleByAdadelta{rho, eps}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

namespace {

/// The second longest axis and the longest, of shapes that are factored.
struct Factors {
  int d1 = -1, d0 = -1;
  bool are_there() const { return d0 >= 0; }
};
Factors factors_of(const Shape& shape, const ScaleByFactoredRms& r) {
  const int rank = shape.rank();
  if (!r.factored || rank < 2) return {};
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  auto size = [&](int axis) { return shape[static_cast<std::size_t>(axis)]; };
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return size(a) < size(b); });
  const int d1 = axes[axes.size() - 2];
  if (size(d1) < r.min_dim_size_to_factor) return {};
  return {d1, axes.back()};
}

}  // namespace

void ScaleByFactoredRms::start(Start& s) const {
  s.check("ScaleByFactoredRms", "decay_rate", decay_rate, not_negative);
  s.check("ScaleByFactoredRms", "epsilon", epsilon, not_negative);
  s.count();
  auto without = [&](bool row) {
    s.each([&, row](const Array& p) {
      const Factors f = factors_of(p.shape(), *this);
      return f.are_there() ? zeros_like(sum(p, {.axis = row ? f.d0 : f.d1})) : zeros({1}, p.dtype());
    });
  };
  without(true);
  without(false);
  s.each([&](const Array& p) {
    return factors_of(p.shape(), *this).are_there() ? zeros({1}, p.dtype()) : zeros_like(p);
  });
}
void ScaleByFactoredRms::step(Step& s) const {
  Array& count = s.scalar();
  const std::size_t n = s.updates.size();
  const Leaves v_row = s.leaves(n), v_col = s.leaves(n), v = s.leaves(n);
  const Array decay = 1. - pow(astype(count - step_offset + 1, f64), -decay_rate);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    const Array squares = square(g) + like(epsilon, g);
    const Factors f = factors_of(g.shape(), *this);
    if (!f.are_there()) {
      keep(v[i], averaged(squares, v[i], decay));
      return g * pow(v[i], -0.5);
    }
    keep(v_row[i], averaged(mean(squares, {.axis = f.d0}), v_row[i], decay));
    keep(v_col[i], averaged(mean(squares, {.axis = f.d1}), v_col[i], decay));
    const int reduced = f.d1 > f.d0 ? f.d1 - 1 : f.d1;
    const Array all = mean(v_row[i], {.axis = reduced, .keepdims = true});
    return g * expand_dims(pow(v_row[i] / all, -0.5), f.d0) * expand_dims(pow(v_col[i], -0.5), f.d1);
  });
  count = count + 1;
}
void Adafactor::start(Start& s) const {
  s.check("Adafactor", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Adafactor", "decay_rate", decay_rate, not_negative);
  s.check("Adafactor", "clipping_threshold", clipping_threshold, positive);
  s.check("Adafactor", "momentum", momentum, fraction);
  s.check("Adafactor", "weight_decay_rate", weight_decay_rate, finite);
  s.check("Adafactor", "eps", eps, not_negative);
  ScaleByFactoredRms{factored, decay_rate, decay_offset, min_dim_size_to_factor, eps}.start(s);
  momentum.is_empty() ? s.empty() : s.zeros();
}
void Adafactor::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByFactoredRms{factored, decay_rate, decay_offset, min_dim_size_to_factor, eps}.step(s);
  if (!clipping_threshold.is_empty()) clip_by_block_rms(s, clipping_threshold);
  scale_by_learning_rate(s, learning_rate, count, false);
  if (multiply_by_parameter_scale) scale_by_param_rms(s, 1e-3);
  const Leaves trace = s.tree();
  if (!momentum.is_empty()) {
    average(s, trace, momentum);
    s.map([&](std::size_t i) { return trace[i]; });
  }
  add_decayed_weights(s, weight_decay_rate, mask, count);
  s.map([&](std::size_t i) { return -s.updates[i]; });
}

void ScaleBySm3::start(Start& s) const {
  s.check("ScaleBySm3", "b1", b1, fraction);
  s.check("ScaleBySm3", "b2", b2, not_negative);
  s.check("ScaleBySm3", "eps", eps, not_negative);
  s.count();
  for (const Array& p : s.params) {
    if (!Start::is_trained(p)) continue;
    if (p.ndim() == 0) s.scalar(zeros({1}, p.dtype()));
    for (std::int64_t length : p.shape()) s.scalar(zeros({length}, p.dtype()));
  }
  s.zeros();
}
void ScaleBySm3::step(Step& s) const {
  Array& count = s.scalar();
  const bool sums = is_concrete(b2) && b2.item<double>() == 1;
  std::vector<Array> accumulators(s.updates.size());
  for (std::size_t i = 0; i < s.updates.size(); ++i) {
    if (!Start::is_trained(s.params[i])) continue;
    const int rank = s.params[i].ndim();
    const Leaves mu = s.leaves(static_cast<std::size_t>(std::max(rank, 1)));
    if (s.updates[i].is_empty()) continue;
    const Array& g = s.updates[i];
    Array least;
    for (int axis = 0; axis < std::max(rank, 1); ++axis) {
      Dims shape;
      for (int a = 0; a < rank; ++a) shape.push_back(a == axis ? g.dim(a) : 1);
      const Array here = reshape(mu[static_cast<std::size_t>(axis)], Shape(shape));
      least = axis == 0 ? here : minimum(least, here);
    }
    const Array total = sums ? square(g) + least : like(1 - b2, g) * square(g) + like(b2, g) * least;
    accumulators[i] = total;
    for (int axis = 0; axis < std::max(rank, 1); ++axis) {
      Dims others;
      for (int a = 0; a < rank; ++a)
        if (a != axis) others.push_back(a);
      keep(mu[static_cast<std::size_t>(axis)], rank == 0   ? reshape(total, {1})
                                               : rank == 1 ? total
                                                           : max(total, {.axis = Axes(others)}));
    }
  }
  const Leaves nu = s.tree();
  s.map([&](std::size_t i) { return s.updates[i] * inverse_root(accumulators[i], eps); });
  average(s, nu, b1);
  s.map([&](std::size_t i) { return nu[i]; });
  count = count + 1;
}
void Sm3::start(Start& s) const {
  s.check("Sm3", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Sm3", "momentum", momentum, fraction);
  ScaleBySm3{momentum}.start(s);
}
void Sm3::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleBySm3{momentum}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

void ScaleByRprop::start(Start& s) const {
  s.check("Rprop", "learning_rate", learning_rate, positive);
  s.check("Rprop", "eta_minus", eta_minus, positive);
  s.check("Rprop", "eta_plus", eta_plus, positive);
  s.check("Rprop", "min_step_size", min_step_size, not_negative);
  s.check("Rprop", "max_step_size", max_step_size, not_negative);
  s.each([&](const Array& p) { return full_like(p, learning_rate); });
  s.zeros();
}
void ScaleByRprop::step(Step& s) const {
  const Leaves sizes = s.tree(), previous = s.tree();
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], product = g * previous[i], turned = product < 0;
    const Array factor = where(product > 0, like(eta_plus, g), like(eta_minus, g));
    keep(sizes[i], where(product == 0, sizes[i],
                         clip(sizes[i] * factor, like(min_step_size, g), like(max_step_size, g))));
    keep(previous[i], where(turned, 0, sizes[i] * sign(g)));
    return previous[i];
  });
}
void Rprop::start(Start& s) const {
  ScaleByRprop{learning_rate, eta_minus, eta_plus, min_step_size, max_step_size}.start(s);
}
void Rprop::step(Step& s) const {
  ScaleByRprop{learning_rate, eta_minus, eta_plus, min_step_size, max_step_size}.step(s);
  s.map([&](std::size_t i) { return -s.updates[i]; });
}

}  // namespace apsis::optim
