// The flat functions behind while_loop, scan, fori_loop, cond and switch_.

#include <algorithm>
#include <unordered_map>

#include "apsis/control/cond.hpp"
#include "apsis/control/scan.hpp"
#include "apsis/tree/equal.hpp"
#include "apsis/tree/path.hpp"
#include "codegen/support/cancel.hpp"
#include "control/common/complex_parts.hpp"
#include "control/common/messages.hpp"
#include "control/flow/checkpointed.hpp"
#include "control/flow/loop_rules.hpp"
#include "ops/lax.hpp"
#include "transform/stage/presence.hpp"

namespace apsis::detail {
namespace {

/// Promotes weakly typed initial carries until the body returns the avals it gets: a counter that starts at
/// 0. becomes what the body makes of it. True if nothing had to change.
bool settle_carry(std::vector<Array>& carry, std::span<const Aval> results) {
  bool settled = true;
  for (std::size_t i = 0; i < carry.size() && i < results.size(); ++i) {
    const Aval &have = carry[i].aval(), &want = results[i];
    if (!have.weak() || have.shape() != want.shape() || (have.dtype() == want.dtype() && want.weak()))
      continue;
    WeakDtype to = promote({have.dtype(), true}, {want.dtype(), want.weak()});
    if (to.dtype == have.dtype() && to.weak) continue;
    carry[i] = lax::convert(carry[i], to.dtype, to.weak);
    settled = false;
  }
  return settled;
}

/// Makes a weak result fit a strong carry.
Staged stage_body(const Callee& body, std::span<const Aval> in, std::size_t carries, const char* name,
                  Loc loc) {
  auto fitted = [&](std::span<const Array> args) {
    std::vector<Array> outs = body(args);
    std::size_t first = args.size() - in.size();
    for (std::size_t i = 0; i < carries && i < outs.size(); ++i) {
      const Aval& want = in[first + i];
      if (outs[i].weak() && !want.weak() && outs[i].dtype() != want.dtype() &&
          promote({want.dtype(), false}, {outs[i].dtype(), true}) == WeakDtype{want.dtype(), false})
        outs[i] = lax::convert(outs[i], want.dtype());
    }
    return outs;
  };
  return stage_with(fitted, in, name, loc);
}

/// The carry as it comes back must be what went in; said here, where the user's names are known.
void check_carry(const char* op, const Callee& body, std::span<const Array> carry, const Graph& graph,
                 Loc loc) {
  std::vector<Aval> results = output_avals(graph);
  for (std::size_t i = 0; i < carry.size() && i < results.size(); ++i)
    if (results[i].dtype() != carry[i].dtype() || results[i].shape() != carry[i].shape())
      fail(messages::carry_mismatch, {op, body.inputs(i), to_string(carry[i].aval()), to_string(results[i])},
           loc);
}

/// (captures…, arguments…) instead of (arguments…, captures…).
GraphRef captures_first(const Graph& graph, std::size_t captures) {
  std::vector<Aval> avals = input_avals(graph);
  std::size_t arguments = avals.size() - captures;
  std::rotate(avals.begin(), avals.begin() + static_cast<std::ptrdiff_t>(arguments), avals.end());
  return rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> args(in.begin() + static_cast<std::ptrdiff_t>(captures), in.end());
    append(args, in.first(captures));
    return interpret(graph, args);
  });
}

/// The loop (consts | carry, xs) with a count of its iterations behind the carry, which it reports. `length`:
/// -1 if it is not known.
GraphRef reporting(const Graph& body, std::size_t first_x, std::size_t carries, const Progress& progress,
                   std::int64_t length, Loc loc) {
  std::vector<Aval> avals = input_avals(body);
  avals.insert(avals.begin() + static_cast<std::ptrdiff_t>(first_x), Aval(Dtype::I64, {}));
  return rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first_x));
    append(args, in.subspan(first_x + 1));
    std::vector<Array> outs = interpret(body, args);
    Array steps = one_more(in[first_x]), fraction;
    if (length > 0)
      fraction = lax::div(lax::convert(steps, Dtype::F64), literal(Dtype::F64, static_cast<double>(length)));
    report_progress(progress, steps, fraction, loc);
    outs.insert(outs.begin() + static_cast<std::ptrdiff_t>(carries), steps);
    return outs;
  });
}

void check_checkpoints(const char* op, std::int64_t count, std::int64_t bytes, Loc loc) {
  if (count < 0 || count == 1 || bytes < 0)
    fail(messages::checkpoints, {op, std::to_string(count), std::to_string(bytes)}, loc);
}

