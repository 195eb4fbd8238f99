#include "apsis/optim/tuning_free.hpp"

#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

/// The squared distance of the parameters from the first ones.
Array square_distance(const Step& s, Leaves params0) {
  Array total = 0.;
  s.each([&](std::size_t i) { total = total + sum(square(params0[i] - s.params[i])); });
  return total;
}
void scale_all(Step& s, const Array& factor) {
  s.map([&](std::size_t i) { return like(factor, s.updates[i]) * s.updates[i]; });
}
/// Weights decay, a rule scales the gradient, and so does the learning rate: Dog and Dowg.
template <class Rule, class Scaled>
void descend_decayed(Step& s, const Rule& rule, const Scaled& scaled) {
  const Array count = s.next_scalar();
  add_decayed_weights(s, rule.weight_decay, rule.mask, count);
  scaled.step(s);
  scale_by_learning_rate(s, rule.learning_rate, count);
}
template <class Rule>
void check_decayed(const Start& s, const char* name, const Rule& r) {
  s.check(name, "learning_rate", r.learning_rate, OptionRange::Rate);
  s.check(name, "weight_decay", r.weight_decay, OptionRange::Finite);
}

}  // namespace

void ScaleByDog::start(Start& s) const {
  s.check("ScaleByDog", "init_value", init_value, OptionRange::Positive);
  s.check("ScaleByDog", "eps", eps, OptionRange::NotNegative);
  Array distance = init_step == DogStart::LearningRate ? Array(0.) : init_value;
  if (init_step == DogStart::Heuristic) {
    Array total = 0.;
    for (const Array& p : s.params)
      if (Start::is_trained(p)) total = total + sum(square(p));
    distance = init_value * (1 + sqrt(total));
  }
  const Dtype dtype = least_dtype(s.params);
  s.count();
  s.scalar(astype(distance, dtype));
  s.scalar(zeros({}, dtype));
  s.params_themselves();
}
void ScaleByDog::step(Step& s) const {
  Array &count = s.scalar(), &most = s.scalar(), &squares = s.scalar();
  const Leaves params0 = s.tree();
  keep(most, maximum(most, astype(sqrt(square_distance(s, params0)), most.dtype())));
  keep(squares, squares + astype(square_norm(s), squares.dtype()));
  Array rate = most / sqrt(squares + like(eps, squares));
  if (init_step == DogStart::LearningRate) rate = where(count == 0, like(init_value, rate), rate);
  scale_all(s, rate);
  count = count + 1;
}
void Dog::start(Start& s) const {
  check_decayed(s, "Dog", *this);
  ScaleByDog{init_step, init_value, eps}.start(s);
}
void Dog::step(Step& s) const { descend_decayed(s, *this, ScaleByDog{init_step, init_value, eps}); }

void ScaleByDowg::start(Start& s) const {
  s.check("ScaleByDowg", "init_estim_sq_dist", init_estim_sq_dist, OptionRange::Positive);
  s.check("ScaleByDowg", "eps", eps, OptionRange::Positive);
  const Dtype dtype = least_dtype(s.params);
  s.count();
  s.scalar(zeros({}, dtype));
  s.scalar(astype(init_estim_sq_dist.is_empty() ? eps : init_estim_sq_dist, dtype));
  s.params_themselves();
}
void ScaleByDowg::step(Step& s) const {
  Array &count = s.scalar(), &weighted = s.scalar(), &estimate = s.scalar();
  keep(estimate, maximum(estimate, astype(square_distance(s, s.tree()), estimate.dtype())));
  keep(weighted, estimate * astype(square_norm(s), estimate.dtype()) + weighted);
  scale_all(s, estimate / (sqrt(weighted) + like(eps, weighted)));
  count = count + 1;
}
void Dowg::start(Start& s) const {
  check_decayed(s, "Dowg", *this);
  ScaleByDowg{init_estim_sq_dist, eps}.start(s);
}
void Dowg::step(Step& s) const { descend_decayed(s, *this, ScaleByDowg{init_estim_sq_dist, eps}); }

void ScaleByDistanceOverGradients::start(Start& s) const {
  s.check("ScaleByDistanceOverGradients", "reps_rel", reps_rel, OptionRange::Positive);
  s.check("ScaleByDistanceOverGradients", "eps", eps, OptionRange::NotNegative);
  s.check("ScaleByDistanceOverGradients", "param_dtype", param_dtype);
  s.check("ScaleByDistanceOverGradients", "global_scale", global_scale, OptionRange::Finite);
  s.each([&](const Array& p) { return like(reps_rel, p) * (1 + sqrt(sum(square(p)))); });
  s.each([](const Array& p) { return zeros({}, p.dtype()); });
  s.each([&](const Array& p) { return astype(p, param_dtype.value_or(p.dtype())); });
}
void ScaleByDistanceOverGradients::step(Step& s) const {
  const Leaves most = s.leaves(s.updates.size()), squares = s.leaves(s.updates.size()), params0 = s.tree();
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    keep(most[i], maximum(most[i], sqrt(sum(square(s.params[i] - params0[i])))));
    keep(squares[i], squares[i] + sum(square(g)));
    const Array rate = most[i] / sqrt(squares[i] + like(eps, squares[i]));
    return astype(like(global_scale, rate) * rate, g.dtype()) * g;
  });
}

void DAdaptAdamW::start(Start& s) const { start_estimate(s, "DAdaptAdamW", *this); }
void DAdaptAdamW::step(Step& s) const {
  Array &count = s.scalar(), &estimate = s.scalar(), &numerator = s.scalar();
  const Leaves average_ = s.tree(), squares = s.tree(), sums = s.tree();
  const Array rate = learning_rate(count), decay = sqrt(b2);
  count = count + 1;
  const Array correction = sqrt(1 - pow(b2, count)) / (1 - pow(b1, count));
  const Array step = astype(estimate * rate * correction, estimate.dtype());
  Array gained = 0., total = 0.;
  s.each([&](std::size_t i) {
    const Array &g = s.updates[i], scaled = like(step, g) * g;
    gained = gained + sum(g * sums[i] / (sqrt(squares[i]) + like(eps, squares[i])));
    keep(average_[i], averaged(scaled, average_[i], b1));
    keep(squares[i], averaged(square(g), squares[i], b2));
    keep(sums[i], averaged(scaled, sums[i], decay));
    total = total + sum(abs(sums[i]));
  });
  keep(numerator, averaged(step * astype(gained, step.dtype()), numerator, decay));
  // (Without any gradient so far there is nothing to estimate from.)
  const Array found = numerator / (like(1 - decay, numerator) * astype(total, numerator.dtype()));
  keep(estimate, maximum(estimate, where(total > 0, found, 0)));
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return like(-weight_decay * step, g) * astype(s.params[i], g.dtype()) -
           average_[i] / (sqrt(squares[i]) + like(eps, squares[i]));
  });
}

}  // namespace apsis::optim
