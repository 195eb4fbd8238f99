// Steps of stochastic Runge-Kutta methods by their tables.

#include "apsis/diffeq/stochastic_runge_kutta.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "diffeq/step.hpp"
#include "diffeq/table_check.hpp"

namespace apsis {
namespace detail {
namespace {

const StochasticRungeKutta& table_of(const void* self) {
  return *static_cast<const StochasticRungeKutta*>(self);
}

/// Whether stage `i` is read by a later one or by the result.
bool is_used(std::size_t i, const std::vector<std::vector<double>>& a, const std::vector<double>& b,
             const std::vector<double>& error) {
  bool used = (i < b.size() && b[i] != 0) || (i < error.size() && error[i] != 0);
  for (std::size_t row = i + 1; row < a.size(); ++row) used = used || (i < a[row].size() && a[row][i] != 0);
  return used;
}

/// Adds factor · Σ weights[i] · terms[i] to a state; stages that are not there have no weight.
void add(std::vector<Array>& y, const std::vector<double>& weights,
         const std::vector<std::vector<Array>>& terms) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t leaf = 0; weights[i] != 0 && leaf < terms[i].size(); ++leaf) {
      const Array term = weights[i] == 1 ? terms[i][leaf] : weights[i] * terms[i][leaf];
      y[leaf] = y[leaf].is_empty() ? term : y[leaf] + term;
    }
}

/// What the stages of a step make: h f, g·W and g·H of each.
struct Stages {
  std::vector<std::vector<Array>> drift, w, h;
};

class Step {
 public:
  Step(const StochasticRungeKutta& method, const SolverStep& s)
      : m_(method), s_(s), length_(s.t1 - s.t0), additive_(m_.noise == NoiseKind::Additive) {
    if (s.slopes.driven()) noise_ = s.slopes.increment(s.t0, s.t1);
  }
  SolverAttempt result() {
    if (additive_) start_additive();
    for (std::size_t i = 0; i < m_.stages(); ++i) add_stage(i);
    SolverAttempt step{.y1 = std::vector<Array>(s_.y0.begin(), s_.y0.end())};
    add_all(step.y1, m_.b, m_.w.b, m_.h.b);
    if (additive_ && s_.slopes.driven()) add_change_of_field(step.y1);
    if (!m_.error.empty()) {
      step.error.resize(s_.y0.size());
      add_all(step.error, m_.error, m_.w.error, m_.h.error);
    }
    return step;
  }

 private:
  bool has_h() const { return !m_.h.b.empty(); }
  void add_all(std::vector<Array>& y, const std::vector<double>& drift, const std::vector<double>& w,
               const std::vector<double>& h) const {
    add(y, drift, k_.drift);
    if (!s_.slopes.driven()) return;
    add(y, w, k_.w);
    if (has_h()) add(y, h, k_.h);
  }
  void add_field(const std::vector<ControlField>& field) {
    k_.w.push_back(s_.slopes.product(field, s_.y0, noise_.w));
    if (has_h()) k_.h.push_back(s_.slopes.product(field, s_.y0, noise_.h));
  }
  /// One vector field serves all stages.
  void start_additive() {
    if (!s_.slopes.driven()) return;
    field_ = s_.slopes.fields(s_.t0, s_.y0);
    add_field(field_);
  }
  void add_stage(std::size_t i) {
    std::vector<Array> z(s_.y0.begin(), s_.y0.end());
    add_all(z, m_.a[i], m_.w.a[i], has_h() ? m_.h.a[i] : std::vector<double>());
    const Array t = stage_time(m_.c[i], s_.t0, s_.t1, length_);
    k_.drift.emplace_back();
    if (is_used(i, m_.a, m_.b, m_.error)) {
      const Array h = s_.slopes.length(s_.t0, s_.t1);
      for (const Array& k : s_.slopes(t, z)) k_.drift.back().push_back(h * k);
    }
    if (additive_ || !s_.slopes.driven()) return;
    if (is_used(i, m_.w.a, m_.w.b, m_.w.error) || is_used(i, m_.h.a, m_.h.b, m_.h.error)) {
      add_field(s_.slopes.fields(t, z));
    } else {
      k_.w.emplace_back();
      k_.h.emplace_back();
    }
  }
  /// ½ (g(t1) - g(t0))·(W - 2 H), for additive noise that depends on time.
  void add_change_of_field(std::vector<Array>& y) const {
    const Controls area =
        has_h() ? combined({{0.5, noise_.w}, {-1., noise_.h}}) : combined({{0.5, noise_.w}});
    const std::vector<Array> after = s_.slopes.diffusion(s_.t1, s_.y0, area),
                             before = s_.slopes.product(field_, s_.y0, area);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] + (after[i] - before[i]);
  }