/// A scan as a loop over its index, whose states can be kept: the ys are arrays that it writes to.
std::vector<Array> checkpointed_scan(const ScanParams& scan, std::span<const Array> operands,
                                     const Keeping& keep, Loc loc) {
  const auto consts = static_cast<std::size_t>(scan.consts), carries = static_cast<std::size_t>(scan.carries);
  const std::size_t xs = operands.size() - consts - carries, ys = scan.body->outputs().size() - carries;
  std::vector<Array> all(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(consts)), carry;
  append(all, operands.subspan(consts + carries));
  carry.push_back(literal(Dtype::I64, 0));
  append(carry, operands.subspan(consts, carries));
  std::vector<Aval> results = output_avals(*scan.body);
  for (std::size_t y = 0; y < ys; ++y)
    carry.push_back(lax::full_like(stacked(results[carries + y], scan.length), 0));
  append(all, carry);
  WhileParams loop;
  loop.body_consts = static_cast<std::int64_t>(consts + xs);
  loop.carries = static_cast<std::int64_t>(carry.size());
  loop.cond = rewire(avals_of(carry), [&](std::span<const Array> in) {
    return std::vector<Array>{lax::lt(in[0], literal(Dtype::I64, static_cast<double>(scan.length)))};
  });
  loop.body = rewire(avals_of(all), [&](std::span<const Array> in) {
    const Array& i = in[consts + xs];
    const Array at =
        scan.reverse ? lax::sub(literal(Dtype::I64, static_cast<double>(scan.length - 1)), i) : i;
    std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(consts));
    append(args, in.subspan(consts + xs + 1, carries));
    for (std::size_t x = 0; x < xs; ++x) args.push_back(lax::dynamic_index(in[consts + x], at));
    std::vector<Array> made = interpret(*scan.body, args), next{lax::add(i, literal(Dtype::I64, 1))};
    append(next, std::span(made).first(carries));
    for (std::size_t y = 0; y < ys; ++y)
      next.push_back(lax::dynamic_update_index(in[consts + xs + 1 + carries + y], made[carries + y], at));
    return next;
  });
  std::vector<Array> found = checkpointed_while(loop, keep, all, loc);
  found.erase(found.begin());
  return found;
}

}  // namespace

void check_options(const WhileOptions& options, Loc loc) {
  if (options.max_steps < -1) fail(messages::negative_bound, {std::to_string(options.max_steps)}, loc);
  if (options.kind == apsis::Loop::Bounded && options.max_steps < 0)
    fail(messages::bounded_without_bound, {}, loc);
}

void report_directly(const Progress& progress, std::int64_t steps, std::int64_t length, Loc loc) {
  poll_cancelled();
  if (!progress.on()) return;
  const double part = static_cast<double>(steps) / static_cast<double>(length);
  report_progress(progress, Array(steps), length > 0 ? Array(part) : Array(), loc);
}

Array one_more(const Array& steps) { return lax::add(steps, literal(Dtype::I64, 1)); }
Array makes_another(const Array& unfinished, const Array& steps, std::int64_t max_steps) {
  if (max_steps < 0) return unfinished;
  return lax::logical_and(unfinished, lax::lt(steps, literal(Dtype::I64, static_cast<double>(max_steps))));
}
Array how_it_ended(const Array& unfinished) {
  return lax::select(unfinished, literal(Dtype::I64, 1), literal(Dtype::I64, 0));
}

void check_carry_structure(const char* op, ConstTreeRef before, ConstTreeRef after, const char* name,
                           Loc loc) {
  std::string change = structure_difference(before, after, name);
  const std::vector<bool> there = presence(before), still = presence(after);
  for (std::size_t i = 0; i < there.size() && change.empty(); ++i)
    if (there[i] != still[i])
      change = "`" + leaf_path(before, i, name) +
               (there[i] ? "` is a leaf in the first, empty in the second"
                         : "` is empty in the first, a leaf in the second");
  if (!change.empty()) fail(messages::static_carry, {op, change}, loc);
}
void fail_branch_structure(const char* op, Loc loc) { fail(messages::branch_structure, {op}, loc); }
void fail_no_branches(const char* op, Loc loc) { fail(messages::no_branches, {op}, loc); }

