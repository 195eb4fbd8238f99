// What the transformations share.
#pragma once

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/optim/mask.hpp"
#include "apsis/optim/rule.hpp"
#include "apsis/optim/schedule.hpp"
#include "optim/messages.hpp"

namespace apsis::optim::detail {

using Leaves = std::span<Array>;

/// A number as an operand of x that does not change x's dtype.
inline Array like(const Array& number, const Array& x) {
  return number.weak() || number.dtype() == x.dtype() ? number : astype(number, x.dtype());
}
inline void keep(Array& place, const Array& value) { place = astype(value, place.dtype()); }

/// The least precise dtype of the parameters that are trained: that of scalars in a state.
Dtype least_dtype(const std::vector<Array>& params);

/// (1 - decay) x + decay · moment.
inline Array averaged(const Array& x, const Array& moment, const Array& decay) {
  return like(1 - decay, x) * x + like(decay, moment) * moment;
}
/// The start of an Adam that estimates its rate: checks the options of the rule, then the count, the estimate
/// and its numerator (in the least precise dtype of the parameters), and three trees of zeros.
template <class Rule>
void start_estimate(Start& s, const char* name, const Rule& r) {
  s.check(name, "learning_rate", r.learning_rate, OptionRange::Rate);
  s.check(name, "b1", r.b1, OptionRange::Fraction);
  s.check(name, "b2", r.b2, OptionRange::Fraction);
  s.check(name, "eps", r.eps, OptionRange::NotNegative);
  s.check(name, "estim_lr0", r.estim_lr0, OptionRange::Positive);
  s.check(name, "weight_decay", r.weight_decay, OptionRange::Finite);
  const Dtype dtype = least_dtype(s.params);
  s.count();
  s.scalar(astype(r.estim_lr0, dtype));
  s.scalar(zeros({}, dtype));
  for (int tree = 0; tree < 3; ++tree) s.zeros();
}
/// What an average that began with zeros would be without them, after `count` updates.
inline Array unbiased(const Array& moment, const Array& decay, const Array& count) {
  return moment / astype(1 - pow(decay, count), moment.dtype());
}
/// Replaces the moment by its average with the updates to this power, 1 or 2. What it gives has not been
/// rounded to the dtype in which the state keeps it.
inline std::vector<Array> average(const Step& s, Leaves moment, const Array& decay, int power = 1) {
  std::vector<Array> averages(moment.size());
  s.each([&](std::size_t i) {
    const Array& g = s.updates[i];
    averages[i] = averaged(power == 2 ? square(g) : g, moment[i], decay);
    keep(moment[i], averages[i]);
  });
  return averages;
}
/// The average of the updates, without the bias of its zeros, or what Nesterov's momentum makes of it.
/// `count` is that of updates with this one.
inline Array first_moment(const Array& g, const Array& mu, const Array& decay, const Array& count,
                          bool nesterov) {
  if (!nesterov) return unbiased(mu, decay, count);
  return like(decay, mu) * unbiased(mu, decay, count + 1) + like(1 - decay, g) * unbiased(g, decay, count);
}
/// The sum of squares of all updates, and its root.
Array square_norm(const Step& s);
Array global_norm(const Step& s);
/// The Euclidean length, `least` at least.
Array safe_norm(const Array& x, const Array& least);

// Parts of optimisers, by the count of updates before.
void scale_by_learning_rate(Step& s, const ScalarOrSchedule& rate, const Array& count, bool flip_sign = true);
void add_decayed_weights(Step& s, const ScalarOrSchedule& decay, const Mask& mask, const Array& count);
void scale_by_trust_ratio(Step& s, const Mask& mask, const Array& min_norm, const Array& coefficient,
                          const Array& eps);
void scale_by_param_rms(Step& s, const Array& least);
void clip_by_block_rms(Step& s, const Array& threshold);
/// Adds a trace of the updates; without a decay nothing is done.
void add_trace(Step& s, Leaves trace, const Array& decay, bool nesterov);
/// The projection of each row on the simplex of sum 1.
Array simplex_rows(const Array& x);
/// The leaves that a mask chooses.
std::vector<bool> chosen(const Step& s, const Mask& mask);

}  // namespace apsis::optim::detail
