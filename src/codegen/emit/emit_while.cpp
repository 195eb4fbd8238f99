// while as a loop of the machine: the condition at the head, one poll of the cancel flag a back edge.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "codegen/emit/list_access.hpp"
#include "codegen/emit/loop_carries.hpp"
#include "ir/loop.hpp"
#include "passes/analysis/lane_variance.hpp"

namespace apsis::detail {

namespace {

/// What an integer carry grows by in each iteration, if that is a literal; else null.
const ConstantParams* step_of(const Graph& body, ValueId input, ValueId output) {
  const Eqn* sum = body.definition(output);
  if (!sum || sum->op->arithmetic != Arithmetic::Sum || body.aval(input).rank() != 0 ||
      is_floating(body.aval(input).dtype()))
    return nullptr;
  const auto terms = body.operands(*sum);
  for (std::size_t i = 0; i < 2; ++i) {
    const Eqn* by = body.definition(terms[1 - i]);
    if (terms[i] == input && by && by->op->kind == OpKind::Constant) return &by->params.as<ConstantParams>();
  }
  return nullptr;
}

/// Whether a list is read by scans alone, entry by entry.
bool only_scanned(const Graph& graph, ValueId list) {
  if (std::ranges::find(graph.outputs(), list) != graph.outputs().end()) return false;
  return std::ranges::all_of(graph.eqns(), [&](const Eqn& e) {
    auto whole = graph.operands(e);
    if (e.op->kind == OpKind::Scan) whole = whole.first(Loop(e).first_x());
    return std::ranges::find(whole, list) == whole.end();
  });
}

/// Which carries differ from lane to lane, and whether the lists that the loop makes have room for all lanes.
struct Variance {
  std::vector<char> carries;
  bool lanes_differ = false;  // in the number of iterations
  bool wide = false;          // all lists alike
};

/// One loop while it is written.
class WhileWriter {
 public:
  WhileWriter(Region& outer, const Eqn& e, const Variance& variance)
      : outer_(outer),
        b_(outer.b()),
        e_(e),
        loop_(e),
        lanes_differ_(variance.lanes_differ),
        cond_(outer.lowering(), *loop_.cond, outer.lanes(), outer.mask()),
        body_(outer.lowering(), *loop_.body, outer.lanes(), outer.mask()),
        carries_(outer, *loop_.body, loop_.consts, variance.carries),
        lists_(made_lists()),
        // In a packet each lane has entries as long as it is in the loop; the record has room for all.
        tape_(outer.lowering(), recorded(), variance.wide ? outer.lanes() : 1) {}

  void write() {
    bind_fixed();
    if (!lists_.empty()) tape_.make();
    const auto iterate = [&] {
      check_bound();
      write_body();
      count();
    };
    loop(
        b_, make_variables(), [&] { return test(); }, iterate);
    define_results();
  }

 private:
  /// A list that the loop makes: its entries are counted, or are a field of its records.
  struct MadeList {
    Value first, step;  // of what is counted
    std::size_t output, field;
  };

  std::vector<MadeList> made_lists() {
    std::vector<MadeList> lists;
    std::size_t fields = 0;
    for (std::size_t i = loop_.carries; i < e_.result_count; ++i) {
      const ValueId made = loop_.body->outputs()[i];
      MadeList& list = lists.emplace_back(MadeList{{}, {}, i, fields});
      // What counts iterations is not written down: those who read it count too.
      const std::size_t c = made - loop_.consts;
      const bool carry = made >= loop_.consts && c < loop_.carries && outer_.lanes() == 1;
      const ConstantParams* by = carry ? step_of(*loop_.body, made, loop_.body->outputs()[c]) : nullptr;
      if (by && only_scanned(outer_.graph(), e_.first_result + static_cast<ValueId>(i))) {
        const Place& start = outer_.place(outer_.operands(e_)[loop_.first_carry() + c]);
        list.first = outer_.registers(start, loop_.body->aval(made))[0];
        b_.set_lanes(1);
        list.step = b_.constant(by->dtype, by->bits);
      } else {
        ++fields;
      }
    }
    return lists;
  }

  std::vector<Aval> recorded() const {
    std::vector<Aval> avals;
    for (const MadeList& list : lists_)
      if (!list.step.handle) avals.push_back(loop_.body->aval(loop_.body->outputs()[list.output]));
    return avals;
  }

  /// Before the loop: what does not change in it, and where the carries start.
  void bind_fixed() {
    const auto operands = outer_.operands(e_);
    std::vector<char> in_cond(loop_.cond->input_count(), 0), in_body(loop_.body->input_count(), 0);
    for (std::size_t i = 0; i < loop_.cond_consts; ++i) {
      cond_.bind_input(static_cast<ValueId>(i), outer_.place(operands[i]));
      in_cond[i] = 1;
    }
    for (std::size_t i = 0; i < loop_.consts; ++i) {
      body_.bind_input(static_cast<ValueId>(i), outer_.place(operands[loop_.cond_consts + i]));
      in_body[i] = 1;
    }
    for (std::size_t c = 0; c < loop_.carries; ++c) {
      bool last = false;
      Place initial = outer_.take(operands[loop_.first_carry() + c], last);
      carries_.start(std::move(initial), last, e_.first_result + static_cast<ValueId>(c));
      if (!carries_.unchanged(c)) continue;
      bind_carry(c);
      in_cond[loop_.in_cond(c)] = in_body[loop_.in_body(c)] = 1;
    }
    cond_.run_invariant(in_cond);
    body_.run_invariant(in_body);
  }

