#include "apsis/optim/prodigy.hpp"

#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

void Prodigy::start(Start& s) const {
  s.check("Prodigy", "b3", b3, OptionRange::Fraction);
  s.check("Prodigy", "estim_lr_coef", estim_lr_coef, OptionRange::Positive);
  start_estimate(s, "Prodigy", *this);
  s.params_themselves();
}

void Prodigy::step(Step& s) const {
  Array &count = s.scalar(), &estimate = s.scalar(), &numerator = s.scalar();
  const Leaves average_ = s.tree(), squares = s.tree(), sums = s.tree(), params0 = s.tree();
  const Array decay = b3.is_empty() ? sqrt(b2) : b3, rate = learning_rate(count);
  count = count + 1;
  const Array correction = sqrt(1 - pow(b2, count)) / (1 - pow(b1, count));
  const Array step = astype(estimate * rate * correction, estimate.dtype());
  Array moved = 0., total = 0.;
  s.each([&](std::size_t i) {
    const Array &g = s.updates[i], scaled = like(estimate, g) * g;
    moved = moved + sum(g * (params0[i] - s.params[i]));
    keep(average_[i], like(b1, g) * average_[i] + like(1 - b1, g) * scaled);
    keep(squares[i], like(b2, g) * squares[i] + like(1 - b2, g) * scaled * scaled);
    const Array weight = safeguard_warmup ? estimate : step;
    keep(sums[i], like(decay, g) * sums[i] + like(weight, g) * scaled / like(estim_lr0, g));
    total = total + sum(abs(sums[i]));
  });
  keep(numerator, like(decay, numerator) * numerator +
                      estimate / like(estim_lr0, estimate) * step * astype(moved, numerator.dtype()));
  // (Without any gradient so far there is nothing to estimate from.)
  const Array found = like(estim_lr_coef, numerator) * numerator / astype(total, numerator.dtype());
  const Array next = maximum(estimate, where(total > 0, found, 0));
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], root = sqrt(squares[i]) + like(next, g) * like(eps, g);
    return like(-weight_decay * step, g) * astype(s.params[i], g.dtype()) -
           like(step, g) * average_[i] / root;
  });
  keep(estimate, next);
}

}  // namespace apsis::optim
