// Derivatives term by term: the equations of the tangent program run on the coefficients of its terms, those
// that move elements on the places that these are multiples of, too.

#include "apsis/transform/linear_terms.hpp"

#include <algorithm>

#include "ops/lax.hpp"
#include "transform/derivatives/linearize.hpp"

namespace apsis::detail {
namespace {

/// Derivatives of more terms are no longer cheaper than those along seeds.
constexpr std::size_t most_terms = 32;

using Columns = std::vector<std::int64_t>;

/// How far two terms are of the same elements.
enum class Meeting : std::uint8_t { Nowhere, Wherever, Partly };
Meeting meeting_of(const LinearTerm& a, const LinearTerm& b) {
  if (a.columns == b.columns) return Meeting::Wherever;
  bool same = false, other = false;
  for (std::size_t i = 0; i < a.columns->size(); ++i) {
    const std::int64_t x = (*a.columns)[i], y = (*b.columns)[i];
    if (x < 0 || y < 0) continue;
    (x == y ? same : other) = true;
  }
  return !same ? Meeting::Nowhere : other ? Meeting::Partly : Meeting::Wherever;
}

/// What is known of a value of the tangent program: its terms, or the value itself.
struct Known {
  std::vector<LinearTerm> terms;
  Array value;
};

const Shape& shape_of(const Known& k) {
  return (k.value.is_empty() ? k.terms[0].coefficient : k.value).shape();
}
/// `one` everywhere, of one element.
Array repeated(const Array& one, const Shape& shape) {
  if (shape.empty()) return lax::reshape(one, shape);
  return lax::broadcast_in_dim(one, shape, {static_cast<std::int64_t>(shape.size()) - 1});
}
/// The columns of a term, from 1 on, in an array of this shape.
Array numbered(const Shape& shape, const LinearTerm* term) {
  TraceScope now(nullptr);
  Columns columns(static_cast<std::size_t>(shape.product()));
  for (std::size_t i = 0; term && i < columns.size(); ++i) columns[i] = (*term->columns)[i] + 1;
  return array(columns, shape);
}

class Walk {
 public:
  explicit Walk(Dtype dtype) {
    TraceScope now(nullptr);
    zero_ = lax::full({1}, dtype, 0);
    one_ = lax::full({1}, dtype, 1);
  }
  /// The terms of the output; none if an equation is of no kind that is known here.
  std::vector<LinearTerm> run(const Linear& linear, const Aval& x);

 private:
  using Operands = std::span<const Known* const>;
  bool each_element(const Eqn& e, Operands in, Known& out);
  bool moved(const Eqn& e, Operands in, Known& out);
  std::vector<Array> coefficients(Operands in, std::span<const LinearTerm* const> terms);

