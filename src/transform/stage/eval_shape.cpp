#include "apsis/transform/eval_shape.hpp"

#include "apsis/core/op.hpp"
#include "base/place.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

std::vector<Array> eval_shape_call(const Callee& callee, std::span<const Array> leaves) {
  std::vector<Aval> avals;
  for (const Array& a : leaves) avals.push_back(a.aval());
  const Loc place = users_place({});
  Staged staged = stage(callee, avals, "eval_shape", place.known() ? place : Loc{"", "eval_shape"});
  std::vector<Array> shapes;
  for (ValueId v : staged.graph->outputs())
    shapes.push_back(Array::adopt(new AbstractNode(staged.graph->aval(v))));
  return shapes;
}

}  // namespace apsis::detail
