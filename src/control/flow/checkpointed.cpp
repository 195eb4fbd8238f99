// checkpointed_while: reverse mode in bounded memory. The loop runs once and keeps some of its states;
// backwards, each step is run again from the last state kept before it, keeping others on the way where there
// is room.

#include "control/flow/checkpointed.hpp"

#include <algorithm>
#include <optional>

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "base/place.hpp"
#include "control/calls/linear_call.hpp"
#include "control/flow/checkpoint_schedule.hpp"
#include "control/flow/loop_rules.hpp"
#include "control/flow/while_rules.hpp"
#include "control/tape/late_writes.hpp"
#include "ops/lax.hpp"
#include "ops/program_array.hpp"
#include "passes/loop_dce.hpp"
#include "runtime/region.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

using Arrays = std::vector<Array>;

const CheckpointedParams& checkpointed_of(const Params& params) { return params.as<CheckpointedParams>(); }

void checkpointed_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = checkpointed_of(params);
  APSIS_ASSERT(p.program && p.keep.states >= 0 && p.keep.bytes >= 0 && p.keep.length >= -1);
  check_region_operands("while_loop", *p.program, in);
  out = output_avals(*p.program);
  std::vector<Aval> of_loop;
  while_op.shape(make_params(p.loop), in, of_loop);
  APSIS_ASSERT(out == of_loop);
}

void checkpointed_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(checkpointed_while_op, params, in, out)) return;
  Arrays results = interpret(*checkpointed_of(params).program, in);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = results[i];
}

// A literal of the program.
Array number(std::int64_t value) { return lax::full({}, Dtype::I64, static_cast<double>(value)); }

/// The loop as its derivative needs it. `plain` are the body's constants and the carries that stay as they
/// are; a state is made of the carries `kept`: those that the tangent reads, and those that these are
/// computed from.
struct Replay {
  Replay(const WhileParams& p, const Graph& tangent, const LoopTangents& given);

  std::vector<std::size_t> kept, unchanging;
  GraphRef step;  // (plain…, kept…) → kept…
  GraphRef tangent;  // (plain…, kept…, tangents of the constants…, of the carry…) → tangents of the carry
  // (what is open of late carries…, plain…, kept…, cotangents of the carry…, sums of those of the constants…)
  // → sums, cotangents of the carry
  GraphRef transposed;
  std::optional<LateWrites> late;  // of the tangent
  std::size_t plain, linear_consts, linear_carries;
};

Replay::Replay(const WhileParams& p, const Graph& whole, const LoopTangents& given)
    : linear_consts(given.consts.size()), linear_carries(given.carry.size()) {
  const auto consts = static_cast<std::size_t>(p.body_consts), carries = static_cast<std::size_t>(p.carries);
  const GraphRef pure = without_effects(*p.body);  // the loop itself has them
  std::vector<char> read(carries, 0);
  std::vector<bool> used(whole.value_count(), false);
  for (const Eqn& e : whole.eqns())
    for (ValueId v : whole.operands(e)) used[v] = true;
  for (std::size_t c = 0; c < carries; ++c) read[c] = used[consts + c];
  for (bool settled = false; !settled;) {
    settled = true;
    const std::vector<char> sources = inputs_read(*pure, read);
    for (std::size_t c = 0; c < carries; ++c)
      if (sources[consts + c] && !read[c]) {
        read[c] = 1;
        settled = false;
      }
  }
  for (std::size_t c = 0; c < carries; ++c)
    if (read[c]) (p.body->outputs()[c] == consts + c ? unchanging : kept).push_back(c);
  plain = consts + unchanging.size();

  const std::vector<Aval> body_in = input_avals(*p.body);
  std::vector<Aval> avals(body_in.begin(), body_in.begin() + static_cast<std::ptrdiff_t>(consts));
  for (std::size_t c : unchanging) avals.push_back(body_in[consts + c]);
  for (std::size_t c : kept) avals.push_back(body_in[consts + c]);
  // The body's inputs; carries that nobody reads are zeros.
  const auto body_inputs = [&](std::span<const Array> in) {
    Arrays args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(consts));
    for (std::size_t c = 0; c < carries; ++c) args.push_back(lax::full_like(body_in[consts + c], 0));
    for (std::size_t i = 0; i < unchanging.size(); ++i) args[consts + unchanging[i]] = in[consts + i];
    for (std::size_t i = 0; i < kept.size(); ++i) args[consts + kept[i]] = in[plain + i];
    return args;
  };
  step = rewire(avals, [&](std::span<const Array> in) {
    Arrays outs = interpret(*pure, body_inputs(in)), next;
    for (std::size_t c : kept) next.push_back(outs[c]);
    return next;
  });
  const std::size_t state = avals.size();
  for (std::size_t i = body_in.size(); i < whole.input_count(); ++i)
    avals.push_back(whole.aval(static_cast<ValueId>(i)));
  tangent = rewire(avals, [&](std::span<const Array> in) {
    Arrays args = body_inputs(in);
    append(args, in.subspan(state));
    return interpret(whole, args);
  });
  const std::size_t linears = linear_consts + linear_carries;
  TransposeRequest request{.linear = std::vector<bool>(tangent->input_count(), true),
                           .cotangents = std::vector<bool>(linear_carries, true),
                           .instantiate = std::vector<bool>(linears, true),
                           .sums = std::vector<bool>(linears, false)};
  std::fill_n(request.linear.begin(), state, false);
  std::fill_n(request.sums.begin(), linear_consts, true);
  late.emplace(*tangent, request.linear, state + linear_consts, linear_carries, request.cotangents);
  request.linear.insert(request.linear.begin(), late->open.size(), false);
  transposed = transpose_graph(*late->body, request).graph;
}

