#include "apsis/optim/adam.hpp"

#include "optim/moments.hpp"

namespace apsis::optim {

using namespace detail;

void ScaleByAdam::start(Start& s) const { start_moments(s, "ScaleByAdam", *this); }
void ScaleByAdam::step(Step& s) const {
  Array& count = s.scalar();
  const std::vector<Array> mu = average(s, s.tree(), b1), nu = average(s, s.tree(), b2, 2);
  count = count + 1;
  s.map([&](std::size_t i) {
    return over_root(first_moment(s.updates[i], mu[i], b1, count, nesterov), unbiased(nu[i], b2, count), eps,
                     eps_root);
  });
}
void Adam::start(Start& s) const { start_moments(s, "Adam", *this); }
void Adam::step(Step& s) const { descend(s, *this, ScaleByAdam{b1, b2, eps, eps_root, nesterov, mu_dtype}); }
void AdamW::start(Start& s) const { start_moments(s, "AdamW", *this); }
void AdamW::step(Step& s) const { descend(s, *this, ScaleByAdam{b1, b2, eps, eps_root, nesterov, mu_dtype}); }
void NAdam::start(Start& s) const { start_moments(s, "NAdam", *this); }
void NAdam::step(Step& s) const { descend(s, *this, ScaleByAdam{b1, b2, eps, eps_root, true, mu_dtype}); }
void NAdamW::start(Start& s) const { start_moments(s, "NAdamW", *this); }
void NAdamW::step(Step& s) const { descend(s, *this, ScaleByAdam{b1, b2, eps, eps_root, true, mu_dtype}); }

void ScaleByAdamax::start(Start& s) const { start_moments(s, "ScaleByAdamax", *this); }
void ScaleByAdamax::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  average(s, mu, b1);
  s.each([&](std::size_t i) {
    const Array& g = s.updates[i];
    keep(nu[i], maximum(abs(g) + like(eps, g), like(b2, nu[i]) * nu[i]));
  });
  count = count + 1;
  s.map([&](std::size_t i) { return unbiased(mu[i], b1, count) / nu[i]; });
}
void Adamax::start(Start& s) const { start_moments(s, "Adamax", *this); }
void Adamax::step(Step& s) const { descend(s, *this, ScaleByAdamax{b1, b2, eps}); }
void AdamaxW::start(Start& s) const { start_moments(s, "AdamaxW", *this); }
void AdamaxW::step(Step& s) const { descend(s, *this, ScaleByAdamax{b1, b2, eps}); }

void ScaleByAmsGrad::start(Start& s) const {
  start_moments(s, "ScaleByAmsGrad", *this);
  s.zeros();
}
void ScaleByAmsGrad::step(Step& s) const {
  Array& count = s.scalar();
  const std::vector<Array> mu = average(s, s.tree(), b1), nu = average(s, s.tree(), b2, 2);
  const Leaves nu_max = s.tree();
  count = count + 1;
  s.map([&](std::size_t i) {
    keep(nu_max[i], maximum(nu_max[i], bias_correction_nu ? unbiased(nu[i], b2, count) : nu[i]));
    return over_root(bias_correction_mu ? unbiased(mu[i], b1, count) : mu[i], nu_max[i], eps, eps_root);
  });
}
void AmsGrad::start(Start& s) const {
  start_moments(s, "AmsGrad", *this);
  s.zeros();
}
void AmsGrad::step(Step& s) const {
  descend(s, *this, ScaleByAmsGrad{b1, b2, eps, eps_root, bias_correction_mu, bias_correction_nu});
}

void ScaleByBelief::start(Start& s) const { start_moments(s, "ScaleByBelief", *this); }
void ScaleByBelief::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  average(s, mu, b1);
  s.each([&](std::size_t i) {
    keep(nu[i], averaged(square(s.updates[i] - mu[i]), nu[i], b2) + like(eps_root, nu[i]));
  });
  count = count + 1;
  s.map([&](std::size_t i) {
    return over_root(first_moment(s.updates[i], mu[i], b1, count, nesterov), unbiased(nu[i], b2, count), eps,
                     0.);
  });
}
void AdaBelief::start(Start& s) const { start_moments(s, "AdaBelief", *this); }
void AdaBelief::step(Step& s) const { descend(s, *this, ScaleByBelief{b1, b2, eps, eps_root, nesterov}); }

