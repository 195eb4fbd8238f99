#include "transform/stage/stage.hpp"

#include "ops/view_params.hpp"

namespace apsis::detail {

Array StageTrace::input(const Aval& aval, Loc loc) {
  APSIS_ASSERT(captures_.empty());  // fixed inputs come first
  fixed_inputs_.push_back(builder_.input(aval));
  return Array::adopt(new StageNode(*this, aval, fixed_inputs_.back(), loc));
}

std::vector<Array> StageTrace::inputs() {
  std::vector<Array> inputs;
  for (ValueId v : fixed_inputs_)
    inputs.push_back(Array::adopt(new StageNode(*this, builder_.aval(v), v, Loc{})));
  return inputs;
}

void StageTrace::substitute(const Array& outer, const Array& input) {
  capture_ids_.insert_or_assign(outer.node(), own_tracer<StageNode>(input, *this)->id);
}

void StageTrace::repeat(const Array& wide, const Array& narrow, const Params& broadcast) {
  repeated_.insert_or_assign(wide.node(), Repeated{wide, narrow, broadcast});
}

ValueId StageTrace::value_of(const Array& a, const char* op_name, Loc loc) {
  if (auto* own = own_tracer<StageNode>(a, *this)) return own->id;
  if (auto repeated = repeated_.find(a.node()); repeated != repeated_.end()) {
    const Repeated source = repeated->second;
    const ValueId narrow = value_of(source.narrow, op_name, loc);
    ValueId wide;
    builder_.add(broadcast_in_dim_op, source.broadcast, {&narrow, 1}, {&wide, 1}, loc);
    return wide;
  }
  if (is_tracer(a)) {
    if (auto known = capture_ids_.find(a.node()); known != capture_ids_.end()) return known->second;
    auto tag = static_cast<TracerNode*>(a.node())->tag;
    const Trace* t = parent();
    while (t && t->tag() != tag) t = t->parent();
    if (!t) fail_leaked(a, op_name, loc);
  } else if (a.node()->literal && a.ndim() == 0) {
    return builder_.constant(a);
  }
  auto [it, fresh] = capture_ids_.try_emplace(a.node(), 0);
  if (fresh) {
    it->second = builder_.input(a.aval());
    captures_.emplace(it->second, a);
  }
  return it->second;
}

void StageTrace::process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                         Loc loc) {
  if (is_of_complex(op, in)) {
    const LocScope place(loc);
    op.of_complex(params, in, out);
    if (out.empty() || !out[0].is_empty()) return;  // else it takes complex operands as they are
  }
  ValueId small_in[8], small_out[8];
  std::vector<ValueId> large;
  std::span<ValueId> operands(small_in, in.size()), results(small_out, out.size());
  if (in.size() > 8 || out.size() > 8) {
    large.resize(in.size() + out.size());
    operands = {large.data(), in.size()};
    results = {large.data() + in.size(), out.size()};
  }
  for (std::size_t i = 0; i < in.size(); ++i) operands[i] = value_of(in[i], op.name, loc);
  builder_.add(op, params, operands, results, loc);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = Array::adopt(new StageNode(*this, builder_.aval(results[i]), results[i], loc));
}

GraphRef StageTrace::finish(std::span<const Array> outputs, std::vector<Array>& captures) {
  std::vector<ValueId> values, order;
  for (const Array& a : outputs) values.push_back(value_of(a, "return", {}));
  GraphRef graph = builder_.finish(values, fixed_inputs_.size(), order);
  captures.clear();
  for (ValueId v : order) captures.push_back(captures_.at(v));
  return graph;
}

std::vector<Aval> avals_of(std::span<const Array> arrays) {
  std::vector<Aval> avals;
  for (const Array& a : arrays) avals.push_back(a.aval());
  return avals;
}

Staged stage(const Callee& callee, std::span<const Aval> arguments, const char* name, Loc loc) {
  StageTrace trace(current_trace(), name, loc);
  std::vector<Array> inputs;
  for (const Aval& aval : arguments) inputs.push_back(trace.input(aval));
  Staged staged;
  TraceScope scope(&trace);
  staged.graph = trace.finish(callee(inputs), staged.captures);
  return staged;
}

}  // namespace apsis::detail
