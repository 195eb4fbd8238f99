// Derivatives of a solve by another one: the adjoint equation a' = -a ∂f/∂y, with ∫ a ∂f/∂θ beside it, is
// solved from t1 to t0 together with the equation itself. Nothing here may refer to the solve, which is over
// by then: the way from one time to the one before is kept as a program, whose captures, the parameters of
// the equation, are arguments.
//
// (Pontryagin et al., The mathematical theory of optimal processes, 1962; Chen, Rubanova, Bettencourt,
// Duvenaud, Neural ordinary differential equations, NeurIPS 2018. The seminorm: Kidger, Chen, Lyons, "Hey,
// that's not an ODE", ICML 2021.)

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/closure.hpp"
#include "apsis/transform/grad.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/cotangents.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

/// (t, y) → y' by one term, t as the user has it.
using FieldProgram = Closure<Arrays(Array, Arrays)>;
using Fields = std::vector<FieldProgram>;
/// The state, and cotangents of it and of the parameters of each term.
struct Adjoints {
  Arrays y, by_y;
  std::vector<Arrays> by_captures;
};
/// (fields, from, to, at `from`) → at `to`.
using SegmentProgram = Closure<Adjoints(Fields, Array, Array, Adjoints)>;

/// What derivatives are taken of.
struct Given {
  Fields fields;
  Arrays y0;
};
/// What was made of it, and what the way back needs to know.
struct Made {
  SegmentProgram segment;
  Arrays saved, y;
  Array t0, ts, t1;  // ts is empty where no times are saved at
};

/// The root mean square of the state and its cotangent alone: what is summed up for parameters does not act
/// back.
struct SemiNorm {
  std::int64_t leaves;
  Array operator()(std::span<const Array> errors) const {
    return rms_norm(errors.first(static_cast<std::size_t>(leaves)));
  }
};

/// The adjoint equation as terms on leaves: those of y, of its cotangent, and of the captures that have one.
struct AdjointField {
  const Fields* fields;
  const Adjoints* like;

  Arrays join(const Adjoints& a) const {
    Arrays all;
    for_each_leaf(a, [&](const Array& leaf) {
      if (!leaf.is_empty()) all.push_back(leaf);
    });
    return all;
  }
  Adjoints split(std::span<const Array> all) const {
    Adjoints a = *like;
    std::size_t next = 0;
    for_each_leaf(a, [&](Array& leaf) {
      if (!leaf.is_empty()) leaf = all[next++];
    });
    return a;
  }
  /// By one term: its own parameters have cotangents of it.
  Arrays slope(std::size_t term, const Array& t, std::span<const Array> all) const {
    const Adjoints now = split(all);
    const auto [slope, pull] =
        vjp([&](const FieldProgram& f, const Arrays& y) { return f(t, y); }, (*fields)[term], now.y);
    const auto [by_field, by_y] = pull(now.by_y);
    Adjoints d = now;
    d.y = slope;
    d.by_y = there(by_y, now.y);
    for (Array& a : d.by_y) a = -a;
    for (std::size_t k = 0; k < d.by_captures.size(); ++k)
      for (std::size_t i = 0; i < d.by_captures[k].size(); ++i) {
        Array& by = d.by_captures[k][i];
        if (by.is_empty()) continue;
        const Array part = k == term ? by_field.captures[i] : Array();
        by = part.is_empty() ? zeros_like(by) : -astype(part, by.dtype());
      }
    return join(d);
  }
};

FlatTerms adjoint_terms(const AdjointField& field) {
  FlatTerms terms{};
  terms.context = &field;
  terms.slope = [](const void* self, std::size_t term, const Array& t, std::span<const Array> y) {
    return static_cast<const AdjointField*>(self)->slope(term, t, y);
  };
  terms.count = field.fields->size();
  terms.structure = TermStructure::Whole;
  terms.state = {&field, [](const void* self, std::size_t leaf) {
                   const std::size_t n = static_cast<const AdjointField*>(self)->like->y.size();
                   const char* kind = leaf < n       ? "the state"
                                      : leaf < 2 * n ? "its cotangent"
                                                     : "a parameter's cotangent";
                   return std::string(kind) + " in Adjoint::Backsolve";
                 }};
  return terms;
}

