#include "control/tape/recording.hpp"

#include <algorithm>

#include "control/tape/reads_apart.hpp"
#include "control/tape/smallest_cut.hpp"
#include "ir/copy.hpp"

namespace apsis::detail {
namespace {

// Below this the carries are recorded as they are: a record of some registers is written in no time, and what
// is computed from them need not be kept on the way.
constexpr std::int64_t small_record = 256;

}  // namespace

Recording::Recording(const Graph& old_body, const Graph& tangent, std::size_t consts, std::size_t carries,
                     bool at_least_one)
    : tangent_(&tangent) {
  std::vector<char> used(tangent.value_count(), 0);
  for (const Eqn& e : tangent.eqns())
    for (ValueId v : tangent.operands(e)) used[v] = 1;
  for (ValueId v : tangent.outputs()) used[v] = 1;
  std::vector<char> carry(old_body.input_count(), 0);
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < carries; ++c) {
    const auto input = static_cast<ValueId>(consts + c);
    if (!used[input]) continue;
    if (old_body.outputs()[c] == input) {
      unchanging.push_back(c);
      continue;
    }
    recorded_.push_back(input);
    carry[input] = 1;
    bytes += static_cast<std::int64_t>(old_body.aval(input).bytes());
  }
  if (bytes > small_record) keep_smallest(carry);
  if (recorded_.empty() && at_least_one) {
    std::size_t smallest = 0;
    const auto bytes_of = [&](std::size_t c) {
      return old_body.aval(static_cast<ValueId>(consts + c)).bytes();
    };
    for (std::size_t c = 1; c < carries; ++c)
      if (bytes_of(c) < bytes_of(smallest)) smallest = c;
    recorded_.push_back(static_cast<ValueId>(consts + smallest));
  }
  const auto wire = [&](std::span<const Array> in) {
    std::vector<Array> outs = interpret(old_body, in);
    append(outs, interpret(extract(*tangent_, recorded_), in));
    return outs;
  };
  body = rewire(input_avals(old_body), wire);
}

/// `carry` marks the inputs that change from one iteration to the next.
void Recording::keep_smallest(std::vector<char> carry) {
  const std::size_t inputs = carry.size();
  carry.resize(tangent_->input_count(), 0);
  std::vector<char> tangents(tangent_->input_count(), 0);
  std::fill(tangents.begin() + static_cast<std::ptrdiff_t>(inputs), tangents.end(), 1);
  const auto cut_of = [&](const Graph& graph) {
    return smallest_cut(graph, made_of(graph, tangents), carry, bytes_of_values(graph),
                        work_of_values(graph));
  };
  Cut cut = cut_of(*tangent_);
  // Branches and inner loops hide what they read of a large array.
  if (cut.bytes > small_record && reads_in_regions(*tangent_, tangents)) {
    const GraphRef apart = with_reads_apart(*tangent_, tangents);
    Cut less = cut_of(*apart);
    if (less.bytes < cut.bytes) {
      tangent_ = apart;
      cut = std::move(less);
    }
  }
  recorded_ = std::move(cut.values);
}

GraphRef Recording::tangent_body(const Graph& old_body, std::size_t tangent_xs, std::size_t consts,
                                 std::size_t carries) const {
  const std::size_t first_x = consts + carries, inputs = old_body.input_count(),
                    all = tangent_->input_count();
  // In the order of the new inputs: which value of the tangent graph each is.
  std::vector<ValueId> order;
  const auto take = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) order.push_back(static_cast<ValueId>(i));
  };
  take(0, consts);
  for (std::size_t c : unchanging) order.push_back(static_cast<ValueId>(consts + c));
  take(inputs, all - tangent_xs);
  take(first_x, inputs);
  order.insert(order.end(), recorded_.begin(), recorded_.end());
  take(all - tangent_xs, all);
  return extract(*tangent_, tangent_->outputs(), order);
}

}  // namespace apsis::detail