std::vector<Array> while_call(const char* name, const Callee& cond, const Callee& body,
                              std::span<const Array> init, const WhileOptions& options, Loc loc) {
  std::vector<Array> carry(init.begin(), init.end());
  Staged staged_body;
  do {
    std::vector<Aval> avals = avals_of(carry);
    staged_body = stage_body(body, avals, avals.size(), "while_loop body", loc);
  } while (!settle_carry(carry, output_avals(*staged_body.graph)));
  check_carry(name, body, carry, *staged_body.graph, loc);
  Staged staged_cond = stage(cond, avals_of(carry), "while_loop condition", loc);
  WhileParams p;
  p.cond = over_parts(captures_first(*staged_cond.graph, staged_cond.captures.size()));
  p.body = over_parts(captures_first(*staged_body.graph, staged_body.captures.size()));
  std::vector<Array> operands = with_parts(staged_cond.captures);
  const std::vector<Array> body_consts = with_parts(staged_body.captures), parts = with_parts(carry);
  p.cond_consts = std::ssize(operands);
  p.body_consts = std::ssize(body_consts);
  p.carries = std::ssize(parts);
  p.max_steps = options.max_steps;
  p.kind = static_cast<LoopKind>(options.kind);
  append(operands, body_consts);
  append(operands, parts);
  check_checkpoints(name, options.checkpoints, options.checkpoint_bytes, loc);
  if (options.progress.on()) {
    const std::size_t carries = parts.size(), consts = body_consts.size();
    p.body = reporting(*p.body, consts + carries, carries, options.progress, options.max_steps, loc);
    std::vector<Aval> cond_avals = input_avals(*p.cond);
    cond_avals.push_back(Aval(Dtype::I64, {}));
    p.cond = rewire(cond_avals, [cond = p.cond](std::span<const Array> in) {
      return interpret(*cond, in.first(in.size() - 1));
    });
    ++p.carries;
    operands.push_back(literal(Dtype::I64, 0));
  }
  const Keeping keep{options.checkpoints, options.checkpoint_bytes, -1};
  std::vector<Array> end = keep.bounded() && options.kind != apsis::Loop::Lax
                               ? checkpointed_while(p, keep, operands, loc)
                               : bind_all(while_op, make_params(p), operands, loc);
  end.resize(parts.size());
  return without_parts(end, avals_of(carry));
}

std::vector<Array> first_entries(const char* name, std::span<const Array> xs, const LeafNames& names,
                                 const ScanOptions& options, Loc loc) {
  std::int64_t length = options.length;
  if (options.unroll < 1) fail(messages::scan_unroll, {name, std::to_string(options.unroll)}, loc);
  if (length < -1) fail(messages::scan_negative_length, {name, std::to_string(length)}, loc);
  if (length < 0 && xs.empty()) fail(messages::scan_no_length, {name}, loc);
  std::vector<Array> entries;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Array& x = xs[i];
    if (x.ndim() == 0) fail(messages::scan_scalar, {name, names(i), to_string(x.aval())}, loc);
    if (length >= 0 && x.shape()[0] != length)
      fail(messages::scan_length,
           {name, i ? names(i - 1) : "options.length", std::to_string(length), names(i),
            std::to_string(x.shape()[0])},
           loc);
    length = x.shape()[0];
    entries.push_back(lax::full_like(unstacked(x.aval()), 0));  // stands for any entry: only its aval is used
  }
  return entries;
}

namespace {

Array entries_between(const Array& x, std::int64_t first, std::int64_t last) {
  Dims start = Dims::filled(x.shape().size(), 0), limit = x.shape();
  start[0] = first;
  limit[0] = last;
  return lax::slice(x, start, limit);
}

/// Iterations of a scan's body, one after the other, on entries that lie along axis 0.
struct SeveralIterations {
  const Callee& body;
  std::size_t carries;
  std::int64_t count;
  bool reverse;