/// The first way through: the loop itself, and the states it keeps. The store has one row more than there are
/// checkpoints: states that nobody keeps go there, so that no branch is needed.
struct Sweep {
  Arrays carry, store;
  Array count, stride,
      next;  // stride: of unknown lengths, between kept states; next: of known ones, how many are
};

Sweep sweep_forwards(const WhileParams& p, const Keeping& keep, const Replay& replay, const Array& kept_at,
                     std::span<const Array> operands) {
  const auto cond_consts = static_cast<std::size_t>(p.cond_consts),
             consts = static_cast<std::size_t>(p.body_consts);
  const auto carry = operands.subspan(cond_consts + consts);
  const std::int64_t rows = keep.states;
  Sweep start{{carry.begin(), carry.end()}, {}, number(0), number(1), number(0)};
  for (std::size_t c : replay.kept) {
    Shape shape = carry[c].shape();
    shape.insert(0, rows + 1);
    start.store.push_back(lax::full(shape, carry[c].dtype(), 0, carry[c].weak()));
  }
  const auto condition = [&](const Sweep& s) {
    Arrays args(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(cond_consts));
    append(args, s.carry);
    return interpret(*p.cond, args)[0];
  };
  const auto step = [&](const Sweep& s) {
    Sweep next = s;
    Array row;
    if (keep.length >= 0) {
      Array here = s.count == kept_at[s.next];
      row = where(here, s.next, rows);
      next.next = s.next + where(here, 1, 0);
    } else {
      Array index = floor_divide(s.count, s.stride), here = index * s.stride == s.count;
      Array full = here && index == rows;
      next.stride = where(full, 2 * s.stride, s.stride);
      index = where(full, rows / 2, index);
      row = where(here, place_of_kept(index, where(here, next.stride, 1), rows), rows);
    }
    for (std::size_t i = 0; i < next.store.size(); ++i)
      next.store[i] = lax::dynamic_update_index(s.store[i], s.carry[replay.kept[i]], row);
    Arrays args(operands.begin() + static_cast<std::ptrdiff_t>(cond_consts),
                operands.begin() + static_cast<std::ptrdiff_t>(cond_consts + consts));
    append(args, s.carry);
    next.carry = interpret(*p.body, args);
    next.count = s.count + 1;
    return next;
  };
  return while_loop(condition, step, start, {.max_steps = p.max_steps}, current_place());
}

