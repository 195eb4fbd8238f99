#include "control/recording.hpp"

#include <algorithm>
#include <limits>

#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

// Below this the carries are recorded as they are: a record of some registers is written in no time, and what
// is computed from them need not be kept on the way.
constexpr std::size_t small_record = 256;

/// Computes `wanted` values of a graph. `values` holds those that are known, by value; the others are empty.
std::vector<Array> interpret_part(const Graph& graph, std::vector<Array> values,
                                  std::span<const ValueId> wanted) {
  std::vector<char> needed(graph.value_count(), 0);
  for (ValueId v : wanted) needed[v] = 1;
  const auto runs = [&](const Eqn& e) {
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (needed[e.first_result + r] && values[e.first_result + r].is_empty()) return true;
    return false;
  };
  const auto eqns = graph.eqns();
  std::vector<char> run(eqns.size(), 0);
  for (std::size_t i = eqns.size(); i-- > 0;) {
    run[i] = runs(eqns[i]);
    if (!run[i]) continue;
    for (ValueId v : graph.operands(eqns[i])) needed[v] = 1;
  }
  std::vector<Array> in, out;
  for (std::size_t i = 0; i < eqns.size(); ++i) {
    const Eqn& e = eqns[i];
    if (!run[i]) continue;
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(values[v]);
    out.assign(e.result_count, {});
    if (e.op == &constant_op)
      out[0] = constant_value(e.params);
    else
      bind(*e.op, e.params, in, out, e.loc);
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (values[e.first_result + r].is_empty()) values[e.first_result + r] = out[r];
  }
  std::vector<Array> found;
  for (ValueId v : wanted) found.push_back(values[v]);
  return found;
}

/// Maximum flow (Dinic 1970) on a network whose vertices are split in two.
class Network {
 public:
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 4;
  explicit Network(std::size_t vertices) : edges_of_(vertices) {}

  void add(std::size_t from, std::size_t to, std::int64_t capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, capacity});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  void maximise(std::size_t source, std::size_t sink) {
    while (find_levels(source, sink)) {
      next_.assign(edges_of_.size(), 0);
      while (push(source, sink)) {
      }
    }
  }

  /// After `maximise`: whether the source still reaches a vertex.
  bool reached(std::size_t vertex) const { return level_[vertex] >= 0; }

 private:
  struct Edge {
    std::size_t to;
    std::int64_t capacity;
  };

  bool find_levels(std::size_t source, std::size_t sink) {
    level_.assign(edges_of_.size(), -1);
    level_[source] = 0;
    std::vector<std::size_t> queue{source};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (std::size_t e : edges_of_[queue[i]])
        if (edges_[e].capacity > 0 && level_[edges_[e].to] < 0) {
          level_[edges_[e].to] = level_[queue[i]] + 1;
          queue.push_back(edges_[e].to);
        }
    return level_[sink] >= 0;
  }

  // One path of the level graph; without recursion, as graphs may be deep.
  bool push(std::size_t source, std::size_t sink) {
    std::vector<std::size_t> path;
    for (std::size_t at = source; at != sink;) {
      std::size_t& next = next_[at];
      while (next < edges_of_[at].size()) {
        const Edge& e = edges_[edges_of_[at][next]];
        if (e.capacity > 0 && level_[e.to] == level_[at] + 1) break;
        ++next;
      }
      if (next < edges_of_[at].size()) {
        path.push_back(edges_of_[at][next]);
        at = edges_[path.back()].to;
      } else {
        if (path.empty()) return false;
        at = edges_[path.back() ^ 1].to;
        path.pop_back();
        ++next_[at];
      }
    }
    std::int64_t least = unbounded;
    for (std::size_t e : path) least = std::min(least, edges_[e].capacity);
    for (std::size_t e : path) {
      edges_[e].capacity -= least;
      edges_[e ^ 1].capacity += least;
    }
    return true;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<std::size_t> next_;
  std::vector<int> level_;
};

/// Which values are made of marked inputs.
std::vector<char> made_of(const Graph& graph, const std::vector<char>& inputs) {
  std::vector<char> marked = inputs;
  marked.resize(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns()) {
    const bool any = std::ranges::any_of(graph.operands(e), [&](ValueId v) { return marked[v] != 0; });
    std::fill_n(marked.begin() + e.first_result, e.result_count, static_cast<char>(any));
  }
  return marked;
}

