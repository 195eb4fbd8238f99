// custom_linear_solve and custom_root: ops whose derivatives come from the equation they solve. All regions
// of an op take the same consts: what the user's functions capture.

#include "apsis/control/implicit.hpp"

#include <unordered_map>

#include "control/common/call_rules.hpp"
#include "control/common/messages.hpp"
#include "ops/lax.hpp"
#include "ops/table.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

/// Staged functions made to take the captures of all: (consts…, arguments…).
class Consts {
 public:
  void add(const Staged& s) {
    for (const Array& a : s.captures)
      if (places_.try_emplace(a.node(), arrays.size()).second) arrays.push_back(a);
  }
  GraphRef region(const Staged& s) const {
    std::vector<Aval> avals, own = input_avals(*s.graph);
    own.resize(own.size() - s.captures.size());
    for (const Array& a : arrays) avals.push_back(a.aval());
    avals.insert(avals.end(), own.begin(), own.end());
    return rewire(avals, [&](std::span<const Array> in) {
      std::vector<Array> args(in.begin() + static_cast<std::ptrdiff_t>(arrays.size()), in.end());
      for (const Array& a : s.captures) args.push_back(in[places_.at(a.node())]);
      return interpret(*s.graph, args);
    });
  }
  std::vector<Array> arrays;

 private:
  std::unordered_map<const Node*, std::size_t> places_;
};

/// Throws unless `got` starts with arrays like `want`.
void check_like(const char* op, const char* what, std::span<const Aval> got, std::span<const Aval> want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    std::string have = i < got.size() ? to_string(got[i]) : "missing";
    if (i >= got.size() || got[i].dtype() != want[i].dtype() || got[i].shape() != want[i].shape())
      fail(messages::implicit_result, {op, what, std::to_string(i), have, to_string(want[i])});
  }
}

std::vector<Array> negated(std::span<const Array> arrays) {
  std::vector<Array> out;
  for (const Array& a : arrays) out.push_back(lax::neg(a));
  return out;
}

/// The operands of a batch, the consts first: those are mapped as they come, all others along axis 0. So are
/// the other inputs of regions, and the results.
class BatchedOperands {
 public:
  BatchedOperands(const BatchRule& r, std::int64_t consts) : lanes_(r.size) {
    arrays = lanes_first(r, mask_);
    mask_.resize(static_cast<std::size_t>(consts));
    for (std::size_t i = mask_.size(); i < arrays.size(); ++i)
      arrays[i] = with_axis(r.operands[i], r.axes[i], 0, r.size);
    consts_ = avals_of(std::span<const Array>(arrays).first(mask_.size()));
  }
  /// Null if `region` is.
  GraphRef region(const GraphRef& region) const {
    if (!region) return region;
    std::vector<bool> mask = mask_, found;
    mask.resize(region->input_count(), true);
    return batch_graph(*region, lanes_, mask, std::vector<bool>(region->outputs().size(), true), found,
                       consts_);
  }
  std::vector<Array> arrays;

 private:
  std::vector<bool> mask_;
  std::vector<Aval> consts_;  // an operand may be a list, of each lane or of entries with all lanes
  std::int64_t lanes_;
};

// custom_linear_solve: operands (consts…, b…). region: → x; adjoint: (consts…, c…) → y with mapᵀ y = c, or
// none; map and transposed: (consts…, x…) → map x, mapᵀ x.
struct LinearSolveParams {
  GraphRef region, adjoint, map, transposed;
  std::int64_t consts = 0;
  static void each(auto& self, auto&& visit) {
    visit("consts", self.consts);
    visit("region", self.region);
    visit("adjoint", self.adjoint);
    visit("map", self.map);
    visit("transposed", self.transposed);
  }
};

void linear_solve_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("custom_linear_solve", params, in, out);
}
void linear_solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(custom_linear_solve_op, params, in, out);
}

