#include "control/tape/smallest_cut.hpp"

#include <algorithm>
#include <limits>

#include "core/list.hpp"
#include "ir/loop.hpp"
#include "ops/dot_params.hpp"
#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

/// Maximum flow (Dinic 1970) on a network whose vertices are split in two.
class Network {
 public:
  static constexpr std::int64_t unbounded = never_kept;
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

}  // namespace

std::vector<char> made_of(const Graph& graph, const std::vector<char>& inputs) {
  std::vector<char> marked = inputs;
  marked.resize(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns()) {
    const bool any = std::ranges::any_of(graph.operands(e), [&](ValueId v) { return marked[v] != 0; });
    std::fill_n(marked.begin() + e.first_result, e.result_count, static_cast<char>(any));
  }
  return marked;
}

std::vector<char> read_by_linear(const Graph& graph, const std::vector<char>& linear) {
  std::vector<char> read(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns())
    if (linear[e.first_result])
      for (ValueId v : graph.operands(e)) read[v] = 1;
  for (ValueId v : graph.outputs()) read[v] = 1;
  return read;
}

Cut smallest_cut(const Graph& graph, const std::vector<char>& linear, const std::vector<char>& given,
                 std::span<const std::int64_t> bytes, std::span<const std::int64_t> work) {
  const std::vector<char> varying = made_of(graph, given), read = read_by_linear(graph, linear);
  const std::size_t source = 2 * graph.value_count(), sink = source + 1;
  Network network(sink + 1);
  const auto takes_part = [&](ValueId v) { return varying[v] && !linear[v]; };
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    if (!takes_part(v)) continue;
    network.add(2 * v, 2 * v + 1, std::min(bytes[v] + 1, Network::unbounded));
    if (v < graph.input_count() && given[v]) network.add(source, 2 * v, Network::unbounded);
    if (read[v]) network.add(2 * v + 1, sink, Network::unbounded);
    // What is beyond the cut is computed again.
    if (!work.empty() && work[v] > 0) network.add(source, 2 * v, work[v]);
  }
  for (const Eqn& e : graph.eqns())
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      for (ValueId v : graph.operands(e))
        if (takes_part(e.first_result + r) && takes_part(v))
          network.add(2 * v + 1, 2 * (e.first_result + r), Network::unbounded);
  network.maximise(source, sink);
  Cut cut;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (takes_part(v) && network.reached(2 * v) && !network.reached(2 * v + 1)) {
      cut.values.push_back(v);
      cut.bytes += bytes[v];
    }
  return cut;
}

std::vector<std::int64_t> work_of_values(const Graph& graph) {
  constexpr std::int64_t multiply_adds = 32;
  std::vector<std::int64_t> work(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind != OpKind::Contract) continue;
    const auto& p = e.params.as<DotParams>();
    const Aval &a = graph.aval(graph.operands(e)[0]), &result = graph.aval(e.first_result);
    std::int64_t terms = 1;
    for (std::int64_t axis : p.contract_a) terms *= a.shape()[axis];
    work[e.first_result] = static_cast<std::int64_t>(result.bytes()) * terms / multiply_adds;
  }
  return work;
}

namespace {

/// How many entries a list is taken to have that this equation makes; null: an input.
std::int64_t nominal_entries(const Eqn* maker) {
  if (maker && is_loop(*maker)) {
    const Loop loop(*maker);
    if (loop.max_steps >= 0) return std::min(loop.max_steps, nominal_iterations);
    if (loop.length >= 0) return loop.length;
  }
  return nominal_iterations;
}

}  // namespace

std::vector<std::int64_t> bytes_of_values(const Graph& graph) {
  constexpr std::int64_t least = 2048;
  std::vector<std::int64_t> all;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    const Aval& aval = graph.aval(v);
    const Eqn* maker = graph.definition(v);
    std::int64_t& bytes = all.emplace_back(static_cast<std::int64_t>(aval.bytes()));
    if (!aval.is_list()) continue;
    const bool made = maker && (is_loop(*maker) || maker->op->kind == OpKind::Call);
    const bool kept = !maker || (made && !of_lanes(aval.list()));
    if (!kept) {
      bytes = never_kept;
      continue;
    }
    const int depth = list_depth(aval.list());
    const std::int64_t own = nominal_entries(maker);
    bytes = std::max(least, (depth == 1 ? own : nominal_iterations) * bytes);
    for (int within = 2; within <= depth; ++within) bytes *= within == depth ? own : nominal_iterations;
  }
  return all;
}

}  // namespace apsis::detail
