#include "apsis/optim/mechanic.hpp"

#include "optim/support.hpp"

namespace apsis::optim::detail {
namespace {

/// The sum of the products of elements, and the length.
Array product(const std::vector<Array>& a, const std::vector<Array>& b) {
  Array total = 0.;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty()) total = total + sum(a[i] * b[i]);
  return total;
}

}  // namespace

void mechanic_start(const MechanicOptions& o, const std::vector<Array>& params, Array& r, Array& m, Array& v,
                    Array& s, Loc loc) {
  const Start check(params, {}, {nullptr, nullptr}, loc);
  check.check("mechanize", "weight_decay", o.weight_decay, OptionRange::Finite);
  check.check("mechanize", "eps", o.eps, OptionRange::Positive);
  check.check("mechanize", "s_init", o.s_init, OptionRange::Positive);
  check_count("mechanize", "num_betas", o.num_betas, loc);
  r = m = v = zeros({o.num_betas}, least_dtype(params));
  s = full_like(r, o.s_init);
}

std::vector<Array> mechanic_step(const MechanicOptions& o, const std::vector<Array>& gradient,
                                 const std::vector<Array>& step, const std::vector<Array>& params,
                                 const std::vector<Array>& params0, Array& r, Array& m, Array& v, Array& s) {
  const Dtype dtype = s.dtype();
  std::vector<double> powers;
  for (std::int64_t k = 1; k <= o.num_betas; ++k) powers.push_back(1. - std::pow(0.1, k));
  const Array betas = astype(array(powers), dtype), total = sum(s), eps = like(o.eps, s);
  std::vector<Array> trained(gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (!gradient[i].is_empty()) trained[i] = params[i];
  const Array decay = like(o.weight_decay, s) * total * astype(norm_of(gradient), dtype) /
                      (astype(norm_of(trained), dtype) + eps);
  std::vector<Array> decayed(gradient.size()), before(gradient.size()), change(gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i].is_empty()) continue;
    const Array& g = gradient[i];
    decayed[i] = g + like(decay, g) * astype(params[i], g.dtype());
    before[i] = (params0[i] - params[i]) / like(total + eps, params[i]);
  }
  const Array h = astype(product(decayed, before), dtype), reward = clip(h, -m, m);
  m = maximum(betas * m, abs(h) + eps);
  v = square(betas) * v + square(h);
  r = betas * r + reward * s;
  const Array wealth = like(o.s_init, s) / o.num_betas * m + maximum(r, 0);
  s = wealth / (sqrt(v) + eps);
  const Array scale = sum(s);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i].is_empty()) continue;
    const Array moved = params0[i] - like(scale, before[i]) * (before[i] - step[i]);
    change[i] = astype(moved - params[i], gradient[i].dtype());
  }
  return change;
}

}  // namespace apsis::optim::detail
