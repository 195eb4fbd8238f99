// closure_convert: programs as static values of trees.

#include "apsis/transform/closure.hpp"

#include <algorithm>

#include "apsis/tree/equal.hpp"
#include "ir/regions.hpp"
#include "ir/text.hpp"
#include "ops/lax.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {
extern const Op call_op;
namespace {

struct ClosureData {
  GraphRef graph;  // (leaves of the arguments that are there…, captures…) → leaves of the result
  Structure arguments, result;
};
const ClosureData& data_at(const void* value) { return *static_cast<const ClosureData*>(value); }
const ClosureData& closure_data(const StaticObject& program) { return data_at(program.value()); }

const StaticObjectType closure_type{"program",
                                    [](const void* a, const void* b) {
                                      const ClosureData &x = data_at(a), &y = data_at(b);
                                      return x.graph == y.graph && x.arguments.def == y.arguments.def &&
                                             x.arguments.present == y.arguments.present &&
                                             x.result.def == y.result.def &&
                                             x.result.present == y.result.present;
                                    },
                                    [](const void* value) { return signature_text(*data_at(value).graph); },
                                    [](void* value) { delete static_cast<ClosureData*>(value); }};

StaticObject intern(GraphRef graph, Structure arguments, Structure result) {
  std::uint64_t hash = graph->hash();
  return StaticObject::intern(closure_type, hash,
                              new ClosureData{std::move(graph), std::move(arguments), std::move(result)});
}

/// The input of the graph that each leaf of the arguments is; leaves that are not there have none.
void check_leaves(const ClosureData& s, const ClosureCall& call) {
  ValueId next = 0;
  for (std::size_t place = 0; place < call.leaves.size(); ++place) {
    const Array& a = call.leaves[place];
    bool wanted = s.arguments.present[place];
    std::string want = wanted ? to_string(s.graph->aval(next)) : "empty";
    bool same =
        wanted == !a.is_empty() &&
        (!wanted || (a.dtype() == s.graph->aval(next).dtype() && a.shape() == s.graph->aval(next).shape()));
    if (!same)
      fail(messages::closure_argument,
           {call.names(place), want, a.is_empty() ? "empty" : to_string(a.aval())});
    next += wanted;
  }
}

/// A weakly typed value in the place of a strong one, or the other way round.
Array fitted(const Array& a, const Aval& want) {
  return a.weak() == want.weak() ? a : lax::convert(a, want.dtype(), want.weak());
}

}  // namespace

const Structure& closure_result(const StaticObject& program) { return closure_data(program).result; }
std::string closure_text(const StaticObject& program) {
  return program.is_empty() ? "" : to_string(*closure_data(program).graph);
}

ConvertedClosure convert_closure(const Callee& callee, std::span<const Array> leaves, std::size_t own,
                                 Structure arguments, Structure (*result)(const void*), const void* context) {
  // The callable's own leaves come last, in front of what it captured.
  std::vector<Aval> avals = avals_of(leaves);
  std::rotate(avals.begin(), avals.begin() + static_cast<std::ptrdiff_t>(own), avals.end());
  auto body = [&](std::span<const Array> in) {
    std::size_t given = leaves.size() - own;
    std::vector<Array> args(in.begin() + static_cast<std::ptrdiff_t>(given), in.end());
    args.insert(args.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(given));
    return callee(args);
  };
  Staged staged = stage_with(body, avals, "closure_convert", {"", "closure_convert"});
  ConvertedClosure converted;
  converted.captures.assign(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(own));
  converted.captures.insert(converted.captures.end(), staged.captures.begin(), staged.captures.end());
  converted.program = intern(std::move(staged.graph), std::move(arguments), result(context));
  return converted;
}

StaticObject parse_closure(std::string_view text, std::span<const Array> captures, Structure arguments,
                           Structure result) {
  GraphRef graph = parse_graph(text);
  std::size_t inputs = arguments.present.size() + captures.size(), outputs = result.present.size();
  if (graph->input_count() != inputs || graph->outputs().size() != outputs)
    fail(messages::closure_text,
         {std::to_string(graph->input_count()), std::to_string(graph->outputs().size()),
          std::to_string(inputs), std::to_string(outputs)});
  return intern(std::move(graph), std::move(arguments), std::move(result));
}

std::vector<Array> call_closure(const StaticObject& program, std::span<const Array> captures,
                                const ClosureCall& call) {
  const LocScope place(call.loc);
  if (program.is_empty()) fail(messages::closure_empty, {});
  const ClosureData& s = closure_data(program);
  ConstTreeRef made_for = s.arguments.def.prototype();
  if (!structures_equal(made_for, call.arguments))
    fail(messages::closure_structure, {structure_difference(made_for, call.arguments, "arguments")});
  check_leaves(s, call);
  std::vector<Array> operands;
  for (const Array& a : call.leaves)
    if (!a.is_empty()) operands.push_back(a);
  std::size_t given = operands.size();
  operands.insert(operands.end(), captures.begin(), captures.end());
  if (operands.size() != s.graph->input_count())
    fail(messages::closure_capture_count,
         {std::to_string(captures.size()), std::to_string(s.graph->input_count() - given)});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Aval& want = s.graph->aval(static_cast<ValueId>(i));
    if (operands[i].dtype() != want.dtype() || operands[i].shape() != want.shape())
      fail(messages::closure_argument,
           {"captures[" + std::to_string(i - given) + "]", to_string(want), to_string(operands[i].aval())});
    operands[i] = fitted(operands[i], want);
  }
  return bind_all(call_op, make_params(CallParams{s.graph, "closure"}), operands);
}

}  // namespace apsis::detail