  const StochasticRungeKutta& m_;
  const SolverStep& s_;
  Array length_;
  bool additive_;
  ControlIncrement noise_;
  std::vector<ControlField> field_;
  Stages k_;
};

}  // namespace

SolverRef stochastic_solver(const StochasticRungeKutta& table) {
  const StepTraits traits{.name = table.name,
                          .order = table.order,
                          .error_order = table.error.empty() ? 0 : table.order,
                          .takes_controls = true,
                          .calculus = Calculus::Stratonovich,
                          .strong_order = table.strong_order,
                          .levy_area = table.h.b.empty() ? LevyArea::None : LevyArea::SpaceTime,
                          .noise = table.noise};
  const auto check = [](const void* self, Loc loc) { check_table(table_of(self), loc); };
  const auto start = [](const void*, const SolverStart&) { return std::vector<Array>(); };
  const auto attempt = [](const void* self, const SolverStep& s) { return Step(table_of(self), s).result(); };
  const auto within = [](const void*, const DenseStep& s) { return LocalLinearInterpolation().evaluate(s); };
  return {&table, traits, check, start, attempt, within};
}

}  // namespace detail

void check_table(const StochasticRungeKutta& m, Loc loc) {
  using Refuse = detail::TableRefusals;
  const Refuse refuse(m.name, loc);
  const std::size_t stages = m.stages();
  if (stages == 0) refuse.wrong_size("b", 0, "1 or more", "a method has a stage");
  refuse.size("c", m.c.size(), stages, "a time a stage, as b has weights");
  refuse.triangle("a", m.a, stages, 0, "row i has an entry for each stage before i");
  refuse.finite("a", m.a);
  refuse.finite("b", m.b);
  for (std::size_t i = 0; i < stages; ++i)
    refuse.equal("c[" + std::to_string(i) + "]", m.c[i], Refuse::sum(m.a[i]), Refuse::size_of(m.a[i]),
                 "it is the sum of a[i]");
  refuse.equal("the sum of b", Refuse::sum(m.b), 1, Refuse::size_of(m.b), "the method must be consistent");
  if (!m.error.empty()) {
    refuse.size("error", m.error.size(), stages, "a weight a stage");
    refuse.equal("the sum of error", Refuse::sum(m.error), 0, Refuse::size_of(m.error),
                 "the embedded method must be consistent");
  }
  const bool additive = m.noise == NoiseKind::Additive;
  const auto coefficients = [&](const char* name, const StochasticCoefficients& x, double total) {
    const std::string n = name;
    const char* one = "of additive noise there is one vector field";
    if (additive) {
      refuse.size(n + ".a", x.a.size(), stages, "a row a stage, as b has weights");
      for (std::size_t i = 0; i < stages; ++i)
        refuse.size(n + ".a[" + std::to_string(i) + "]", x.a[i].size(), 1, one);
    } else {
      refuse.triangle(n + ".a", x.a, stages, 0, "row i has an entry for each stage before i");
    }
    refuse.size(n + ".b", x.b.size(), additive ? 1 : stages, additive ? one : "a weight a stage");
    refuse.finite(n + ".a", x.a);
    refuse.equal("the sum of " + n + ".b", Refuse::sum(x.b), total, Refuse::size_of(x.b),
                 "the method must be consistent");
    if (!additive && !m.error.empty())
      refuse.size(n + ".error", x.error.size(), stages, "error says that there is an estimate");
  };
  coefficients("w", m.w, 1);
  if (!m.h.b.empty() || !m.h.a.empty()) coefficients("h", m.h, 0);
}

}  // namespace apsis