  std::vector<Array> operator()(std::span<const Array> in) const {
    std::vector<Array> carry(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(carries));
    std::vector<std::vector<Array>> ys(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t i = reverse ? count - 1 - j : j;
      for (const Array& x : in.subspan(carries))
        carry.push_back(lax::squeeze_axis(entries_between(x, i, i + 1), 0));
      std::vector<Array> out = body(carry);
      const auto split = out.begin() + static_cast<std::ptrdiff_t>(carries);
      ys[static_cast<std::size_t>(i)].assign(split, out.end());
      carry.assign(out.begin(), split);
    }
    for (std::size_t y = 0; y < ys[0].size(); ++y) {
      // A carry that is not settled yet may change its dtype.
      const Aval last = ys[reverse ? 0 : ys.size() - 1][y].aval();
      std::vector<Array> entries;
      for (const std::vector<Array>& each : ys)
        entries.push_back(lax::expand_axis(lax::convert(each[y], last.dtype(), last.weak()), 0));
      carry.push_back(lax::concatenate(entries, 0));
    }
    return carry;
  }
};

/// A scan of blocks of iterations, then one of those that are left over.
ScanCall unrolled_scan(const char* name, const Callee& body, std::span<const Array> init,
                       std::span<const Array> xs, const ScanOptions& options, std::int64_t length, Loc loc) {
  const std::int64_t size = std::min(options.unroll, length), blocks = length / size, left = length % size;
  const std::int64_t first = options.reverse ? left : 0;
  std::vector<Array> main, rest;
  for (const Array& x : xs) {
    Shape shape = x.shape();
    shape[0] = size;
    shape.insert(0, blocks);
    main.push_back(lax::reshape(entries_between(x, first, first + blocks * size), shape));
    rest.push_back(options.reverse ? entries_between(x, 0, left) : entries_between(x, length - left, length));
  }
  const SeveralIterations several{body, init.size(), size, options.reverse};
  Callee block = callee_of(several);
  block.inputs = body.inputs;
  block.results = body.results;
  ScanOptions once = options;
  once.unroll = 1;
  once.length = blocks;
  ScanCall out = scan_call(name, block, init, main, once, loc);
  for (Array& y : out.ys) {
    Shape shape = y.shape();
    shape.erase(0);
    shape[0] *= blocks;
    y = lax::reshape(y, shape);
  }
  if (left == 0) return out;
  once.unroll = once.length = left;
  ScanCall end = scan_call(name, body, out.carry, rest, once, loc);
  for (std::size_t i = 0; i < out.ys.size(); ++i) {
    const Array parts[] = {options.reverse ? end.ys[i] : out.ys[i], options.reverse ? out.ys[i] : end.ys[i]};
    end.ys[i] = lax::concatenate(parts, 0);
  }
  return end;
}

}  // namespace

ScanCall scan_call(const char* name, const Callee& body, std::span<const Array> init,
                   std::span<const Array> xs, const ScanOptions& options, Loc loc) {
  const std::int64_t entries = xs.empty() ? options.length : xs[0].shape()[0];
  if (options.unroll > 1 && entries > 0) return unrolled_scan(name, body, init, xs, options, entries, loc);
  std::vector<Array> carry(init.begin(), init.end());
  Staged staged;
  do {
    std::vector<Aval> avals = avals_of(carry);
    for (const Array& x : xs) avals.push_back(unstacked(x.aval()));
    staged = stage_body(body, avals, carry.size(), "scan body", loc);
  } while (!settle_carry(carry, output_avals(*staged.graph)));
  check_carry(name, body, carry, *staged.graph, loc);
  ScanParams p;
  p.body = over_parts(captures_first(*staged.graph, staged.captures.size()));
  std::vector<Array> operands = with_parts(staged.captures);
  const std::vector<Array> parts = with_parts(carry);
  const std::size_t consts = operands.size(), carries = parts.size();
  p.consts = static_cast<std::int64_t>(consts);
  p.carries = static_cast<std::int64_t>(carries);
  p.length = xs.empty() ? options.length : xs[0].shape()[0];
  p.reverse = options.reverse;
  append(operands, parts);
  append(operands, with_parts(xs));
  check_checkpoints(name, options.checkpoints, options.checkpoint_bytes, loc);
  if (options.progress.on()) {
    p.body = reporting(*p.body, consts + carries, carries, options.progress, p.length, loc);
    ++p.carries;
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(consts + carries), literal(Dtype::I64, 0));
  }
  const Keeping keep{options.checkpoints, options.checkpoint_bytes, p.length};
  std::vector<Array> results = keep.bounded() && p.length > 0
                                   ? checkpointed_scan(p, operands, keep, loc)
                                   : bind_all(scan_op, make_params(p), operands, loc);
  const std::vector<Aval> made = output_avals(*staged.graph);
  std::vector<Aval> ys;
  for (const Aval& y : std::span(made).subspan(carry.size())) ys.push_back(stacked(y, p.length));
  const std::span<const Array> all(results);
  return {without_parts(all.first(carries), avals_of(carry)),
          without_parts(all.subspan(static_cast<std::size_t>(p.carries)), ys)};
}

