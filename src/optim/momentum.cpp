#include "apsis/optim/momentum.hpp"

#include "apsis/optim/adam.hpp"
#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {
constexpr OptionRange finite = OptionRange::Finite, not_negative = OptionRange::NotNegative,
                      fraction = OptionRange::Fraction;

/// (alpha + beta) g - beta · the updates before, which are g at first.
void look_ahead(Step& s, Leaves previous, const Array& alpha, const Array& beta, const Array& first) {
  s.each([&](std::size_t i) {
    Array& g = s.updates[i];
    const Array before = where(first, g, previous[i]);
    keep(previous[i], g);
    g = like(alpha + beta, g) * g - like(beta, g) * before;
  });
}

}  // namespace

void Sgd::start(Start& s) const {
  s.check("Sgd", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Sgd", "momentum", momentum, fraction);
  s.check("Sgd", "accumulator_dtype", accumulator_dtype);
  s.count();
  momentum.is_empty() ? s.empty() : s.zeros(accumulator_dtype);
}
void Sgd::step(Step& s) const {
  Array& count = s.scalar();
  add_trace(s, s.tree(), momentum, nesterov);
  scale_by_learning_rate(s, learning_rate, count);
  count = count + 1;
}

void NoisySgd::start(Start& s) const {
  if (key.is_empty()) fail(messages::optimizer_key, {"NoisySgd"}, s.loc);
  s.check("NoisySgd", "learning_rate", learning_rate, OptionRange::Rate);
  AddNoise{eta, gamma, key}.start(s);
}
void NoisySgd::step(Step& s) const {
  const Array count = s.next_scalar();
  AddNoise{eta, gamma, key}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

void SignSgd::start(Start& s) const {
  s.check("SignSgd", "learning_rate", learning_rate, OptionRange::Rate);
  s.count();
}
void SignSgd::step(Step& s) const {
  Array& count = s.scalar();
  ScaleBySign{}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
  count = count + 1;
}

void Signum::start(Start& s) const {
  s.check("Signum", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Signum", "beta", beta, fraction);
  s.count();
  s.zeros();
}
void Signum::step(Step& s) const {
  const Array count = s.next_scalar();
  Ema{beta, false}.step(s);
  ScaleBySign{}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

void ScaleByLion::start(Start& s) const {
  s.check("ScaleByLion", "b1", b1, fraction);
  s.check("ScaleByLion", "b2", b2, fraction);
  s.check("ScaleByLion", "mu_dtype", mu_dtype);
  s.count();
  s.zeros(mu_dtype);
}
void ScaleByLion::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree();
  s.each([&](std::size_t i) {
    Array& g = s.updates[i];
    const Array direction = sign(averaged(g, mu[i], b1));
    keep(mu[i], averaged(g, mu[i], b2));
    g = direction;
  });
  count = count + 1;
}
void Lion::start(Start& s) const {
  s.check("Lion", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Lion", "weight_decay", weight_decay, finite);
  s.check("Lion", "b1", b1, fraction);
  s.check("Lion", "b2", b2, fraction);
  s.check("Lion", "mu_dtype", mu_dtype);
  s.count();
  s.zeros(mu_dtype);
}
void Lion::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByLion{b1, b2}.step(s);
  add_decayed_weights(s, weight_decay, mask, count);
  scale_by_learning_rate(s, learning_rate, count);
}

void ScaleByOptimisticGradient::start(Start& s) const {
  s.check("ScaleByOptimisticGradient", "alpha", alpha, finite);
  s.check("ScaleByOptimisticGradient", "beta", beta, finite);
  s.count();
  s.zeros();
}
void ScaleByOptimisticGradient::step(Step& s) const {
  Array& count = s.scalar();
  look_ahead(s, s.tree(), alpha, beta, count == 0);
  count = count + 1;
}
void OptimisticGradientDescent::start(Start& s) const {
  s.check("OptimisticGradientDescent", "learning_rate", learning_rate, OptionRange::Rate);
  ScaleByOptimisticGradient{alpha, beta}.start(s);
}
void OptimisticGradientDescent::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByOptimisticGradient{alpha, beta}.step(s);
  scale_by_learning_rate(s, learning_rate, count);
}

void OptimisticAdam::start(Start& s) const {
  s.check("OptimisticAdam", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("OptimisticAdam", "alpha", alpha, finite);
  s.check("OptimisticAdam", "beta", beta, finite);
  s.check("OptimisticAdam", "mu_dtype", mu_dtype);
  ScaleByAdam{b1, b2, eps, eps_root, nesterov, mu_dtype}.start(s);
  s.zeros();
}
void OptimisticAdam::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByAdam{b1, b2, eps, eps_root, nesterov, mu_dtype}.step(s);
  look_ahead(s, s.tree(), alpha, beta, count == 0);
  scale_by_learning_rate(s, learning_rate, count);
}

void Lars::start(Start& s) const {
  s.check("Lars", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Lars", "weight_decay", weight_decay, finite);
  s.check("Lars", "trust_coefficient", trust_coefficient, finite);
  s.check("Lars", "eps", eps, not_negative);
  s.check("Lars", "momentum", momentum, fraction);
  s.count();
  s.zeros();
}
void Lars::step(Step& s) const {
  Array& count = s.scalar();
  add_decayed_weights(s, weight_decay, weight_decay_mask, count);
  scale_by_trust_ratio(s, trust_ratio_mask, 0., trust_coefficient, eps);
  scale_by_learning_rate(s, learning_rate, count);
  add_trace(s, s.tree(), momentum, nesterov);
  count = count + 1;
}

void Fromage::start(Start& s) const {
  s.check("Fromage", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Fromage", "min_norm", min_norm, not_negative);
  s.count();
}
void Fromage::step(Step& s) const {
  Array& count = s.scalar();
  const Array rate = learning_rate(count), shrink = 1 / sqrt(1 + square(rate));
  scale_by_trust_ratio(s, {}, min_norm, 1., 0.);
  scale_by_learning_rate(s, rate * shrink, count);
  add_decayed_weights(s, shrink - 1, {}, count);
  count = count + 1;
}

void ScaleByPolyak::start(Start& s) const {
  s.check("ScaleByPolyak", "f_min", f_min, finite);
  s.check("ScaleByPolyak", "max_learning_rate", max_learning_rate, OptionRange::Positive);
  s.check("ScaleByPolyak", "eps", eps, not_negative);
}
void ScaleByPolyak::step(Step& s) const {
  if (s.extra.value.is_empty()) fail(messages::optimizer_value, {"PolyakSgd"}, s.loc);
  const Array length = square_norm(s);
  Array gap = astype(s.extra.value - f_min, length.dtype());
  if (variant == PolyakVariant::SpsPlus) gap = maximum(gap, 0);
  // A gradient that has vanished to rounding gives no step.
  const Array divisor = length + like(eps, length), vanished = divisor <= 0x1p-52;
  const Array step =
      where(vanished, 0, minimum(gap / where(vanished, 1, divisor), like(max_learning_rate, length)));
  s.map([&](std::size_t i) { return like(step, s.updates[i]) * s.updates[i]; });
}
void PolyakSgd::start(Start& s) const {
  s.check("PolyakSgd", "max_learning_rate", max_learning_rate, OptionRange::Positive);
  s.check("PolyakSgd", "scaling", scaling, finite);
  s.check("PolyakSgd", "f_min", f_min, finite);
  s.check("PolyakSgd", "eps", eps, not_negative);
  s.count();
}
void PolyakSgd::step(Step& s) const {
  Array& count = s.scalar();
  scale_by_learning_rate(s, scaling, count);
  ScaleByPolyak{f_min, max_learning_rate, eps, variant}.step(s);
  count = count + 1;
}

}  // namespace apsis::optim
