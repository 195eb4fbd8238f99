#include "control/tape/late_writes.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ops/lax.hpp"
#include "transform/derivatives/guard.hpp"

namespace apsis::detail {

/// Goes from the output through the selects that choose between something new and the carry.
bool LateWrites::find(const Graph& body, std::span<const std::uint32_t> reads, ValueId carry, ValueId output,
                      Literals& literals) {
  ValueId v = output;
  for (const Eqn* e = body.definition(v); e && e->op->chooses && reads[v] == 1; e = body.definition(v)) {
    const auto ids = body.operands(*e);
    if ((ids[1] == carry) == (ids[2] == carry)) break;
    const bool when = ids[2] == carry;
    const Repeated condition = without_repetition(body, ids[0]);
    literals.push_back({leads(condition.axes) ? condition.source : ids[0], when});
    v = ids[when ? 1 : 2];
  }
  return v != carry && reads[carry] == literals.size();
}

LateWrites::LateWrites(const Graph& whole, const std::vector<bool>& linear, std::size_t consts,
                       std::size_t carries, const std::vector<bool>& wanted)
    : group(carries, -1), late(carries, false) {
  const std::vector<std::uint32_t> reads = count_uses(whole);
  std::vector<Literals> groups;
  for (std::size_t c = 0; c < carries; ++c) {
    Literals literals;
    const auto carry = static_cast<ValueId>(consts + c);
    late[c] = linear[carry] && find(whole, reads, carry, whole.outputs()[c], literals);
    if (!late[c] || !wanted[c]) continue;
    const auto same = std::ranges::find(groups, literals);
    group[c] = static_cast<int>(same - groups.begin());
    if (same == groups.end()) groups.push_back(std::move(literals));
  }
  make_next(whole, linear, groups);
  std::vector<Aval> avals = input_avals(whole);
  avals.insert(avals.begin(), open.begin(), open.end());
  body = rewire(avals, [&](std::span<const Array> in) {
    const auto inputs = in.subspan(open.size());
    std::vector<Array> outs = interpret(whole, inputs);
    for (std::size_t c = 0; c < carries; ++c) {
      if (!late[c]) continue;
      const Array& before = inputs[consts + c];
      const auto g = static_cast<std::size_t>(group[c]);
      outs[c] =
          group[c] < 0 ? before : lax::select(holds_in(guard_of(in[g]), before.shape()), outs[c], before);
    }
    return outs;
  });
}

void LateWrites::make_next(const Graph& whole, const std::vector<bool>& linear,
                           std::span<const Literals> groups) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < whole.input_count(); ++v)
    if (!linear[v]) avals.push_back(whole.aval(v));
  const auto written = [&](std::span<const Array> plain) {
    std::vector<ValueId> wanted;
    for (const Literals& g : groups)
      for (const Literal& l : g) wanted.push_back(l.condition);
    std::vector<Array> values(whole.value_count()), outs;
    for (ValueId v = 0, next = 0; v < whole.input_count(); ++v)
      if (!linear[v]) values[v] = plain[next++];
    const std::vector<Array> found = interpret(extract(whole, wanted), values);
    for (std::size_t g = 0, next = 0; g < groups.size(); ++g) {
      Guard all = guard_of(lax::full({}, Dtype::Bool, 1));
      for (std::size_t k = 0; k < groups[g].size(); ++k) {
        Guard one = guard_of(found[next++]);
        one.when = groups[g][k].when;
        all = k == 0 ? one : both(all, one).value_or(guard_of(lax::full({}, Dtype::Bool, 0)));
      }
      outs.push_back(holds(all));
    }
    return outs;
  };
  const GraphRef writes = rewire(avals, written);
  open = output_avals(*writes);
  avals.insert(avals.begin(), open.begin(), open.end());
  next = rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> outs = interpret(*writes, in.subspan(open.size()));
    for (std::size_t g = 0; g < open.size(); ++g)
      outs[g] = lax::logical_and(in[g], lax::logical_not(outs[g]));
    return outs;
  });
}

}  // namespace apsis::detail