std::int64_t range_length(const Array& lo, const Array& hi, Loc loc) {
  for (const Array& bound : {lo, hi})
    if (!is_integer(bound.dtype()) || bound.ndim() != 0)
      fail(messages::range_bounds, {to_string(lo.aval()), to_string(hi.aval())}, loc);
  if (is_tracer(lo) || is_tracer(hi)) return -1;
  return std::max<std::int64_t>(hi.item<std::int64_t>() - lo.item<std::int64_t>(), 0);
}

Array as_index(const Array& i) {
  return i.dtype() == Dtype::I64 && !i.weak() ? i : lax::convert(i, Dtype::I64);
}
Array less(const Array& i, const Array& hi) { return lax::lt(i, as_index(hi)); }
Array next_index(const Array& i) { return one_more(i); }

void report_range(const Progress& progress, const Array& lo, const Array& hi, const Array& next, Loc loc) {
  if (!progress.on()) return;
  const Array first = as_index(lo), steps = lax::sub(next, first), all = lax::sub(as_index(hi), first);
  report_progress(progress, steps, lax::div(lax::convert(steps, Dtype::F64), lax::convert(all, Dtype::F64)),
                  loc);
}

Array branch_of(const Array& predicate, Loc loc) {
  if (predicate.dtype() != Dtype::Bool || predicate.ndim() != 0)
    fail(messages::predicate_not_bool, {to_string(predicate.aval())}, loc);
  return lax::select(predicate, literal(Dtype::I64, 0), literal(Dtype::I64, 1));
}

Array branch_index(const Array& index, Loc loc) {
  if (!is_integer(index.dtype()) || index.ndim() != 0)
    fail(messages::index_not_integer, {to_string(index.aval())}, loc);
  return as_index(index);
}

std::vector<Array> cond_call(const Array& index, std::span<const Callee> branches,
                             std::span<const Array> operands, const char* name, Loc loc) {
  std::vector<Aval> avals = avals_of(operands);
  std::vector<Staged> staged;
  for (const Callee& b : branches) staged.push_back(stage(b, avals, name, loc));
  // All branches take the captures of all.
  std::vector<Array> captures;
  std::unordered_map<const Node*, std::size_t> place;
  for (const Staged& s : staged)
    for (const Array& a : s.captures)
      if (place.try_emplace(a.node(), captures.size()).second) captures.push_back(a);
  std::vector<Aval> all = avals, outs = output_avals(*staged[0].graph);
  for (const Array& a : captures) all.push_back(a.aval());
  for (const Staged& s : staged) {
    std::vector<Aval> other = output_avals(*s.graph);
    for (std::size_t i = 0; i < outs.size() && i < other.size(); ++i)
      if (outs[i].weak() || other[i].weak()) {
        WeakDtype d = promote({outs[i].dtype(), outs[i].weak()}, {other[i].dtype(), other[i].weak()});
        outs[i] = Aval(d.dtype, outs[i].shape(), d.weak);
      }
  }
  std::vector<Aval> first = output_avals(*staged[0].graph);
  for (std::size_t b = 1; b < staged.size(); ++b) {
    std::vector<Aval> other = output_avals(*staged[b].graph);
    for (std::size_t i = 0; i < outs.size() && i < other.size(); ++i)
      if (other[i].shape() != outs[i].shape() || (other[i].dtype() != outs[i].dtype() && !other[i].weak()))
        fail(messages::branch_mismatch,
             {name, branches[0].results(i), to_string(first[i]), to_string(other[i]), std::to_string(b)},
             loc);
  }
  CondParams p;
  for (const Staged& s : staged)
    p.branches.push_back(over_parts(rewire(all, [&](std::span<const Array> in) {
      std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(operands.size()));
      for (const Array& a : s.captures) args.push_back(in[operands.size() + place.at(a.node())]);
      std::vector<Array> results = interpret(*s.graph, args);
      for (std::size_t i = 0; i < results.size() && i < outs.size(); ++i)
        if (results[i].weak() && (results[i].dtype() != outs[i].dtype() || !outs[i].weak()))
          results[i] = lax::convert(results[i], outs[i].dtype(), outs[i].weak());
      return results;
    })));
  std::vector<Array> args{index};
  append(args, with_parts(operands));
  append(args, with_parts(captures));
  return without_parts(bind_all(cond_op, make_params(p), args, loc), outs);
}

}  // namespace apsis::detail