/// Inputs of the linear programs: (plain…, first state…, count, stride, numbers of the states kept, store… |
/// linear…). The numbers are those of a known length.
struct Inputs {
  Inputs(const Replay& replay, std::span<const Array> in) {
    std::size_t at = 0;
    const auto take = [&](std::size_t n) {
      at += n;
      return in.subspan(at - n, n);
    };
    plain = take(replay.plain);
    first = take(replay.kept.size());
    count = take(1)[0];
    stride = take(1)[0];
    kept_at = take(1)[0];
    store = take(replay.kept.size());
    rest = in.subspan(at);
  }
  std::span<const Array> plain, first, store, rest;
  Array count, stride, kept_at;
};

Arrays run_step(const Graph& graph, std::span<const Array> plain, const Arrays& state,
                const Arrays& more = {}) {
  Arrays args(plain.begin(), plain.end());
  append(args, state);
  append(args, more);
  return interpret(graph, args);
}

/// Forwards, with the tangents beside the states.
Arrays push_tangents(const Replay& replay, std::span<const Array> operands) {
  Inputs in(replay, operands);
  struct State {
    Arrays x, tangents;
    Array done;
  };
  const auto consts = in.rest.first(replay.linear_consts), carry = in.rest.subspan(replay.linear_consts);
  return while_loop([&](const State& s) { return s.done < in.count; },
                    [&](const State& s) {
                      Arrays linear(consts.begin(), consts.end());
                      append(linear, s.tangents);
                      return State{run_step(*replay.step, in.plain, s.x),
                                   run_step(*replay.tangent, in.plain, s.x, linear), s.done + 1};
                    },
                    State{{in.first.begin(), in.first.end()}, {carry.begin(), carry.end()}, number(0)})
      .tangents;
}

/// The states kept on the way back: a stack in the order of the loop. Entry i is state number at[i], in row
/// row_of(i) of the store; the rows of entries beyond the top are free.
struct Kept {
  Array top, at;
  Arrays store;
};

Array row_of(const Array& entry, const Keeping& keep, const Inputs& in) {
  return keep.length >= 0 ? entry : place_of_kept(entry, in.stride, keep.states);
}

Kept kept_at_the_end(const Keeping& keep, const Inputs& in) {
  Kept kept;
  kept.store.assign(in.store.begin(), in.store.end());
  if (keep.length >= 0) {
    kept.top = number(static_cast<std::int64_t>(first_kept(keep.length, keep.states).size()) - 1);
    kept.at = lax::slice(in.kept_at, {0}, {keep.states});
  } else {
    kept.top = floor_divide(in.count + in.stride - 1, in.stride) - 1;
    kept.at = lax::iota(Dtype::I64, {keep.states}, 0) * in.stride;
  }
  return kept;
}

/// Backwards, each step from the last state kept before it.
class PullBack {
 public:
  PullBack(const Keeping& keep, const Replay& replay, std::span<const Array> operands)
      : keep_(keep), replay_(replay), in_(replay, operands) {}

  /// The cotangents, and for each late carry what no step has written.
  Arrays run() const {
    Back start{in_.count, kept_at_the_end(keep_, in_), {}, {in_.rest.begin(), in_.rest.end()}, {}};
    for (const Aval& a : replay_.late->open) start.open.push_back(lax::full_like(a, 1));
    for (std::size_t i = 0; i < replay_.linear_consts; ++i) {
      const auto input = static_cast<ValueId>(replay_.plain + replay_.kept.size() + i);
      start.consts.push_back(lax::full_like(replay_.tangent->aval(input), 0));
    }
    const Back end =
        while_loop([](const Back& b) { return b.left > 0; }, [&](const Back& b) { return before(b); }, start);
    Arrays out = end.consts;
    append(out, end.carry);
    append(out, end.open);
    return out;
  }

 private:
  /// A state on the way to the step that is reversed next, and the states kept so far.
  struct Walk {
    Array at;
    Arrays x;
    Kept kept;
  };
  struct Back {
    Array left;  // steps
    Kept kept;
    Arrays consts, carry, open;
  };

  /// One step less.
  Back before(const Back& b) const {
    const Array last = b.left - 1;
    const Walk walk = further_states(last_state(b), last);
    const Arrays all = step_back(advance(walk.at, last, walk.x), b);
    const std::span<const Array> found(all);
    Back next{last, walk.kept, {}, {}, {}};
    append(next.consts, found.first(replay_.linear_consts));
    append(next.carry, found.subspan(replay_.linear_consts, replay_.linear_carries));
    append(next.open, found.subspan(replay_.linear_consts + replay_.linear_carries));
    // The state of the step just reversed is not needed again.
    next.kept.top = walk.kept.top - where(walk.kept.at[walk.kept.top] == last, 1, 0);
    return next;
  }

