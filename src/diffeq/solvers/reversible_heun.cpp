#include <algorithm>

#include "apsis/diffeq/reversible.hpp"
#include "apsis/ops/arithmetic.hpp"

namespace apsis {
namespace {

void append(std::vector<Array>& to, std::span<const Array> more) {
  to.insert(to.end(), more.begin(), more.end());
}

void append_fields(std::vector<Array>& to, const std::vector<ControlField>& fields) {
  for (const ControlField& field : fields) append(to, field.leaves);
}
/// Vector fields of the structure of others, with these leaves.
std::vector<ControlField> fields_of(std::span<const Array> leaves, std::vector<ControlField> like) {
  for (ControlField& field : like) {
    std::copy_n(leaves.begin(), field.leaves.size(), field.leaves.begin());
    leaves = leaves.subspan(field.leaves.size());
  }
  return like;
}

}  // namespace

StepTraits ReversibleHeun::traits() const {
  return {.name = "ReversibleHeun",
          .order = 2,
          .error_order = 2,
          .takes_controls = true,
          .calculus = Calculus::Stratonovich,
          .strong_order = 0.5,
          .reversible = true};
}

// The second solution, the slope at it, and the vector fields of controls at it.
std::vector<Array> ReversibleHeun::init(const SolverStart& s) const {
  std::vector<Array> state(s.y0.begin(), s.y0.end());
  append(state, s.slope);
  append_fields(state, s.slopes.fields(s.t0, s.y0));
  return state;
}

SolverAttempt ReversibleHeun::step(const SolverStep& s) const {
  const std::size_t n = s.y0.size();
  const Array h = s.slopes.length(s.t0, s.t1);
  const bool driven = s.slopes.driven();
  Controls w;
  std::vector<ControlField> fields;
  std::vector<Array> noise;  // by the vector fields before
  if (driven) {
    w = s.slopes.increment(s.t0, s.t1).w;
    fields = fields_of(s.state.subspan(2 * n), s.slopes.fields(s.t0, s.y0));
    noise = s.slopes.product(fields, s.y0, w);
  }
  std::vector<Array> second, change;
  for (std::size_t i = 0; i < n; ++i) {
    const Array& before = s.state[n + i];
    change.push_back(driven ? h * before + noise[i] : h * before);
    second.push_back(2 * s.y0[i] - s.state[i] + change[i]);
  }
  const std::vector<Array> slope = s.slopes(s.t1, second);
  SolverAttempt step;
  step.state = second;
  append(step.state, slope);
  if (driven) {
    fields = s.slopes.fields(s.t1, second);
    noise = s.slopes.product(fields, s.y0, w);
    append_fields(step.state, fields);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Array after = driven ? h * slope[i] + noise[i] : h * slope[i];
    step.y1.push_back(s.y0[i] + 0.5 * (change[i] + after));
    step.error.push_back(0.5 * (after - change[i]));
  }
  return step;
}

}  // namespace apsis
