// Momentum models: `Momo` and `MomoAdam` of apsis/optim/tuning_free.hpp.

#include "apsis/optim/tuning_free.hpp"
#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

template <class Rule>
void start_model(Start& s, const char* name, const Rule& r) {
  s.check(name, "learning_rate", r.learning_rate, OptionRange::Rate);
  s.check(name, "lower_bound", r.lower_bound, OptionRange::Finite);
  s.check(name, "weight_decay", r.weight_decay, OptionRange::NotNegative);
  const Dtype dtype = least_dtype(s.params);
  s.count();
  s.scalar(zeros({}, dtype));
  s.scalar(zeros({}, dtype));
  s.scalar(astype(r.lower_bound, dtype));
  s.zeros();
}

/// The model of the loss along a direction, in the dtype of the state's scalars.
struct Model {
  Array &barf, &gamma, &bound;
  Array length;   // of the averaged gradient, squared, in the norm of the direction
  Array product;  // of the averaged gradient and the parameters

  /// The averages of loss, and of the product of gradient and parameters.
  void observe(const Step& s, const char* name, const Array& decay) {
    if (s.extra.value.is_empty()) fail(messages::optimizer_value, {name}, s.loc);
    Array now = 0.;
    s.each([&](std::size_t i) { now = now + sum(s.updates[i] * s.params[i]); });
    keep(barf, averaged(astype(s.extra.value, barf.dtype()), barf, decay));
    keep(gamma, averaged(astype(now, gamma.dtype()), gamma, decay));
  }
  /// The step that brings the model to its bound, `rate` / correction at most; `correction` is what the
  /// averages have of a whole one.
  Array step(const Array& rate, const Array& decayed, const Array& correction, const Array& least,
             bool adapt) {
    if (adapt) {
      const Array cap = decayed * (barf - gamma) + product;
      bound = where(cap < decayed * correction * bound,
                    maximum(cap / (2 * correction * decayed), like(least, cap)), bound);
    }
    const Array gap = maximum(decayed * (barf - correction * bound - gamma) + product, 0);
    const Array vanished = length <= 0x1p-52;
    const Array step = minimum(rate / correction, where(vanished, 0, gap / where(vanished, 1, length)));
    if (adapt)
      bound = maximum((barf + product - gamma - 0.5 * step * length) / correction, like(least, step));
    return step;
  }
};

}  // namespace

void Momo::start(Start& s) const {
  s.check("Momo", "beta", beta, OptionRange::Fraction);
  start_model(s, "Momo", *this);
}
void Momo::step(Step& s) const {
  Array& count = s.scalar();
  Model model{s.scalar(), s.scalar(), s.scalar(), 0., 0.};
  const Leaves mean = s.tree();
  const Dtype dtype = model.barf.dtype();
  const Array decay = where(count == 0, 0., beta);  // the averages begin with the first loss and gradient
  model.observe(s, "Momo", decay);
  s.each([&](std::size_t i) {
    keep(mean[i], averaged(s.updates[i], mean[i], decay));
    model.length = model.length + sum(square(mean[i]));
    model.product = model.product + sum(mean[i] * s.params[i]);
  });
  model.length = astype(model.length, dtype);
  model.product = astype(model.product, dtype);
  const Array rate = astype(learning_rate(count), dtype), decayed = 1 + rate * like(weight_decay, rate);
  const Array step = model.step(rate, decayed, ones({}, dtype), lower_bound, adapt_lower_bound);
  const Array shrink = rate * like(weight_decay, rate) / decayed;
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return astype(-like(shrink, g) * s.params[i] - like(step, g) * mean[i], g.dtype());
  });
  count = count + 1;
}

void MomoAdam::start(Start& s) const {
  s.check("MomoAdam", "b1", b1, OptionRange::Fraction);
  s.check("MomoAdam", "b2", b2, OptionRange::Fraction);
  s.check("MomoAdam", "eps", eps, OptionRange::NotNegative);
  start_model(s, "MomoAdam", *this);
  s.zeros();
}
void MomoAdam::step(Step& s) const {
  Array& count = s.scalar();
  const Array rate_ = learning_rate(count);
  Model model{s.scalar(), s.scalar(), s.scalar(), 0., 0.};
  const Leaves mean = s.tree(), squares = s.tree();
  const Dtype dtype = model.barf.dtype();
  count = count + 1;
  model.observe(s, "MomoAdam", b1);
  std::vector<Array> scaled(mean.size());
  s.each([&](std::size_t i) {
    keep(mean[i], averaged(s.updates[i], mean[i], b1));
    keep(squares[i], averaged(square(s.updates[i]), squares[i], b2));
    scaled[i] = mean[i] / (like(eps, squares[i]) + sqrt(unbiased(squares[i], b2, count)));
    model.length = model.length + sum(mean[i] * scaled[i]);
    model.product = model.product + sum(mean[i] * s.params[i]);
  });
  model.length = astype(model.length, dtype);
  model.product = astype(model.product, dtype);
  const Array rate = astype(rate_, dtype), decayed = 1 + rate * like(weight_decay, rate);
  const Array correction = astype(1 - pow(b1, count), dtype);
  const Array step = model.step(rate, decayed, correction, lower_bound, adapt_lower_bound);
  const Array shrink = rate * like(weight_decay, rate) / decayed;
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return astype(-like(shrink, g) * s.params[i] - like(step, g) * scaled[i], g.dtype());
  });
}

}  // namespace apsis::optim
