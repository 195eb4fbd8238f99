#include "apsis/optim/scale.hpp"

#include "apsis/ops/index.hpp"
#include "apsis/ops/random.hpp"
#include "optim/support.hpp"

namespace apsis::optim {

using detail::like;
using detail::OptionRange;

void Identity::start(detail::Start&) const {}
void Identity::step(detail::Step&) const {}

void SetToZero::start(detail::Start&) const {}
void SetToZero::step(detail::Step& s) const {
  s.map([&](std::size_t i) { return zeros_like(s.updates[i]); });
}

void Scale::start(detail::Start& s) const { s.check("Scale", "step_size", step_size, OptionRange::Finite); }
void Scale::step(detail::Step& s) const {
  s.map([&](std::size_t i) { return like(step_size, s.updates[i]) * s.updates[i]; });
}

void ScaleByLearningRate::start(detail::Start& s) const {
  s.check("ScaleByLearningRate", "learning_rate", learning_rate, OptionRange::Rate);
  s.count();
}
void ScaleByLearningRate::step(detail::Step& s) const {
  Array& count = s.scalar();
  detail::scale_by_learning_rate(s, learning_rate, count, flip_sign);
  count = count + 1;
}

void ScaleBySchedule::start(detail::Start& s) const {
  s.check("ScaleBySchedule", "step_size", step_size, OptionRange::Finite);
  s.count();
}
void ScaleBySchedule::step(detail::Step& s) const {
  Array& count = s.scalar();
  detail::scale_by_learning_rate(s, step_size, count, false);
  count = count + 1;
}

void ScaleBySign::start(detail::Start&) const {}
void ScaleBySign::step(detail::Step& s) const {
  s.map([&](std::size_t i) { return sign(s.updates[i]); });
}

void ScaleByParamBlockNorm::start(detail::Start& s) const {
  s.check("ScaleByParamBlockNorm", "min_scale", min_scale, OptionRange::NotNegative);
}
void ScaleByParamBlockNorm::step(detail::Step& s) const {
  s.map([&](std::size_t i) {
    return s.updates[i] * astype(detail::safe_norm(s.params[i], min_scale), s.updates[i].dtype());
  });
}

void ScaleByParamBlockRms::start(detail::Start& s) const {
  s.check("ScaleByParamBlockRms", "min_scale", min_scale, OptionRange::NotNegative);
}
void ScaleByParamBlockRms::step(detail::Step& s) const { detail::scale_by_param_rms(s, min_scale); }

void ScaleByTrustRatio::start(detail::Start& s) const {
  s.check("ScaleByTrustRatio", "min_norm", min_norm, OptionRange::NotNegative);
  s.check("ScaleByTrustRatio", "trust_coefficient", trust_coefficient, OptionRange::Finite);
  s.check("ScaleByTrustRatio", "eps", eps, OptionRange::NotNegative);
}
void ScaleByTrustRatio::step(detail::Step& s) const {
  detail::scale_by_trust_ratio(s, {}, min_norm, trust_coefficient, eps);
}

void AddDecayedWeights::start(detail::Start& s) const {
  s.check("AddDecayedWeights", "weight_decay", weight_decay, OptionRange::Finite);
  s.count();
}
void AddDecayedWeights::step(detail::Step& s) const {
  Array& count = s.scalar();
  detail::add_decayed_weights(s, weight_decay, mask, count);
  count = count + 1;
}

void AddNoise::start(detail::Start& s) const {
  if (key.is_empty()) fail(messages::optimizer_key, {"AddNoise"}, s.loc);
  s.check("AddNoise", "eta", eta, OptionRange::NotNegative);
  s.check("AddNoise", "gamma", gamma, OptionRange::Finite);
  s.count();
  s.scalar(key);
}
void AddNoise::step(detail::Step& s) const {
  Array &count = s.scalar(), &key_now = s.scalar();
  count = count + 1;
  auto [later, drawn] = random::split<2>(key_now);
  key_now = later;
  const Array deviation = sqrt(eta / pow(astype(count, f64), gamma));
  std::int64_t leaves = 0;
  s.each([&](std::size_t) { ++leaves; });
  const Array keys = random::split(drawn, leaves);
  std::int64_t leaf = 0;
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return g + like(deviation, g) * random::normal(keys[leaf++], g.shape(), g.dtype());
  });
}

void Centralize::start(detail::Start&) const {}
void Centralize::step(detail::Step& s) const {
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    if (g.ndim() < 2) return g;
    Dims others;
    for (int axis = 1; axis < g.ndim(); ++axis) others.push_back(axis);
    return g - mean(g, {.axis = Axes(others), .keepdims = true});
  });
}

void NormalizeByUpdateNorm::start(detail::Start& s) const {
  s.check("NormalizeByUpdateNorm", "scale_factor", scale_factor, OptionRange::Finite);
  s.check("NormalizeByUpdateNorm", "eps", eps, OptionRange::NotNegative);
}
void NormalizeByUpdateNorm::step(detail::Step& s) const {
  const Array length = detail::global_norm(s);
  const Array divisor = (length + like(eps, length)) / like(scale_factor, length);
  s.map([&](std::size_t i) { return s.updates[i] / like(divisor, s.updates[i]); });
}

void Trace::start(detail::Start& s) const {
  s.check("Trace", "decay", decay, OptionRange::Fraction);
  s.check("Trace", "accumulator_dtype", accumulator_dtype);
  s.count();
  s.zeros(accumulator_dtype);
}
void Trace::step(detail::Step& s) const {
  Array& count = s.scalar();
  count = count + 1;
  detail::add_trace(s, s.tree(), decay, nesterov);
}

void Ema::start(detail::Start& s) const {
  s.check("Ema", "decay", decay, OptionRange::Fraction);
  s.check("Ema", "accumulator_dtype", accumulator_dtype);
  s.count();
  s.zeros(accumulator_dtype);
}
void Ema::step(detail::Step& s) const {
  Array& count = s.scalar();
  count = count + 1;
  const std::vector<Array> mu = detail::average(s, s.tree(), decay);
  s.map([&](std::size_t i) { return debias ? detail::unbiased(mu[i], decay, count) : mu[i]; });
}

void ApplyEvery::start(detail::Start& s) const {
  if (k < 1) fail(messages::optimizer_option, {"ApplyEvery", "k", std::to_string(k), "1 or more"}, s.loc);
  s.count();
  s.zeros();
}
void ApplyEvery::step(detail::Step& s) const {
  Array& count = s.scalar();
  const detail::Leaves sums = s.tree();
  const Array first = count % k == 0, last = count % k == k - 1;
  s.each([&](std::size_t i) {
    Array& g = s.updates[i];
    detail::keep(sums[i], where(first, g, sums[i] + g));
    g = where(last, sums[i], 0);
  });
  count = count + 1;
}

void ZeroNans::start(detail::Start&) const {}
void ZeroNans::step(detail::Step& s) const {
  s.map([&](std::size_t i) { return where(isnan(s.updates[i]), 0, s.updates[i]); });
}

void KeepParamsNonnegative::start(detail::Start&) const {}
void KeepParamsNonnegative::step(detail::Step& s) const {
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], p = astype(s.params[i], g.dtype());
    return where(p + g < 0, -p, g);
  });
}

}  // namespace apsis::optim
