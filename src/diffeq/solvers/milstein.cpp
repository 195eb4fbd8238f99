#include "apsis/diffeq/stochastic.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jvp.hpp"
#include "apsis/transform/vmap.hpp"
#include "diffeq/step.hpp"

namespace apsis {
namespace {

StepTraits traits_of(const char* name, Calculus calculus) {
  return {.name = name,
          .order = 1,
          .takes_controls = true,
          .calculus = calculus,
          .strong_order = 1,
          .noise = NoiseKind::Commutative};
}

/// g·x and its derivative along g·x.
std::pair<std::vector<Array>, std::vector<Array>> product_and_change(const SolverStep& s, const Controls& x) {
  const std::vector<Array> y(s.y0.begin(), s.y0.end());
  const auto product = [&](const std::vector<Array>& at) { return s.slopes.diffusion(s.t0, at, x); };
  return jvp(product, y, s.slopes.diffusion(s.t0, s.y0, x));
}

/// Controls of 0.
Controls zeros_of(const Controls& like) {
  Controls out = like;
  for (auto& control : out)
    for (Array& a : control) a = zeros_like(a);
  return out;
}

/// Σ D(gⱼ)·gⱼ over all elements j of the controls. Of diagonal and commutative noise, where gⱼ changes by yⱼ
/// alone, that is the derivative along all elements at once.
std::vector<Array> sum_of_changes(const SolverStep& s, const Controls& like) {
  const std::vector<ControlField> fields = s.slopes.fields(s.t0, s.y0);
  std::vector<Array> total;
  const auto add = [&](const std::vector<Array>& more) {
    for (std::size_t i = 0; i < more.size(); ++i)
      total.size() <= i ? total.push_back(more[i]) : void(total[i] = total[i] + more[i]);
  };
  for (std::size_t c = 0; c < like.size(); ++c) {
    if (fields[c].diagonal) {
      Controls ones = zeros_of(like);
      for (Array& a : ones[c]) a = ones_like(a);
      add(product_and_change(s, ones).second);
      continue;
    }
    for (std::size_t leaf = 0; leaf < like[c].size(); ++leaf) {
      const Array& x = like[c][leaf];
      const auto change = [&](const Array& row) {
        Controls one = zeros_of(like);
        one[c][leaf] = reshape(row, x.shape());
        return product_and_change(s, one).second;
      };
      if (x.size() == 1) {
        add(change(ones({1}, x.dtype())));
      } else if (x.size() > 1) {
        std::vector<Array> rows = vmap(change)(eye(x.size(), -1, 0, x.dtype()));
        for (Array& a : rows) a = sum(a, {.axis = 0});
        add(rows);
      }
    }
  }
  return total;
}

SolverAttempt milstein(const SolverStep& s, bool ito) {
  const Array h = s.slopes.length(s.t0, s.t1);
  SolverAttempt step{.y1 = detail::drifted(s)};
  if (!s.slopes.driven()) return step;
  const Controls w = s.slopes.increment(s.t0, s.t1).w;
  const auto [noise, change] = product_and_change(s, w);
  const std::vector<Array> expected = ito ? sum_of_changes(s, w) : std::vector<Array>();
  for (std::size_t i = 0; i < s.y0.size(); ++i) {
    const Array second = expected.empty() ? change[i] : change[i] - h * expected[i];
    step.y1[i] = step.y1[i] + noise[i] + 0.5 * second;
  }
  return step;
}

}  // namespace

StepTraits ItoMilstein::traits() const { return traits_of("ItoMilstein", Calculus::Ito); }
SolverAttempt ItoMilstein::step(const SolverStep& s) const { return milstein(s, true); }
StepTraits StratonovichMilstein::traits() const {
  return traits_of("StratonovichMilstein", Calculus::Stratonovich);
}
SolverAttempt StratonovichMilstein::step(const SolverStep& s) const { return milstein(s, false); }

}  // namespace apsis
