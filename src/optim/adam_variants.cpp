#include "apsis/optim/adam_variants.hpp"

#include "optim/moments.hpp"

namespace apsis::optim {

using namespace detail;

void ScaleByAcprop::start(Start& s) const { start_moments(s, "ScaleByAcprop", *this); }
void ScaleByAcprop::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  const Array first = count == 0, age = where(first, 1, count);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    // The variance of the updates before scales this one; it is about the mean before, too.
    const Array before = where(first, 1, unbiased(nu[i], b2, age));
    keep(nu[i], averaged(square(g - mu[i]), nu[i], b2) + like(eps_root, nu[i]));
    keep(mu[i], averaged(g, mu[i], b1));
    return over_root(g, before, eps, 0.);
  });
  count = count + 1;
}
void Acprop::start(Start& s) const { start_moments(s, "Acprop", *this); }
void Acprop::step(Step& s) const { descend(s, *this, ScaleByAcprop{b1, b2, eps, eps_root}); }

namespace {

template <class Rule>
void start_ademamix(Start& s, const char* name, const Rule& r) {
  check_moments(s, name, r);
  s.check(name, "b3", r.b3, OptionRange::Fraction);
  s.check(name, "alpha", r.alpha, OptionRange::Finite);
  s.count();
  s.zeros(r.mu_dtype);
  s.zeros(r.mu_dtype);
  s.zeros();
}

}  // namespace

void ScaleByAdemamix::start(Start& s) const { start_ademamix(s, "ScaleByAdemamix", *this); }
void ScaleByAdemamix::step(Step& s) const {
  Array& count = s.scalar();
  const Array slow = b3(count), much = alpha(count);
  const std::vector<Array> m1 = average(s, s.tree(), b1), m2 = average(s, s.tree(), slow),
                           nu = average(s, s.tree(), b2, 2);
  count = count + 1;
  // The slow momentum keeps the bias of its zeros, so that it counts little at first.
  s.map([&](std::size_t i) {
    return over_root(unbiased(m1[i], b1, count) + like(much, m2[i]) * m2[i], unbiased(nu[i], b2, count), eps,
                     eps_root);
  });
}
void Ademamix::start(Start& s) const { start_ademamix(s, "Ademamix", *this); }
void Ademamix::step(Step& s) const {
  descend(s, *this, ScaleByAdemamix{b1, b2, b3, alpha, eps, eps_root, mu_dtype});
}

void ScaleBySimplifiedAdemamix::start(Start& s) const {
  s.check("ScaleBySimplifiedAdemamix", "alpha", alpha, OptionRange::Finite);
  start_moments(s, "ScaleBySimplifiedAdemamix", *this);
}
void ScaleBySimplifiedAdemamix::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu_ = s.tree();
  const Array much = alpha(count);
  const std::vector<Array> nu = average(s, nu_, b2, 2);
  count = count + 1;
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], momentum = g + like(b1, g) * mu[i];
    keep(mu[i], momentum);
    return over_root(momentum + like(much, g) * g, unbiased(nu[i], b2, count), eps, eps_root);
  });
}
void SimplifiedAdemamix::start(Start& s) const {
  s.check("SimplifiedAdemamix", "alpha", alpha, OptionRange::Finite);
  start_moments(s, "SimplifiedAdemamix", *this);
}
void SimplifiedAdemamix::step(Step& s) const {
  descend(s, *this, ScaleBySimplifiedAdemamix{b1, b2, alpha, eps, eps_root});
}

Array AdoptClip::operator()(const Array& count) const { return pow(astype(count, f64), exponent); }

void ScaleByAdopt::start(Start& s) const {
  s.check("ScaleByAdopt", "eps", eps, OptionRange::Positive);
  start_moments(s, "ScaleByAdopt", *this);
}
void ScaleByAdopt::step(Step& s) const {
  Array& count = s.scalar();
  const Leaves mu = s.tree(), nu = s.tree();
  // The first update only fills nu: mu is its zeros, whatever the direction.
  const Array first = count == 0, decay = where(first, 1., b1), bound = clip_value(count);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    Array direction = g / maximum(sqrt(nu[i]), like(eps, g));
    if (use_clipping) direction = clip(direction, like(-bound, g), like(bound, g));
    const Array momentum = averaged(direction, mu[i], decay);
    keep(mu[i], momentum);
    keep(nu[i], averaged(square(g), nu[i], where(first, 0., b2)));
    return nesterov ? averaged(direction, momentum, decay) : momentum;
  });
  count = count + 1;
}
void Adopt::start(Start& s) const {
  s.check("Adopt", "eps", eps, OptionRange::Positive);
  start_moments(s, "Adopt", *this);
}
void Adopt::step(Step& s) const {
  descend(s, *this, ScaleByAdopt{b1, b2, eps, nesterov, use_clipping, clip_value, mu_dtype});
}

}  // namespace apsis::optim