/// The options of the solves on the way back.
SolveOptions options_back(const Problem& p) {
  const BacksolveOptions& own = p.options.backsolve;
  SolveOptions back{.controller = own.controller ? *own.controller : p.options.controller,
                    .max_steps = p.options.max_steps,
                    .throw_ = p.options.throw_};
  if (!own.seminorm) return back;
  PIDController pid = *back.controller.as<PIDController>();
  pid.norm = SemiNorm{static_cast<std::int64_t>(2 * p.y0.size())};
  back.controller = pid;
  return back;
}

Fields field_programs(const Problem& p) {
  Fields fields;
  for (std::size_t k = 0; k < p.slopes.terms(); ++k) {
    const auto field = [&](const Array& t, const Arrays& y) {
      Arrays slope = p.slopes.term(k, t * p.slopes.direction(), y);
      for (std::size_t i = 0; i < y.size(); ++i) slope[i] = astype(slope[i], y[i].dtype());
      return slope;
    };
    fields.push_back(closure_convert(field, p.t0, p.y0));
  }
  return fields;
}
/// Zeros for the cotangents of parameters, of the state's dtype.
std::vector<Arrays> no_cotangents(const Fields& fields, Dtype dtype) {
  std::vector<Arrays> zero;
  for (const FieldProgram& f : fields) {
    zero.emplace_back();
    for (const Array& c : f.captures)
      zero.back().push_back(is_floating(c.dtype()) ? zeros(c.shape(), dtype) : Array());
  }
  return zero;
}

SegmentProgram segment_program(const Problem& p, const Fields& fields, Loc loc) {
  const SolveOptions options = options_back(p);
  const Array dt0 = p.dt0.is_empty() ? Array() : -p.dt0 * p.slopes.direction();
  const bool keeps_dt0 = !options.controller.as<PIDController>() || !p.options.backsolve.controller;
  const auto segment = [&](const Fields& f, const Array& from, const Array& to, const Adjoints& a) {
    const AdjointField adjoint{&f, &a};
    const Arrays start = adjoint.join(a);
    const FlatSolution s = solve_flat(adjoint_terms(adjoint), p.solver, from, to, keeps_dt0 ? dt0 : Array(),
                                      start, tree_ref(start), options, {}, loc);
    Arrays end;
    for (const Array& rows : s.saved[0].ys) end.push_back(rows[0]);
    return adjoint.split(end);
  };
  const Adjoints like{p.y0, zeros_of(p.y0), no_cotangents(fields, p.y0[0].dtype())};
  return closure_convert(segment, fields, p.t1, p.t0, like);
}

