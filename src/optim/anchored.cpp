#include "apsis/optim/anchored.hpp"

#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

void Madgrad::start(Start& s) const {
  s.check("Madgrad", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Madgrad", "momentum", momentum, OptionRange::Fraction);
  s.check("Madgrad", "weight_decay", weight_decay, OptionRange::Finite);
  s.check("Madgrad", "eps", eps, OptionRange::Positive);
  s.count();
  s.zeros();
  s.zeros();
  s.params_themselves();
}
void Madgrad::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves squares = s.tree(), sums = s.tree(), params0 = s.tree();
  add_decayed_weights(s, weight_decay, {}, count);
  const Array weight = (learning_rate(count) + eps) * sqrt(astype(count + 1, f64));
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], lambda = like(weight, g);
    keep(squares[i], squares[i] + lambda * square(g));
    keep(sums[i], sums[i] + lambda * g);
    const Array z = params0[i] - sums[i] / (cbrt(squares[i]) + like(eps, squares[i]));
    return astype(averaged(z, s.params[i], momentum) - s.params[i], g.dtype());
  });
  count = count + 1;
}

void Cocob::start(Start& s) const {
  s.check("Cocob", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Cocob", "alpha", alpha, OptionRange::Positive);
  s.check("Cocob", "eps", eps, OptionRange::Positive);
  s.check("Cocob", "weight_decay", weight_decay, OptionRange::Finite);
  s.count();
  s.params_themselves();
  s.zeros();
  s.each([&](const Array& p) { return full_like(p, eps); });
  s.zeros();
  s.zeros();
}
void Cocob::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves params0 = s.tree(), sums = s.tree(), scale = s.tree(), total = s.tree(), reward = s.tree();
  add_decayed_weights(s, weight_decay, mask, count);
  scale_by_learning_rate(s, learning_rate, count, false);
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], &p = s.params[i], size = abs(g);
    keep(scale[i], maximum(scale[i], size));
    keep(total[i], total[i] + size);
    keep(reward[i], maximum(reward[i] - g * (p - params0[i]), 0));
    keep(sums[i], sums[i] - g);
    const Array bound = scale[i] * maximum(total[i] + scale[i], like(alpha, scale[i]) * scale[i]);
    return astype(params0[i] + sums[i] / bound * (scale[i] + reward[i]) - p, g.dtype());
  });
  count = count + 1;
}

}  // namespace apsis::optim