// map(x) = b: map(dx) = db - dmap(x).
void linear_solve_jvp(const JvpRule& r) {
  const auto& p = r.params.as<LinearSolveParams>();
  auto consts = static_cast<std::size_t>(p.consts);
  std::vector<Array> x = bind_all(custom_linear_solve_op, r.params, r.primals);
  std::vector<Array> at(r.primals.begin(), r.primals.begin() + p.consts),
      moves(r.tangents.begin(), r.tangents.begin() + p.consts);
  append(at, x);
  moves.resize(at.size());
  auto map = [&](std::span<const Array> in) { return interpret(*p.map, in); };
  std::vector<Array> change = jvp(callee_of(map), at, moves).tangents;
  bool any = false;
  std::vector<Array> operands(r.primals.begin(), r.primals.begin() + p.consts);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Array &db = r.tangents[consts + i], &dm = change[i];
    any |= !db.is_empty() || !dm.is_empty();
    operands.push_back(dm.is_empty()   ? (db.is_empty() ? lax::full_like(x[i].aval(), 0) : db)
                       : db.is_empty() ? lax::neg(dm)
                                       : lax::sub(db, dm));
  }
  for (std::size_t i = 0; i < x.size(); ++i) r.outs[i] = x[i];
  if (!any) return;
  std::vector<Array> dx = bind_all(custom_linear_solve_op, r.params, operands);
  for (std::size_t i = 0; i < x.size(); ++i) r.out_tangents[i] = dx[i];
}

void linear_solve_transpose(const TransposeRule& r) {
  const auto& p = r.params.as<LinearSolveParams>();
  auto consts = static_cast<std::size_t>(p.consts);
  if (!p.adjoint) fail(messages::no_adjoint_solve, {});
  std::vector<Array> operands(r.operands.begin(), r.operands.begin() + p.consts);
  for (std::size_t i = 0; i < r.cotangents.size(); ++i)
    operands.push_back(r.cotangents[i].is_empty() ? lax::full_like(r.out[consts + i].aval(), 0)
                                                  : r.cotangents[i]);
  LinearSolveParams adjoint{p.adjoint, p.region, p.transposed, p.map, p.consts};
  std::vector<Array> found = bind_all(custom_linear_solve_op, make_params(std::move(adjoint)), operands);
  for (std::size_t i = 0; i < found.size(); ++i) r.out[consts + i].add(found[i]);
}

void linear_solve_batch(const BatchRule& r) {
  LinearSolveParams p = r.params.as<LinearSolveParams>();
  const BatchedOperands operands(r, p.consts);
  for (GraphRef* region : {&p.region, &p.adjoint, &p.map, &p.transposed}) *region = operands.region(*region);
  r.outs = bind_all(custom_linear_solve_op, make_params(std::move(p)), operands.arrays);
  r.out_axes.assign(r.outs.size(), 0);
}

// custom_root: operands (consts…, start…). region: → (root…, more…); function: (consts…, x…) → f(x);
// tangent: (consts…, x…, y…) → the solution of (∂f/∂x) dx = y.
struct RootParams {
  GraphRef region, function, tangent;
  std::int64_t consts = 0;
  static void each(auto& self, auto&& visit) {
    visit("consts", self.consts);
    visit("region", self.region);
    visit("function", self.function);
    visit("tangent", self.tangent);
  }
};

void root_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("custom_root", params, in, out);
}
void root_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(custom_root_op, params, in, out);
}

void root_jvp(const JvpRule& r) {
  const auto& p = r.params.as<RootParams>();
  bind(custom_root_op, r.params, r.primals, r.outs);
  std::size_t roots = r.primals.size() - static_cast<std::size_t>(p.consts);
  std::vector<Array> at(r.primals.begin(), r.primals.begin() + p.consts),
      moves(r.tangents.begin(), r.tangents.begin() + p.consts);
  append(at, r.outs.first(roots));
  moves.resize(at.size());
  auto f = [&](std::span<const Array> in) { return interpret(*p.function, in); };
  std::vector<Array> change = jvp(callee_of(f), at, moves).tangents;
  if (count(not_empty(change)) == 0) return;
  for (std::size_t i = 0; i < roots; ++i)
    if (change[i].is_empty()) change[i] = lax::full_like(r.outs[i].aval(), 0);
  append(at, negated(change));
  std::vector<Array> dx = interpret(*p.tangent, at);
  for (std::size_t i = 0; i < roots; ++i) r.out_tangents[i] = dx[i];
}

void root_batch(const BatchRule& r) {
  RootParams p = r.params.as<RootParams>();
  const BatchedOperands operands(r, p.consts);
  for (GraphRef* region : {&p.region, &p.function, &p.tangent}) *region = operands.region(*region);
  r.outs = bind_all(custom_root_op, make_params(std::move(p)), operands.arrays);
  r.out_axes.assign(r.outs.size(), 0);
}

