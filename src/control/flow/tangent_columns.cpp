#include "control/flow/tangent_columns.hpp"

#include <algorithm>

#include "ops/lax.hpp"
#include "passes/loop_dce.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis::detail {
namespace {

/// A column costs about what the tangents of an iteration do, a tape about what three of them cost: it is
/// written, read, and its products are taken backwards (docs/design/loops.md has figures).
constexpr std::int64_t most_columns = 3;

/// Whether a linear program has a meaning for its transpose alone, or one that goes beyond one lane: neither
/// can be applied to a column.
bool needs_all_tangents(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
    bool any = e.op->kind == OpKind::Collective || e.op->kind == OpKind::Effect;
    each_region(e.params, [&](const Graph& region) { any = any || needs_all_tangents(region); });
    return any;
  });
}

/// One at an element, in row-major order, zero elsewhere.
Array one_at(std::int64_t element, const Aval& aval) {
  const Shape flat{aval.size()};
  const Array here =
      lax::eq(lax::iota(Dtype::I64, flat, 0), lax::full(flat, Dtype::I64, static_cast<double>(element)));
  return lax::reshape(lax::convert(here, aval.dtype(), aval.weak()), aval.shape());
}

void note_columns(std::size_t columns) {
  note_choice(this_loop() + " carries its derivatives by " + std::to_string(columns) +
              (columns == 1 ? " number" : " numbers") +
              " along: reverse mode needs no tape of it (forward sensitivities)");
}

}  // namespace

TangentColumns::TangentColumns(const SplitLoop& loop, const LinearizeRule& r)
    : loop_(loop), trace_(static_cast<StageTrace&>(*r.tangent_trace)) {
  if (is_mixed(r) || needs_all_tangents(*loop.linear)) return;
  // What a loop records for another derivative has no columns, only what it carries.
  if (count(slice_mask(loop.out_mask, loop.carries, loop.out_mask.size() - loop.carries)) > 0) return;
  sources_ = trace_.inputs();
  std::vector<Array> moving = loop.tangents.consts;
  append(moving, loop.tangents.carry);
  program_ = trace_.finish(moving, captures_);
  if (needs_all_tangents(*program_)) return;
  const std::vector<char> read = inputs_read(*program_, std::vector<char>(moving.size(), 1));
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!read[i]) continue;
    const Aval& aval = sources_[i].aval();
    // A complex number is two: a loop need not treat it as one.
    if (aval.is_list() || is_complex(aval.dtype())) return;
    if (std::ssize(numbers) + aval.size() > most_columns) return;
    for (std::int64_t k = 0; k < aval.size(); ++k) numbers.push_back({i, k});
  }
  numbers_ = std::move(numbers);
  if (size() > 0) note_columns(size());
}

GraphRef TangentColumns::body() const {
  const std::size_t inputs = loop_.in_mask.size(), consts = loop_.tangents.consts.size(),
                    carries = loop_.tangents.carry.size(), columns = size();
  std::vector<Aval> avals = input_avals(*loop_.known);
  const auto add = [&](std::span<const Array> group) {
    for (std::size_t k = 0; k < columns; ++k)
      for (const Array& a : group) avals.push_back(a.aval());
  };
  add(loop_.tangents.consts);
  add(loop_.tangents.carry);
  std::vector<bool> moved;
  const std::vector<bool> instantiate(loop_.out_mask);
  const GraphRef pushed = without_effects(*jvp_graph(*loop_.known, loop_.in_mask, instantiate, moved));
  const std::size_t results = loop_.known->outputs().size();
  return rewire(avals, [&](std::span<const Array> in) {
    const auto primals = in.first(inputs), of_consts = in.subspan(inputs, columns * consts),
               of_carry = in.subspan(inputs + columns * consts);
    std::vector<Array> outs = interpret(*loop_.known, primals);
    for (std::size_t k = 0; k < columns; ++k) {
      std::vector<Array> args(primals.begin(), primals.end());
      append(args, of_consts.subspan(k * consts, consts));
      append(args, of_carry.subspan(k * carries, carries));
      const std::vector<Array> column = interpret(*pushed, args);
      append(outs, std::span(column).subspan(results));
    }
    return outs;
  });
}

std::vector<Array> TangentColumns::starts() const {
  const std::size_t consts = loop_.tangents.consts.size();
  std::vector<Array> of_consts, of_carries;
  for (const Number& number : numbers_) {
    std::vector<Array> in;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      in.push_back(i == number.source ? one_at(number.element, sources_[i].aval())
                                      : lax::full_like(sources_[i].aval(), 0));
    append(in, captures_);
    const std::vector<Array> column = interpret(*program_, in);
    append(of_consts, std::span(column).first(consts));
    append(of_carries, std::span(column).subspan(consts));
  }
  append(of_consts, of_carries);
  return of_consts;
}

std::vector<Array> TangentColumns::tangents(std::span<const Array> columns) const {
  const std::size_t carries = loop_.tangents.carry.size();
  TraceScope scope(&trace_);
  std::vector<Array> factors, found;
  for (const auto& [source, element] : numbers_) {
    const Array flat = lax::reshape(sources_[source], {sources_[source].size()});
    factors.push_back(lax::reshape(lax::slice(flat, {element}, {element + 1}), {}));
  }
  for (std::size_t i = 0; i < carries; ++i) {
    Array sum;
    for (std::size_t k = 0; k < size(); ++k) {
      const Array& slope = columns[k * carries + i];
      const Array factor = lax::broadcast_in_dim(lax::convert(factors[k], slope.dtype()), slope.shape(), {});
      // What no iteration has written has no derivative, be its cotangent infinite.
      const Array zero = lax::full_like(slope.aval(), 0);
      const Array term = lax::select(lax::eq(slope, zero), zero, lax::mul(factor, slope));
      sum = sum.is_empty() ? term : lax::add(sum, term);
    }
    found.push_back(sum);
  }
  return found;
}

}  // namespace apsis::detail