std::tuple<Given, Made> backsolve(const std::pair<Given, Made>& kept, const SolveResult& by) {
  // The states saved are known here without their derivatives, which those of this would need.
  const Given g = nondifferentiable(kept.first, "a gradient by Adjoint::Backsolve");
  const Made& m = kept.second;
  const bool saves = !m.ts.is_empty();
  const std::int64_t rows = saves ? m.ts.size() : 0;
  // Times t0, ts, t1; of all but the first the state and its cotangent.
  const auto behind = [&](const Arrays& saved, const Arrays& last) {
    Arrays all;
    for (std::size_t i = 0; i < last.size(); ++i)
      all.push_back(saves ? concatenate({saved[i], expand_dims(last[i], 0)}) : expand_dims(last[i], 0));
    return all;
  };
  const Array ends[] = {expand_dims(m.t0, 0), saves ? m.ts : zeros({0}, m.t0.dtype()), expand_dims(m.t1, 0)};
  const Array times = concatenate({ends[0], ends[1], ends[2]});
  const Arrays ys = behind(m.saved, m.y);
  const Arrays by_ys = behind(saves ? there(by.saved, m.saved) : Arrays(), there(by.y, m.y));

  struct Back {
    Array row;
    Adjoints at;
  };
  const Back start{array(rows), {m.y, zeros_of(m.y), no_cotangents(g.fields, m.y[0].dtype())}};
  const Back end =
      while_loop([](const Back& v) { return v.row >= 0; },
                 [&](const Back& v) {
                   Adjoints from = v.at;
                   for (std::size_t i = 0; i < ys.size(); ++i) {
                     from.y[i] = ys[i][v.row];
                     from.by_y[i] = from.by_y[i] + by_ys[i][v.row];
                   }
                   return Back{v.row - 1, m.segment(g.fields, times[v.row + 1], times[v.row], from)};
                 },
                 start);
  Given by_given = g;
  for (std::size_t k = 0; k < g.fields.size(); ++k)
    for (std::size_t i = 0; i < g.fields[k].captures.size(); ++i) {
      const Array& c = end.at.by_captures[k][i];
      by_given.fields[k].captures[i] = c.is_empty() ? Array() : astype(c, g.fields[k].captures[i].dtype());
    }
  by_given.y0 = end.at.by_y;
  Made none = m;
  clear_leaves(none);
  return {by_given, none};
}

}  // namespace

void check_backsolve(const Problem& p, Loc loc) {
  const SolveOptions& o = p.options;
  if (o.adjoint != Adjoint::Backsolve) return;
  const FlatSave& save = p.saves[0].request;
  const auto* pid = o.controller.as<PIDController>();
  const char* what = p.saves.size() != 1                            ? "several requests of what to save"
                     : save.fn.is_set()                             ? "a function of what is saved"
                     : save.at.steps != 0                           ? "saveat.steps"
                     : o.saveat.dense                               ? "saveat.dense"
                     : o.saveat.solver_state                        ? "saveat.solver_state"
                     : !o.solver_state.direction.is_empty()         ? "solver_state"
                     : !o.events.empty()                            ? "events"
                     : !o.mass.is_empty()                           ? "a mass matrix"
                     : p.slopes.delayed()                           ? "delays"
                     : p.slopes.driven()                            ? "a ControlTerm or a term of your own"
                     : p.slopes.structure() != TermStructure::Whole ? "a pair of terms"
                                                                    : nullptr;
  if (what) fail(messages::backsolve_without, {what}, loc);
  if (o.backsolve.seminorm && !(o.backsolve.controller ? o.backsolve.controller->as<PIDController>() : pid))
    fail(messages::backsolve_seminorm, {}, loc);
  if (o.backsolve.controller) return;
  const bool own_norm = pid && pid->norm.is_set() && !o.backsolve.seminorm;
  const bool of_leaves = pid && (pid->rtol.of_leaves() || pid->atol.of_leaves());
  if (o.controller.innermost().as<StepTo>() || own_norm || of_leaves)
    fail(messages::backsolve_controller,
         {own_norm    ? "a norm of the state"
          : of_leaves ? "tolerances for each array of the state"
                      : "StepTo"},
         loc);
}

void derive_by_backsolve(const Problem& p, LoopState& end, Loc loc) {
  const Fields fields = field_programs(p);
  const SavePart& part = p.saves[0];
  const Array& direction = p.slopes.direction();
  const Given given{fields, p.y0};
  const Made made{segment_program(p, fields, loc),
                  only_values(end.saved[0].ys),
                  only_values(end.y),
                  p.t0 * direction,
                  part.saves_times() ? Array(part.ts * direction) : Array(),
                  stop_gradient(end.start) * direction};
  derive_by(backsolve, given, made, end);
}

}  // namespace apsis::detail
