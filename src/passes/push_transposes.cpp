#include "passes/push_transposes.hpp"

#include <algorithm>
#include <map>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements
constexpr std::int64_t most_work = 16;      // instructions for an element

class Pushing {
 public:
  explicit Pushing(const Graph& graph) : graph_(graph), read_as_it_is_(graph.value_count(), 0) {
    for (const Eqn& e : graph.eqns())
      if (e.result_count != 1 || !is_by_element(e.first_result))
        for (ValueId v : graph.operands(e)) read_as_it_is_[v] = 1;
  }

  bool moves(const Eqn& e) const;
  GraphRef run();

 private:
  const Dims& permutation(const Eqn& e) const { return e.params.as<TransposeParams>().permutation; }
  bool is_by_element(ValueId v) const;
  /// Whether a transpose of it is another array of numbers, not a walk across rows of memory.
  bool is_made_in_place(const Eqn& made) const {
    return made.op == &iota_op || made.op->view_kind == ViewKind::Repeated;
  }
  /// Whether it is turned already, so that turning it again gives what it was.
  bool is_turned_back(const Eqn& made, const Dims& by) const {
    return made.op->view_kind == ViewKind::Permuted && inverse(permutation(made)) == by;
  }
  static Dims inverse(const Dims& of) {
    Dims back = of;
    for (std::size_t d = 0; d < of.size(); ++d)
      back[static_cast<std::size_t>(of[d])] = static_cast<std::int64_t>(d);
    return back;
  }
  ValueId turned(ValueId v, const Dims& by, Loc loc);

  const Graph& graph_;
  std::vector<char> read_as_it_is_;  // by value: by what is no elementwise code, such as products
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
  std::map<std::pair<ValueId, std::vector<std::int64_t>>, ValueId> turned_;
};

bool Pushing::is_by_element(ValueId v) const {
  const Eqn* made = graph_.definition(v);
  if (!made || made->op->kind != OpKind::Elementwise || made->result_count != 1 || made->operand_count == 0 ||
      !fusible(graph_, *made) || has_effect(*made->op, made->params))
    return false;
  const Shape& shape = graph_.aval(v).shape();
  return std::ranges::all_of(graph_.operands(*made),
                             [&](ValueId u) { return graph_.aval(u).shape() == shape; });
}

bool Pushing::moves(const Eqn& e) const {
  if (e.op->view_kind != ViewKind::Permuted || read_as_it_is_[e.first_result]) return false;
  const ValueId v = graph_.operands(e)[0];
  if (graph_.aval(v).size() < smallest || !is_by_element(v)) return false;
  std::vector<ValueId> met = {v}, across;
  std::int64_t work = 0;
  for (std::size_t next = 0; next < met.size(); ++next) {
    const Eqn* made = graph_.definition(met[next]);
    if (is_by_element(met[next])) {
      work += emission_cost(graph_, *made);
      if (work > most_work) return false;
      for (ValueId u : graph_.operands(*made))
        if (std::ranges::find(met, u) == met.end()) met.push_back(u);
    } else if (!made || (!is_made_in_place(*made) && !is_turned_back(*made, permutation(e)))) {
      across.push_back(met[next]);
    }
  }
  return across.size() <= 1;
}

ValueId Pushing::turned(ValueId v, const Dims& by, Loc loc) {
  const auto key = std::pair(v, std::vector<std::int64_t>(by.begin(), by.end()));
  if (const auto known = turned_.find(key); known != turned_.end()) return known->second;
  const Eqn* made = graph_.definition(v);
  const auto shape = [&] {
    Shape to = graph_.aval(v).shape();
    for (std::size_t d = 0; d < to.size(); ++d)
      to[d] = graph_.aval(v).shape()[static_cast<std::size_t>(by[d])];
    return to;
  };
  ValueId result = 0;
  if (is_by_element(v)) {
    std::vector<ValueId> operands;
    for (ValueId u : graph_.operands(*made)) operands.push_back(turned(u, by, loc));
    const ScopeOf scope(made->scope);
    result = append1(builder_, *made->op, made->params, operands, made->loc);
  } else if (made && is_turned_back(*made, by)) {
    result = copy_[graph_.operands(*made)[0]];
  } else if (made && made->op == &iota_op) {
    IotaParams p = made->params.as<IotaParams>();
    p.axis = inverse(by)[static_cast<std::size_t>(p.axis)];
    p.shape = shape();
    result = append1(builder_, iota_op, make_params(p), {}, made->loc);
  } else if (made && made->op->view_kind == ViewKind::Repeated) {
    BroadcastParams p = made->params.as<BroadcastParams>();
    const Dims back = inverse(by);
    for (std::int64_t& axis : p.axes) axis = back[static_cast<std::size_t>(axis)];
    p.shape = shape();
    result = append1(builder_, broadcast_in_dim_op, make_params(p), {{copy_[graph_.operands(*made)[0]]}},
                     made->loc);
  } else {
    const ValueId whole = copy_[v];
    result = append1(builder_, transpose_op, make_params(TransposeParams{by}), {&whole, 1}, loc);
  }
  return turned_[key] = result;
}

GraphRef Pushing::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    if (moves(e))
      copy_[e.first_result] = turned(graph_.operands(e)[0], permutation(e), e.loc);
    else
      copy_.add(e);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef push_transposes(const Graph& graph) {
  GraphRef made(&graph);
  const auto turns = [](const Eqn& e) { return e.op->view_kind == ViewKind::Permuted; };
  if (std::ranges::any_of(graph.eqns(), turns)) {
    Pushing pushing(graph);
    if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return pushing.moves(e); }))
      made = pushing.run();
  }
  return with_regions(*made, push_transposes);
}

}  // namespace apsis::detail
