#include "apsis/optim/sophia.hpp"

#include "apsis/array/random.hpp"
#include "apsis/ops/index.hpp"
#include "optim/support.hpp"

namespace apsis::optim {
namespace detail {

std::vector<Array> random_signs(Array& key, const std::vector<Array>& params) {
  const auto [next, draw] = random::split<2>(key);
  key = next;
  std::int64_t count = 0, at = 0;
  for (const Array& p : params) count += Start::is_trained(p);
  const Array keys = random::split(draw, count);
  std::vector<Array> signs(params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    if (Start::is_trained(params[i]))
      signs[i] = astype(random::rademacher(keys[at++], params[i].shape(), f32), params[i].dtype());
  return signs;
}
std::vector<Array> products(const std::vector<Array>& a, const std::vector<Array>& b) {
  std::vector<Array> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty()) result[i] = a[i] * b[i];
  return result;
}

}  // namespace detail

using namespace detail;

void Sophia::start(Start& s) const {
  s.check("Sophia", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Sophia", "b1", b1, OptionRange::Fraction);
  s.check("Sophia", "b2", b2, OptionRange::Fraction);
  s.check("Sophia", "eps", eps, OptionRange::Positive);
  s.check("Sophia", "weight_decay", weight_decay, OptionRange::Finite);
  s.check("Sophia", "gamma", gamma, OptionRange::Positive);
  s.check("Sophia", "clip_threshold", clip_threshold, OptionRange::Positive);
  check_count("Sophia", "update_interval", update_interval, s.loc);
  s.check("Sophia", "mu_dtype", mu_dtype);
  if (key.is_empty()) fail(messages::optimizer_key, {"Sophia"}, s.loc);
  s.count();
  s.zeros(mu_dtype);
  s.zeros();
  s.scalar(key);
}
void Sophia::step(Step& s) const {
  Array& count = s.scalar();
  const Array before = count;
  const std::vector<Array> mu = average(s, s.tree(), b1);
  const Leaves nu = s.tree();
  s.scalar();  // the key
  count = count + 1;
  s.map([&](std::size_t i) {
    const Array u = unbiased(mu[i], b1, count) / maximum(like(gamma, nu[i]) * nu[i], like(eps, nu[i]));
    if (clip_threshold.is_empty()) return u;
    return clip(u, like(-clip_threshold, u), like(clip_threshold, u));
  });
  add_decayed_weights(s, weight_decay, mask, before);
  scale_by_learning_rate(s, learning_rate, before);
  s.finish();
}
std::vector<Array> Sophia::averaged(std::vector<Array> diagonal, const std::vector<Array>& nu) const {
  for (std::size_t i = 0; i < diagonal.size(); ++i)
    diagonal[i] =
        diagonal[i].is_empty() ? nu[i] : astype(detail::averaged(diagonal[i], nu[i], b2), nu[i].dtype());
  return diagonal;
}

}  // namespace apsis::optim