/// The values of fewest bytes, the nearest to the carries among them, without which `read` does not follow
/// from the carries.
std::vector<ValueId> smallest_cut(const Graph& graph, const std::vector<char>& varying,
                                  const std::vector<char>& linear, const std::vector<char>& carry,
                                  const std::vector<char>& read) {
  const std::size_t source = 2 * graph.value_count(), sink = source + 1;
  Network network(sink + 1);
  const auto takes_part = [&](ValueId v) { return varying[v] && !linear[v]; };
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    if (!takes_part(v)) continue;
    const Aval& aval = graph.aval(v);
    network.add(2 * v, 2 * v + 1,
                aval.is_list() ? Network::unbounded : static_cast<std::int64_t>(aval.bytes()) + 1);
    if (v < graph.input_count() && carry[v]) network.add(source, 2 * v, Network::unbounded);
    if (read[v]) network.add(2 * v + 1, sink, Network::unbounded);
  }
  for (const Eqn& e : graph.eqns())
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      for (ValueId v : graph.operands(e))
        if (takes_part(e.first_result + r) && takes_part(v))
          network.add(2 * v + 1, 2 * (e.first_result + r), Network::unbounded);
  network.maximise(source, sink);
  std::vector<ValueId> cut;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (takes_part(v) && network.reached(2 * v) && !network.reached(2 * v + 1)) cut.push_back(v);
  return cut;
}

}  // namespace

Recording::Recording(const Graph& old_body, const Graph& tangent, std::size_t consts, std::size_t carries,
                     bool at_least_one) {
  std::vector<char> used(tangent.value_count(), 0);
  for (const Eqn& e : tangent.eqns())
    for (ValueId v : tangent.operands(e)) used[v] = 1;
  for (ValueId v : tangent.outputs()) used[v] = 1;
  std::vector<char> carry(old_body.input_count(), 0);
  std::size_t bytes = 0;
  for (std::size_t c = 0; c < carries; ++c) {
    const auto input = static_cast<ValueId>(consts + c);
    if (!used[input]) continue;
    if (old_body.outputs()[c] == input) {
      unchanging.push_back(c);
      continue;
    }
    recorded_.push_back(input);
    carry[input] = 1;
    bytes += old_body.aval(input).bytes();
  }
  if (bytes > small_record) {
    std::vector<char> tangents(tangent.input_count(), 0);
    std::fill(tangents.begin() + old_body.input_count(), tangents.end(), 1);
    const std::vector<char> linear = made_of(tangent, tangents), varying = made_of(tangent, carry);
    std::vector<char> read(tangent.value_count(), 0);
    for (const Eqn& e : tangent.eqns())
      if (linear[e.first_result])
        for (ValueId v : tangent.operands(e)) read[v] = 1;
    for (ValueId v : tangent.outputs()) read[v] = 1;
    carry.resize(tangent.input_count(), 0);
    recorded_ = smallest_cut(tangent, varying, linear, carry, read);
  }
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
    std::vector<Array> outs = interpret(old_body, in), values(in.begin(), in.end());
    values.resize(tangent.value_count());
    append(outs, interpret_part(tangent, std::move(values), recorded_));
    return outs;
  };
  body = rewire(input_avals(old_body), wire);
}

GraphRef Recording::tangent_body(const Graph& old_body, const Graph& tangent, std::size_t tangent_xs,
                                 std::size_t consts, std::size_t carries) const {
  std::vector<Aval> avals;
  const std::size_t first_x = consts + carries, inputs = old_body.input_count(), all = tangent.input_count();
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
  for (ValueId v : order) avals.push_back(tangent.aval(v));
  const auto wire = [&](std::span<const Array> in) {
    std::vector<Array> values(tangent.value_count());
    for (std::size_t i = 0; i < order.size(); ++i) values[order[i]] = in[i];
    return interpret_part(tangent, std::move(values), tangent.outputs());
  };
  return rewire(avals, wire);
}

}  // namespace apsis::detail