  Walk last_state(const Back& b) const {
    Walk walk{b.kept.at[b.kept.top], {}, b.kept};
    if (replay_.kept.empty()) return walk;
    const Array row = row_of(b.kept.top, keep_, in_);
    for (const Array& a : b.kept.store) walk.x.push_back(lax::dynamic_index(a, row));
    return walk;
  }

  /// Keeps further states on the way, as long as there is room.
  Walk further_states(const Walk& from, const Array& last) const {
    if (replay_.kept.empty()) return from;
    const std::int64_t highest = keep_.states - 1;
    return while_loop([&](const Walk& w) { return w.at < last && w.kept.top < highest; },
                      [&](const Walk& w) {
                        Walk next = w;
                        next.at = w.at + steps_to_next(last - w.at + 1, keep_.states - w.kept.top);
                        next.x = advance(w.at, next.at, w.x);
                        next.kept.top = w.kept.top + 1;
                        next.kept.at = w.kept.at.at(next.kept.top).set(next.at);
                        const Array row = row_of(next.kept.top, keep_, in_);
                        for (std::size_t i = 0; i < next.x.size(); ++i)
                          next.kept.store[i] = lax::dynamic_update_index(w.kept.store[i], next.x[i], row);
                        return next;
                      },
                      from);
  }

  Arrays advance(const Array& from, const Array& to, const Arrays& state) const {
    if (state.empty()) return state;
    struct Forward {
      Array at;
      Arrays x;
    };
    return while_loop([&](const Forward& f) { return f.at < to; },
                      [&](const Forward& f) {
                        return Forward{f.at + 1, run_step(*replay_.step, in_.plain, f.x)};
                      },
                      Forward{from, state})
        .x;
  }

  Arrays step_back(const Arrays& state, const Back& b) const {
    const LateWrites& late = *replay_.late;
    Arrays plain = b.open, cotangents = b.carry;
    append(plain, in_.plain);
    append(cotangents, b.consts);
    Arrays found = run_step(*replay_.transposed, plain, state, cotangents);
    for (std::size_t c = 0; c < b.carry.size(); ++c)
      if (late.late[c]) found[replay_.linear_consts + c] = b.carry[c];
    append(found, run_step(*late.next, plain, state));
    return found;
  }

  const Keeping& keep_;
  const Replay& replay_;
  const Inputs in_;
};

/// The numbers of the states that a loop of known length keeps at first; after the last one no other.
Array kept_numbers(const Keeping& keep) {
  std::vector<std::int64_t> kept = first_kept(keep.length, keep.states);
  kept.resize(static_cast<std::size_t>(keep.states) + 1, -1);
  return program_array(array(kept));
}

// There is room for all states before the first is made. So of a loop that may end at once there is none for
// more states than help: with so many, a loop of C(2^14 + 2, 2), a hundred million, steps runs each twice
// again at most.
constexpr std::int64_t most_states = std::int64_t{1} << 14;

/// `asked`, with the number of these states that are kept; at least two.
Keeping settled(Keeping asked, std::int64_t max_steps, std::span<const std::size_t> kept,
                std::span<const Array> carry) {
  std::size_t state = 0;
  for (std::size_t c : kept) state += carry[c].aval().bytes();
  std::int64_t states = asked.states > 0 ? asked.states : asked.bytes;
  if (asked.bytes > 0)
    states = std::min(states, asked.bytes / static_cast<std::int64_t>(std::max<std::size_t>(state, 1)));
  if (asked.length >= 0) {
    states = std::min(states, asked.length);
  } else {
    // Of unknown length every other one makes room at a time.
    const std::int64_t bound = max_steps >= 0 ? max_steps : std::max(most_states, asked.states);
    states = std::min(states, bound + bound % 2) / 2 * 2;
  }
  asked.states = kept.empty() ? 2 : std::max<std::int64_t>(2, states);
  return asked;
}

