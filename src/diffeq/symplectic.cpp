// Steps of compositions of drifts and kicks.

#include "apsis/diffeq/symplectic.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

const SymplecticComposition& table_of(const void* self) {
  return *static_cast<const SymplecticComposition*>(self);
}

void add(std::vector<Array>& y, const Array& factor, const std::vector<Array>& slope) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] + factor * slope[i];
}
std::vector<Array> joined(std::vector<Array> q, std::span<const Array> p) {
  q.insert(q.end(), p.begin(), p.end());
  return q;
}

std::vector<Array> start(const void* self, const SolverStart& s) {
  if (!table_of(self).keeps_kick()) return {};
  const std::span<const Array> kick = s.slopes.part(1, s.slope);
  return {kick.begin(), kick.end()};
}

SolverAttempt attempt(const void* self, const SolverStep& s) {
  const SymplecticComposition& m = table_of(self);
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();
  const auto part = [&](std::size_t i) {
    const std::span<const Array> y = s.slopes.part(i, s.y0);
    return std::vector<Array>(y.begin(), y.end());
  };
  std::vector<Array> q = part(0), p = part(1), kick;
  if (m.keeps_kick()) kick.assign(s.state.begin(), s.state.end());
  const std::vector<Array> first_kick = kick;
  for (std::size_t i = 0; i < m.drift.size(); ++i) {
    if (m.drift[i] != 0)
      add(q, m.drift[i] * h, s.slopes.term(0, stage_time(m.drift_time[i], s.t0, s.t1, length), p));
    if (m.kick[i] == 0) continue;
    if (i > 0 || !m.keeps_kick()) kick = s.slopes.term(1, stage_time(m.kick_time[i], s.t0, s.t1, length), q);
    add(p, m.kick[i] * h, kick);
  }
  SolverAttempt step;
  step.y1 = joined(q, p);
  if (m.keeps_kick()) step.state = kick;
  if (m.hermite) {
    const std::vector<Array> p0 = part(1);
    const std::vector<Array> before =
        joined(s.slopes.term(0, s.t0, p0), m.keeps_kick() ? first_kick : s.slopes.term(1, s.t0, part(0)));
    step.dense =
        joined(before, joined(s.slopes.term(0, s.t1, p), m.keeps_kick() ? kick : s.slopes.term(1, s.t1, q)));
  }
  return step;
}

std::vector<Array> within(const void* self, const DenseStep& s) {
  return table_of(self).hermite ? ThirdOrderHermiteInterpolation().evaluate(s)
                                : LocalLinearInterpolation().evaluate(s);
}

/// Whether drifts and kicks are the same from the end as from the start.
bool is_symmetric(const SymplecticComposition& m) {
  std::vector<std::pair<bool, double>> moves;
  for (std::size_t i = 0; i < m.drift.size(); ++i)
    for (const auto& [kicks, weight] : {std::pair(false, m.drift[i]), std::pair(true, m.kick[i])})
      if (weight != 0) moves.emplace_back(kicks, weight);
  return std::equal(moves.begin(), moves.end(), moves.rbegin());
}

}  // namespace

SolverRef symplectic_solver(const SymplecticComposition& table) {
  const auto check = [](const void* self, Loc loc) { check_table(table_of(self), loc); };
  return {&table,  {.name = table.name, .order = table.order, .reversible = is_symmetric(table)},
          check,   start,
          attempt, within};
}

}  // namespace apsis::detail