  // Not literals: equations must not be simplified by what the coefficients are.
  Array zero_, one_;
};

std::vector<LinearTerm> Walk::run(const Linear& linear, const Aval& x) {
  const Graph& graph = *linear.graph;
  if (!linear.out_mask[0]) return {};
  std::vector<Known> values(graph.value_count());
  auto own = std::make_shared<Columns>(static_cast<std::size_t>(x.size()));
  for (std::size_t i = 0; i < own->size(); ++i) (*own)[i] = static_cast<std::int64_t>(i);
  values[0].terms = {{repeated(one_, x.shape()), std::move(own)}};
  for (std::size_t i = 0; i < linear.residuals.size(); ++i) values[1 + i].value = linear.residuals[i];
  std::vector<const Known*> in;
  std::vector<Array> plain;
  for (const Eqn& e : graph.eqns()) {
    Known* const out = &values[e.first_result];
    if (e.op->kind == OpKind::Constant) {
      out->value = constant_value(e.params);
      continue;
    }
    in.clear();
    plain.clear();
    for (ValueId v : graph.operands(e)) in.push_back(&values[v]);
    const bool depends = std::ranges::any_of(in, [](const Known* k) { return !k->terms.empty(); });
    if (!depends) {
      for (const Known* k : in) plain.push_back(k->value);
      const std::vector<Array> results = bind_all(*e.op, e.params, plain);
      for (std::size_t r = 0; r < results.size(); ++r) out[r].value = results[r];
      continue;
    }
    if (e.result_count != 1) return {};
    const bool known = e.op->kind == OpKind::Elementwise ? each_element(e, in, *out) : moved(e, in, *out);
    if (!known || out->terms.size() > most_terms) return {};
  }
  return std::move(values[graph.outputs()[0]].terms);
}

/// Operands of an equation: of those that have terms one term each, or zeros.
std::vector<Array> Walk::coefficients(Operands in, std::span<const LinearTerm* const> terms) {
  std::vector<Array> found;
  for (std::size_t k = 0; k < in.size(); ++k)
    found.push_back(!in[k]->value.is_empty() ? in[k]->value
                    : terms[k]               ? terms[k]->coefficient
                                             : repeated(zero_, shape_of(*in[k])));
  return found;
}

/// Terms of the same elements go through the equation together.
bool Walk::each_element(const Eqn& e, Operands in, Known& out) {
  std::vector<std::vector<const LinearTerm*>> groups;
  for (std::size_t k = 0; k < in.size(); ++k)
    for (const LinearTerm& term : in[k]->terms) {
      std::vector<const LinearTerm*>* found = nullptr;
      for (std::vector<const LinearTerm*>& group : groups)
        for (std::size_t other = 0; other < k; ++other) {
          if (!group[other]) continue;
          const Meeting meeting = meeting_of(term, *group[other]);
          if (meeting == Meeting::Partly || (meeting == Meeting::Wherever && found && found != &group))
            return false;
          if (meeting == Meeting::Wherever) found = &group;
        }
      if (!found) found = &groups.emplace_back(in.size(), nullptr);
      (*found)[k] = &term;
    }
  for (const std::vector<const LinearTerm*>& group : groups) {
    std::shared_ptr<const Columns> columns;
    for (const LinearTerm* term : group) {
      if (!term || term->columns == columns) continue;
      if (!columns) {
        columns = term->columns;
        continue;
      }
      auto both = std::make_shared<Columns>(*columns);
      for (std::size_t i = 0; i < both->size(); ++i) (*both)[i] = std::max((*both)[i], (*term->columns)[i]);
      columns = std::move(both);
    }
    const std::vector<Array> operands = coefficients(in, group);
    out.terms.push_back({bind_all(*e.op, e.params, operands)[0], std::move(columns)});
  }
  return true;
}

/// Equations that move elements: the first terms of all operands together, the second ones, and so on.
bool Walk::moved(const Eqn& e, Operands in, Known& out) {
  const bool places = e.op->places && e.op->updates < 0;
  if (!e.op->moves && !places) return false;
  const std::size_t elements = places             ? 1
                               : e.op->starts < 0 ? in.size()
                                                  : static_cast<std::size_t>(e.op->starts);
  std::size_t count = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (k >= elements && (in[k]->value.is_empty() || !is_concrete(in[k]->value))) return false;
    count = std::max(count, in[k]->terms.size());
  }
  for (std::size_t t = 0; t < count; ++t) {
    std::vector<const LinearTerm*> terms;
    std::vector<Array> numbers;  // of the elements, from 1 on; 0 is none
    for (std::size_t k = 0; k < in.size(); ++k) {
      terms.push_back(t < in[k]->terms.size() ? &in[k]->terms[t] : nullptr);
      if (k >= elements)
        numbers.push_back(concrete_value(in[k]->value));
      else
        numbers.push_back(numbered(shape_of(*in[k]), terms[k]));
    }
    Array from;
    {
      TraceScope now(nullptr);
      from = bind_all(*e.op, e.params, numbers)[0];
    }
    const auto* first = static_cast<const std::int64_t*>(data_of(from));
    auto columns = std::make_shared<Columns>(first, first + from.size());
    for (std::int64_t& column : *columns) column = std::max<std::int64_t>(column, 0) - 1;
    const std::vector<Array> operands = coefficients(in, terms);
    out.terms.push_back({bind_all(*e.op, e.params, operands)[0], std::move(columns)});
  }
  return true;
}

}  // namespace

std::vector<LinearTerm> linear_terms_call(const Callee& f, const Array& x, Loc loc) {
  const LocScope place(loc);
  const Linearized found = linearize(f, std::span(&x, 1), {true}, loc);
  if (found.outs.size() != 1 || found.outs[0].ndim() != 1 || found.outs[0].dtype() != x.dtype()) return {};
  return Walk(x.dtype()).run(found.linear, x.aval());
}

}  // namespace apsis::detail
