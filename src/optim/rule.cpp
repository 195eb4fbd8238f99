#include "apsis/optim/rule.hpp"

#include "optim/support.hpp"

namespace apsis::optim::detail {
namespace {

bool holds(OptionRange range, double x) {
  switch (range) {
    case OptionRange::Finite:
      return x - x == 0;
    case OptionRange::Rate:
      return x - x == 0 && x >= 0;
    case OptionRange::NotNegative:
      return x >= 0;
    case OptionRange::Positive:
      return x > 0;
    case OptionRange::Fraction:
      return x >= 0 && x < 1;
  }
  return false;
}

constexpr const char* texts[] = {"finite", "finite and at least 0; to climb, negate the loss", "at least 0",
                                 "above 0", "at least 0 and less than 1"};

}  // namespace

Start::Start(std::vector<Array> params_, std::vector<Array> state_, ConstTreeRef tree, Loc loc_)
    : params(std::move(params_)), state(std::move(state_)), loc(loc_), tree_(tree) {}
void Start::scalar(const Array& value) { state[next_++] = value; }
void Start::count() { scalar(array(std::int64_t{0})); }
void Start::zeros(std::optional<Dtype> dtype) {
  each([&](const Array& p) { return apsis::zeros(p.shape(), dtype.value_or(p.dtype())); });
}
void Start::empty() {
  for (std::size_t i = 0; i < params.size(); ++i) scalar(Array());
}
void Start::params_themselves() {
  each([](const Array& p) { return p; });
}
void Start::check(const char* rule, const char* name, const Array& value, OptionRange range) const {
  if (value.is_empty()) return;
  if (value.ndim() != 0) fail(messages::optimizer_option_shape, {rule, name, to_string(value.aval())}, loc);
  const Array known = concrete_value(value);
  if (known.is_empty()) return;
  if (!holds(range, known.item<double>()))
    fail(messages::optimizer_option, {rule, name, to_string(known), texts[static_cast<int>(range)]}, loc);
}
void Start::check(const char* rule, const char* name, const ScalarOrSchedule& value,
                  OptionRange range) const {
  if (!value.is_empty()) check(rule, name, value(array(std::int64_t{0})), range);
}

void Start::check(const char* rule, const char* name, std::optional<Dtype> dtype) const {
  if (dtype && !is_floating(*dtype))
    fail(messages::optimizer_option, {rule, name, to_string(*dtype), "a floating dtype"}, loc);
}

Step::Step(std::vector<Array> gradient, std::vector<Array> params_, std::vector<Array> state_,
           ConstTreeRef tree, const Extra& extra_, Loc loc_)
    : updates(std::move(gradient)),
      params(std::move(params_)),
      state(std::move(state_)),
      extra(extra_),
      loc(loc_),
      tree_(tree) {
  each([&](std::size_t i) {
    const Array &g = updates[i], &p = params[i];
    if (p.is_empty() || g.shape() != p.shape())
      fail(messages::optimizer_gradient,
           {path(i), to_string(g.aval()), p.is_empty() ? "empty" : to_string(p.aval())}, loc);
    if (is_complex(g.dtype())) fail(messages::optimizer_complex, {path(i), to_string(g.aval())}, loc);
  });
}
void Step::fail_state() const { fail(messages::optimizer_state, {}, loc); }
Array& Step::scalar() {
  if (next_ >= state.size()) fail_state();
  return state[next_++];
}
Array Step::next_scalar() const {
  if (next_ >= state.size()) fail_state();
  return state[next_];
}
std::span<Array> Step::leaves(std::size_t count) {
  if (state.size() - next_ < count) fail_state();
  next_ += count;
  return std::span<Array>(state).subspan(next_ - count, count);
}
std::span<Array> Step::tree() {
  std::span<Array> found = leaves(updates.size());
  each([&](std::size_t i) {
    if (!found[i].is_empty() && found[i].shape() != updates[i].shape()) fail_state();
  });
  return found;
}
void Step::finish() const {
  if (next_ != state.size()) fail_state();
}

std::vector<std::vector<Array>> axes_of(std::vector<Array> params) {
  std::vector<std::vector<Array>> axes;
  for (const Array& p : params)
    axes.emplace_back(Start::is_trained(p) ? static_cast<std::size_t>(std::max(p.ndim(), 1)) : 0);
  return axes;
}

Dtype least_dtype(const std::vector<Array>& params) {
  Dtype dtype = f64;
  for (const Array& p : params)
    if (Start::is_trained(p)) dtype = std::min(dtype, p.dtype());
  return dtype;
}

Array square_norm(const Step& s) {
  Array total = 0.;
  s.each([&](std::size_t i) { total = total + sum(square(s.updates[i])); });
  return total;
}
Array global_norm(const Step& s) { return sqrt(square_norm(s)); }

Array safe_norm(const Array& x, const Array& least) {
  const Array bound = like(least, x), length = norm(x), small = length <= bound;
  // The root has no derivative at 0: it is taken elsewhere.
  return where(small, bound, norm(where(small, ones_like(x), x)));
}

std::vector<bool> chosen(const Step& s, const Mask& mask) {
  std::vector<bool> is_chosen(s.updates.size(), true);
  if (mask.is_all()) return is_chosen;
  const std::vector<std::string> paths = s.paths();
  s.each([&](std::size_t i) { is_chosen[i] = mask(s.params[i], paths[i]); });
  return is_chosen;
}

void scale_by_learning_rate(Step& s, const ScalarOrSchedule& rate, const Array& count, bool flip_sign) {
  if (rate.is_empty()) return;
  const Array value = rate(count), step = flip_sign ? -value : value;
  s.map([&](std::size_t i) { return like(step, s.updates[i]) * s.updates[i]; });
}

void add_decayed_weights(Step& s, const ScalarOrSchedule& decay, const Mask& mask, const Array& count) {
  if (decay.is_empty()) return;
  const Array value = decay(count);
  // (A decay of 0 that is known changes nothing, not even the sign of a zero.)
  if (!decay.is_schedule() && is_concrete(value) && value.item<double>() == 0) return;
  const std::vector<bool> decays = chosen(s, mask);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return decays[i] ? g + like(value, g) * astype(s.params[i], g.dtype()) : g;
  });
}

void scale_by_trust_ratio(Step& s, const Mask& mask, const Array& min_norm, const Array& coefficient,
                          const Array& eps) {
  const std::vector<bool> scaled = chosen(s, mask);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    if (!scaled[i]) return g;
    const Array parameter = astype(safe_norm(s.params[i], min_norm), g.dtype()),
                update = safe_norm(g, min_norm);
    const Array ratio = like(coefficient, g) * parameter / (update + like(eps, g));
    return g * where(parameter == 0 || update == 0, 1, ratio);
  });
}

void scale_by_param_rms(Step& s, const Array& least) {
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], &p = s.params[i], bound = like(least, p), rms = sqrt(mean(square(p)));
    const Array small = rms <= bound, safe = where(small, ones_like(p), p);
    return g * astype(where(small, bound, sqrt(mean(square(safe)))), g.dtype());
  });
}

void clip_by_block_rms(Step& s, const Array& threshold) {
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return g / maximum(1, sqrt(mean(square(g))) / like(threshold, g));
  });
}

void add_trace(Step& s, Leaves trace, const Array& decay, bool nesterov) {
  if (decay.is_empty()) return;
  s.each([&](std::size_t i) {
    Array& g = s.updates[i];
    const Array next = g + like(decay, g) * trace[i];
    g = nesterov ? g + like(decay, g) * next : next;
    keep(trace[i], next);
  });
}

}  // namespace apsis::optim::detail