Staged stage_solver(const LinearSolver& solver, const Callee& map, std::span<const Aval> avals,
                    bool transposed, const char* op) {
  auto body = [&](std::span<const Array> right) {
    LinearProgram program = linear_program(map, right, op, {});
    std::vector<Array> out;
    solver.run(solver.context, program, transposed, right, out);
    return out;
  };
  return stage_with(body, avals, op);
}

}  // namespace

const Op custom_linear_solve_op = {
    .name = "custom_linear_solve",
    .kind = OpKind::Custom,
    .shape = linear_solve_shape,
    .evaluate = linear_solve_evaluate,
    .jvp = linear_solve_jvp,
    .transpose = linear_solve_transpose,
    .batch = linear_solve_batch,
    .parse = parse_params<LinearSolveParams>,
};

const Op custom_root_op = {
    .name = "custom_root",
    .kind = OpKind::Custom,
    .shape = root_shape,
    .evaluate = root_evaluate,
    .jvp = root_jvp,
    .batch = root_batch,
    .parse = parse_params<RootParams>,
};

std::vector<Array> custom_linear_solve_call(const Callee& map, std::span<const Array> right,
                                            const LinearSolver& solve, const LinearSolver& adjoint,
                                            bool symmetric, Loc loc) {
  const LocScope place(loc);
  constexpr const char* op = "custom_linear_solve";
  std::vector<Aval> avals = avals_of(right);
  Staged applied = stage(map, avals, op, loc), forward = stage_solver(solve, map, avals, false, op), backward;
  check_like(op, "the map's result", output_avals(*applied.graph), avals);
  check_like(op, "the solution", output_avals(*forward.graph), avals);
  if (adjoint.run) {
    backward = stage_solver(adjoint, map, avals, true, op);
    check_like(op, "the adjoint's solution", output_avals(*backward.graph), avals);
  }
  Consts consts;
  consts.add(applied);
  consts.add(forward);
  if (backward.graph) consts.add(backward);
  LinearSolveParams p;
  p.consts = static_cast<std::int64_t>(consts.arrays.size());
  p.map = p.transposed = consts.region(applied);
  p.region = consts.region(forward);
  if (symmetric) p.adjoint = p.region;
  if (backward.graph) {
    p.adjoint = consts.region(backward);
    const std::vector<bool> all(avals.size(), true);
    TransposeRequest request{.cotangents = all, .instantiate = all};
    request.linear.resize(consts.arrays.size(), false);
    request.linear.resize(p.map->input_count(), true);
    p.transposed = transpose_graph(*p.map, request).graph;
  }
  std::vector<Array> operands = consts.arrays;
  append(operands, right);
  return bind_all(custom_linear_solve_op, make_params(std::move(p)), operands, loc);
}

std::vector<Array> custom_root_call(const Callee& f, std::span<const Array> start, const Callee& solve,
                                    const LinearSolver& tangent, Loc loc) {
  const LocScope place(loc);
  if (!current_trace()) return solve(start);
  constexpr const char* op = "custom_root";
  std::vector<Aval> avals = avals_of(start), twice = avals;
  twice.insert(twice.end(), avals.begin(), avals.end());
  Staged function = stage(f, avals, op, loc), solved = stage(solve, avals, op, loc);
  check_like(op, "the function's result", output_avals(*function.graph), avals);
  check_like(op, "the root", output_avals(*solved.graph), avals);
  // The derivative of f at the root, as a map that captures its residuals.
  auto body = [&](std::span<const Array> in) {
    auto x = in.first(avals.size()), y = in.subspan(avals.size());
    LinearProgram slope = linearize_call(f, x, std::vector<bool>(x.size(), true), loc).program;
    auto map = [&](std::span<const Array> dx) { return slope.push(dx); };
    return custom_linear_solve_call(callee_of(map), y, tangent, tangent, false, loc);
  };
  Staged solution = stage_with(body, twice, op);
  Consts consts;
  consts.add(function);
  consts.add(solved);
  consts.add(solution);
  RootParams p{consts.region(solved), consts.region(function), consts.region(solution),
               static_cast<std::int64_t>(consts.arrays.size())};
  std::vector<Array> operands = consts.arrays;
  append(operands, start);
  return bind_all(custom_root_op, make_params(std::move(p)), operands, loc);
}

}  // namespace apsis::detail