void ScaleByYogi::start(Start& s) const {
  check_moments(s, "ScaleByYogi", *this);
  s.check("ScaleByYogi", "initial_accumulator_value", initial_accumulator_value, OptionRange::NotNegative);
  s.count();
  for (int moment = 0; moment < 2; ++moment)
    s.each([&](const Array& p) { return full_like(p, initial_accumulator_value); });
}
void ScaleByYogi::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  average(s, mu, b1);
  s.each([&](std::size_t i) {
    const Array square_ = square(s.updates[i]);
    keep(nu[i], nu[i] - like(1 - b2, nu[i]) * sign(nu[i] - square_) * square_);
  });
  count = count + 1;
  s.map([&](std::size_t i) {
    return over_root(unbiased(mu[i], b1, count), unbiased(nu[i], b2, count), eps, eps_root);
  });
}
void Yogi::start(Start& s) const {
  check_moments(s, "Yogi", *this);
  ScaleByYogi{b1, b2, eps}.start(s);
}
void Yogi::step(Step& s) const { descend(s, *this, ScaleByYogi{b1, b2, eps}); }

void ScaleByRAdam::start(Start& s) const { start_moments(s, "ScaleByRAdam", *this); }
void ScaleByRAdam::step(Step& s) const {
  Array& count = s.scalar();
  const std::vector<Array> mu = average(s, s.tree(), b1), nu = average(s, s.tree(), b2, 2);
  count = count + 1;
  // The length of the average at its end and now (the paper's ρ∞ and ρₜ), and the rectification.
  const Array end = 2. / (1. - b2) - 1., decayed = pow(b2, count);
  const Array now = end - 2 * count * decayed / (1 - decayed), known = now >= threshold;
  const Array safe = where(known, now, end);
  const Array factor = sqrt((safe - 4.) * (safe - 2.) * end / ((end - 4.) * (end - 2.) * safe));
  s.map([&](std::size_t i) {
    const Array m = first_moment(s.updates[i], mu[i], b1, count, nesterov);
    return where(known, over_root(astype(factor, m.dtype()) * m, unbiased(nu[i], b2, count), eps, eps_root),
                 m);
  });
}
void RAdam::start(Start& s) const { start_moments(s, "RAdam", *this); }
void RAdam::step(Step& s) const {
  descend(s, *this, ScaleByRAdam{b1, b2, eps, eps_root, threshold, nesterov});
}

void ScaleByNovoGrad::start(Start& s) const {
  check_moments(s, "ScaleByNovoGrad", *this);
  s.count();
  s.zeros(mu_dtype);
  s.each([](const Array& p) { return zeros({}, p.dtype()); });
}
void ScaleByNovoGrad::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.leaves(s.updates.size());
  const Array first = count == 0;
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], length = sum(square(g));
    keep(nu[i], where(first, length, averaged(length, nu[i], b2)));
    const Array scaled = over_root(g, nu[i], eps, eps_root);
    const Array change = scaled + like(weight_decay, g) * astype(s.params[i], g.dtype());
    keep(mu[i], where(first, change, like(b1, mu[i]) * mu[i] + change));
    return mu[i];
  });
  count = count + 1;
}
void NovoGrad::start(Start& s) const {
  check_moments(s, "NovoGrad", *this);
  ScaleByNovoGrad{b1, b2, eps, eps_root, weight_decay}.start(s);
}
void NovoGrad::step(Step& s) const {
  descend(s, *this, ScaleByNovoGrad{b1, b2, eps, eps_root, weight_decay});
}

void ScaleByAdan::start(Start& s) const {
  start_moments(s, "ScaleByAdan", *this);
  s.check("ScaleByAdan", "b3", b3, OptionRange::Fraction);
  s.zeros();
  s.zeros();
}
void ScaleByAdan::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves m = s.tree(), v = s.tree(), n = s.tree(), previous = s.tree();
  const Array first = count == 0;
  count = count + 1;
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], change = where(first, zeros_like(g), g - previous[i]);
    keep(m[i], averaged(g, m[i], b1));
    keep(v[i], averaged(change, v[i], b2));
    keep(n[i], averaged(square(g + like(1 - b2, g) * change), n[i], b3));
    keep(previous[i], g);
    const Array ahead = unbiased(m[i], b1, count) + like(1 - b2, g) * unbiased(v[i], b2, count);
    return over_root(ahead, unbiased(n[i], b3, count), eps, eps_root);
  });
}
void Adan::start(Start& s) const {
  check_moments(s, "Adan", *this);
  ScaleByAdan{b1, b2, b3, eps, eps_root}.start(s);
}
void Adan::step(Step& s) const { descend(s, *this, ScaleByAdan{b1, b2, b3, eps, eps_root}); }

void Lamb::start(Start& s) const { start_moments(s, "Lamb", *this); }
void Lamb::step(Step& s) const {
  const Array count = s.next_scalar();
  ScaleByAdam{b1, b2, eps, eps_root}.step(s);
  add_decayed_weights(s, weight_decay, mask, count);
  scale_by_trust_ratio(s, {}, 0., 1., 0.);
  scale_by_learning_rate(s, learning_rate, count);
}

}  // namespace apsis::optim