/// The loop, keeping some of its states, and the two ways that its tangents go over them.
Arrays keep_states(const Keeping& asked, const WhileParams& p, const Graph& tangent,
                   std::span<const Array> operands, const LoopTangents& given, Trace* trace,
                   Arrays& results) {
  const Loop n(p);
  const Replay replay(p, tangent, given);
  const auto body_in = operands.subspan(n.cond_consts), carry = body_in.subspan(n.consts);
  const Keeping keep = settled(asked, p.max_steps, replay.kept, carry);
  const Array kept_at = keep.length >= 0 ? kept_numbers(keep) : number(-1);
  const Sweep sweep = sweep_forwards(p, keep, replay, kept_at, operands);
  results = sweep.carry;

  Arrays in(body_in.begin(), body_in.begin() + static_cast<std::ptrdiff_t>(n.consts));
  for (std::size_t c : replay.unchanging) in.push_back(carry[c]);
  for (std::size_t c : replay.kept) in.push_back(carry[c]);
  append(in, std::array{sweep.count, sweep.stride, kept_at});
  append(in, sweep.store);
  std::vector<Aval> avals, back;
  for (const Array& a : in) avals.push_back(a.aval());
  back = avals;
  append(in, given.consts);
  append(in, given.carry);
  for (std::size_t i = avals.size(); i < in.size(); ++i) avals.push_back(in[i].aval());
  for (const Aval& a : output_avals(*replay.tangent)) back.push_back(a);
  LinearCallParams linear;
  linear.region = rewire(avals, [&](std::span<const Array> a) { return push_tangents(replay, a); });
  linear.transposed = rewire(back, [&](std::span<const Array> a) { return PullBack(keep, replay, a).run(); });
  linear.linear = static_cast<std::int64_t>(replay.linear_consts + replay.linear_carries);
  // Where a late carry starts from counts if no iteration has written it.
  linear.conditions = Dims::filled(replay.linear_consts, -1);
  for (const int group : replay.late->group) linear.conditions.push_back(group);
  TraceScope scope(trace);
  return bind_all(linear_call_op, make_params(linear), in);
}

BindWhile bind_keeping(const Keeping& keep) {
  return [keep](const WhileParams& loop, std::span<const Array> operands) {
    return checkpointed_while(loop, keep, operands);
  };
}

void checkpointed_jvp(const JvpRule& r) {
  const auto& p = checkpointed_of(r.params);
  jvp_while(p.loop, bind_keeping(p.keep), r);
}

void checkpointed_jet(const JetRule& r) {
  const auto& p = checkpointed_of(r.params);
  jet_while(p.loop, bind_keeping(p.keep), r);
}

void checkpointed_linearize(const LinearizeRule& r) {
  const auto& p = checkpointed_of(r.params);
  const auto tape = [&](auto&&... parts) { return keep_states(p.keep, parts...); };
  linearize_while(checkpointed_while_op, p.loop, bind_keeping(p.keep), tape, r);
}

void checkpointed_batch(const BatchRule& r) {
  const auto& p = checkpointed_of(r.params);
  batch_while(checkpointed_while_op, p.loop, bind_keeping(p.keep), r);
}

}  // namespace

const Op checkpointed_while_op = {
    .name = "checkpointed_while",
    .kind = OpKind::Custom,
    .shape = checkpointed_shape,
    .evaluate = checkpointed_evaluate,
    .jvp = checkpointed_jvp,
    .linearize = checkpointed_linearize,
    .batch = checkpointed_batch,
    .jet = checkpointed_jet,
    .parse = parse_params<CheckpointedParams>,
};

std::vector<Array> checkpointed_while(const WhileParams& loop, const Keeping& keep,
                                      std::span<const Array> operands, Loc loc) {
  const LocScope place(loc);
  CheckpointedParams p;
  std::vector<Aval> avals;
  for (const Array& a : operands) avals.push_back(a.aval());
  p.program =
      rewire(avals, [&](std::span<const Array> in) { return bind_all(while_op, make_params(loop), in); });
  p.loop = loop;
  p.keep = keep;
  return bind_all(checkpointed_while_op, make_params(p), operands, loc);
}

}  // namespace apsis::detail