  void bind_carry(std::size_t c) {
    cond_.bind_input(loop_.in_cond(c), carries_.place(c));
    body_.bind_input(loop_.in_body(c), carries_.place(c));
  }

  /// What passes from each iteration to the next.
  std::vector<Variable> make_variables() {
    std::vector<Variable> carried;
    carries_.add_variables(carried);
    if (loop_.max_steps >= 0) carried.push_back(steps_ = b_.make_variable(b_.index(0)));
    if (lists_.empty()) return carried;
    if (lanes_differ_) {
      b_.set_lanes(outer_.lanes());
      carried.push_back(entries_ = b_.make_variable(b_.constant(Dtype::I64, 0)));
    }
    tape_.add_variables(carried);
    return carried;
  }

  /// Whether some lane goes on; the body is written for those that do.
  Value test() {
    carries_.open();
    for (std::size_t c = 0; c < loop_.carries; ++c)
      if (!carries_.unchanged(c)) bind_carry(c);
    cond_.run();
    Value go_on = outer_.registers(cond_.output(0), loop_.cond->aval(loop_.cond->outputs()[0]))[0];
    if (b_.lanes_of(go_on) > 1) {
      b_.set_lanes(outer_.lanes());
      mask_ = outer_.mask().handle ? b_.bit_and(outer_.mask(), go_on) : go_on;
      go_on = b_.any(mask_);
      body_.set_mask(mask_);
    }
    b_.set_lanes(1);
    return go_on;
  }

  void check_bound() {
    if (loop_.max_steps < 0) return;
    const auto fail = [&] {
      const Operand arguments[] = {outer_.lowering().context(), b_.index(loop_.max_steps),
                                   b_.index(loop_.site)};
      outer_.lowering().check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
    };
    if_(b_, b_.compare(Compare::Ge, b_.get(steps_), b_.index(loop_.max_steps)), fail, Likely::False);
  }

  void write_body() {
    if (!lists_.empty()) {
      tape_.next();
      for (const MadeList& list : lists_)
        if (!list.step.handle) body_.hint_output(list.output, tape_.field(list.field, body_.mask()));
    }
    carries_.hint(body_);
    body_.run();
    for (const MadeList& list : lists_)
      if (!list.step.handle) body_.write_output(list.output, tape_.field(list.field, body_.mask()));
    carries_.close(body_, mask_);
  }

  /// The end of an iteration.
  void count() {
    outer_.lowering().poll();
    b_.set_lanes(1);
    if (steps_.made()) b_.set(steps_, b_.add(b_.get(steps_), b_.index(1)));
    if (!entries_.made()) return;
    b_.set_lanes(outer_.lanes());
    const Value inside = mask_.handle ? mask_ : b_.constant(Dtype::Bool, 1);
    b_.set(entries_, b_.add(b_.get(entries_), b_.convert(inside, Dtype::I64)));
  }

  void define_results() {
    if (!lists_.empty()) tape_.close();
    for (std::size_t c = 0; c < loop_.carries; ++c)
      outer_.define(e_.first_result + static_cast<ValueId>(c), carries_.last(c));
    for (const MadeList& list : lists_) {
      Place place = list.step.handle ? tape_.counted()
                                     : tape_.list(list.field, entries_.made() ? b_.get(entries_) : Value{});
      place.first = list.first;
      place.step = list.step;
      outer_.define(e_.first_result + static_cast<ValueId>(list.output), std::move(place));
    }
  }

  Region& outer_;
  Builder& b_;
  const Eqn& e_;
  const Loop loop_;
  const bool lanes_differ_;
  Region cond_, body_;
  LoopCarries carries_;
  std::vector<MadeList> lists_;
  ListWriter tape_;
  Variable steps_;    // iterations so far, where they are bounded
  Variable entries_;  // of each lane, where lanes differ in their number
  Value mask_;        // the lanes that go on; no handle: all
};

}  // namespace

void emit_while(Region& region, const Eqn& e) {
  const Loop loop(e);
  Variance variance{std::vector<char>(loop.carries, 0)};
  if (region.lanes() > 1) {
    variance.carries = varying_carries(e, region.varying(e), variance.lanes_differ);
    const std::vector<char> results = varying_results(region.graph(), e, region.varying(e));
    variance.wide = results.size() > loop.carries && results[loop.carries];
  }
  WhileWriter(region, e, variance).write();
}

}  // namespace apsis::detail
