#include "passes/analysis/dependence.hpp"

#include <algorithm>
#include <optional>

#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"
#include "ir/region_flow.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

NumberSets::Id NumberSets::intern(std::vector<std::uint32_t> numbers) {
  if (numbers.empty()) return 0;
  std::uint64_t hash = numbers.size();
  for (std::uint32_t n : numbers) hash = hash_word(hash, n);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (sets_[it->second] == numbers) return it->second;
  const auto id = static_cast<Id>(sets_.size());
  sets_.push_back(std::move(numbers));
  by_hash_.emplace(hash, id);
  return id;
}

NumberSets::Id NumberSets::joined(Id a, Id b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (a > b) std::swap(a, b);
  const std::uint64_t key = (std::uint64_t{a} << 32) | b;
  if (const auto it = joined_.find(key); it != joined_.end()) return it->second;
  std::vector<std::uint32_t> all;
  std::ranges::set_union(sets_[a], sets_[b], std::back_inserter(all));
  const Id id = intern(std::move(all));
  joined_.emplace(key, id);
  return id;
}

NumberSets::Id NumberSets::joined(std::vector<Id>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  if (ids.size() <= 1) return ids.empty() ? 0 : ids[0];
  if (ids.size() == 2) return joined(ids[0], ids[1]);
  std::vector<std::uint32_t> all;
  for (Id id : ids) all.insert(all.end(), sets_[id].begin(), sets_[id].end());
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return intern(std::move(all));
}

namespace {

using Id = NumberSets::Id;

/// A loop is followed step by step for so many equations; then all its steps are taken for one.
constexpr std::int64_t most_equations = 200'000;
/// Values of more elements are not computed.
constexpr std::int64_t most_elements = 1 << 24;

class Walk {
 public:
  explicit Walk(NumberSets& sets) : sets_(sets) {}
  std::vector<Dependence> run(const Graph& graph, std::vector<Dependence> values);

 private:
  using Operands = std::span<const Dependence* const>;
  struct Site {
    const Graph& graph;
    const Eqn& e;
    Operands in;
    std::span<Dependence> out;
    const Aval& aval(std::size_t k) const { return graph.aval(graph.operands(e)[k]); }
    const Aval& result(std::size_t r) const {
      return graph.aval(e.first_result + static_cast<std::uint32_t>(r));
    }
  };

  bool compute(const Site& s);
  bool through_regions(const Site& s);
  void loop(const Site& s, const std::vector<RegionFlow>& flows);
  void lanes(const Site& s, const RegionFlow& flow);
  bool choose(const Site& s);
  void elementwise(const Site& s);
  bool move(const Site& s);
  bool at_places(const Site& s);
  bool contract(const Site& s);
  void by_axes(const Site& s);

  Id element(const Dependence& d, std::size_t i) const { return d.elements.empty() ? 0 : d.elements[i]; }
  void join(Dependence& into, const Dependence& other);
  /// All rows of a stack as one row, and one row.
  Dependence any_row(const Dependence& d, const Aval& row);
  Dependence row(const Dependence& d, const Aval& row_aval, std::int64_t i) const;

  NumberSets& sets_;
};

std::vector<Array> evaluated(const Op& op, const Params& params, std::span<const Array> in) {
  TraceScope now(nullptr);
  return bind_all(op, params, in);
}
std::size_t size_of(const Aval& a) { return static_cast<std::size_t>(a.shape().product()); }
/// The numbers of an array's elements, from `first` on.
Array numbered(const Shape& shape, std::int64_t first) {
  TraceScope now(nullptr);
  return reshape(arange(first, first + shape.product()), shape);
}
std::span<const std::int64_t> integers(const Array& a) {
  return {static_cast<const std::int64_t*>(data_of(a)), static_cast<std::size_t>(a.size())};
}

void Walk::join(Dependence& into, const Dependence& other) {
  into.known = {};
  if (other.elements.empty()) return;
  if (into.elements.empty()) into.elements.resize(other.elements.size());
  for (std::size_t i = 0; i < into.elements.size(); ++i)
    into.elements[i] = sets_.joined(into.elements[i], other.elements[i]);
}
Dependence Walk::row(const Dependence& d, const Aval& row_aval, std::int64_t i) const {
  Dependence out;
  const auto n = static_cast<std::ptrdiff_t>(size_of(row_aval));
  if (!d.elements.empty()) out.elements.assign(d.elements.begin() + i * n, d.elements.begin() + (i + 1) * n);
  if (!d.known.is_empty()) {
    TraceScope now(nullptr);
    out.known = d.known[i];
  }
  return out;
}
Dependence Walk::any_row(const Dependence& d, const Aval& row_aval) {
  Dependence out;
  const std::size_t n = size_of(row_aval);
  if (d.elements.empty() || n == 0) return out;
  for (std::size_t at = 0; at < d.elements.size(); at += n)
    join(out, row({d.elements, {}}, row_aval, static_cast<std::int64_t>(at / n)));
  return out;
}

std::vector<Dependence> Walk::run(const Graph& graph, std::vector<Dependence> values) {
  values.resize(graph.value_count());
  std::vector<const Dependence*> in;
  for (const Eqn& e : graph.eqns()) {
    const std::span<Dependence> out{values.data() + e.first_result, e.result_count};
    if (e.op->kind == OpKind::Constant) {
      out[0].known = constant_value(e.params);
      continue;
    }
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(&values[v]);
    const Site site{graph, e, in, out};
    const bool depends = std::ranges::any_of(in, [](const Dependence* d) { return !d->elements.empty(); });
    if (!depends) {
      compute(site);
      continue;
    }
    if (through_regions(site)) continue;
    if (e.op->kind == OpKind::Elementwise) {
      if (!choose(site)) elementwise(site);
    } else if (!move(site) && !at_places(site) && !contract(site)) {
      by_axes(site);
    }
  }
  std::vector<Dependence> outputs;
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return outputs;
}

/// The results themselves, where all operands are known.
bool Walk::compute(const Site& s) {
  if (has_effect(*s.e.op, s.e.params)) return false;
  for (const Dependence* d : s.in)
    if (d->known.is_empty()) return false;
  for (std::size_t r = 0; r < s.out.size(); ++r)
    if (s.result(r).shape().product() > most_elements) return false;
  std::vector<Array> in;
  for (const Dependence* d : s.in) in.push_back(d->known);
  std::vector<Array> out = evaluated(*s.e.op, s.e.params, in);
  for (std::size_t r = 0; r < out.size(); ++r) s.out[r].known = std::move(out[r]);
  return true;
}

bool Walk::through_regions(const Site& s) {
  const std::vector<RegionFlow> flows = region_flows(s.e);
  if (flows.empty()) return false;
  const auto inputs_of = [&](const RegionFlow& flow) {
    std::vector<Dependence> inputs;
    for (std::size_t i = 0; i < flow.region->input_count(); ++i) inputs.push_back(*s.in[flow.operand_of(i)]);
    return inputs;
  };
  switch (flows[0].runs) {
    case Runs::Once:
    case Runs::Wrapped: {
      const std::vector<Dependence> out = run(*flows[0].region, inputs_of(flows[0]));
      std::copy(out.begin(), out.end(), s.out.begin());
      return true;
    }
    case Runs::Chosen: {
      const Array& index = s.in[0]->known;
      if (!index.is_empty()) {
        const auto last = static_cast<std::int64_t>(flows.size()) - 1;
        const RegionFlow& flow =
            flows[static_cast<std::size_t>(std::clamp<std::int64_t>(index.item<std::int64_t>(), 0, last))];
        const std::vector<Dependence> out = run(*flow.region, inputs_of(flow));
        std::copy(out.begin(), out.end(), s.out.begin());
        return true;
      }
      for (const RegionFlow& flow : flows) {
        const std::vector<Dependence> out = run(*flow.region, inputs_of(flow));
        for (std::size_t r = 0; r < out.size(); ++r) join(s.out[r], out[r]);
      }
      return true;
    }
    case Runs::ByLane:
      lanes(s, flows[0]);
      return true;
    case Runs::Repeatedly:
      loop(s, flows);
      return true;
  }
  return false;
}

void Walk::lanes(const Site& s, const RegionFlow& flow) {
  const Graph& region = *flow.region;
  const std::int64_t count = s.e.params.as<MapLanesParams>().lanes;
  for (std::int64_t lane = 0; lane < count; ++lane) {
    std::vector<Dependence> in;
    for (std::uint32_t i = 0; i < region.input_count(); ++i)
      in.push_back((*flow.lane_axes)[i] < 0 ? *s.in[i] : row(*s.in[i], region.aval(i), lane));
    const std::vector<Dependence> out = run(region, std::move(in));
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (out[r].elements.empty()) continue;
      std::vector<Id>& all = s.out[r].elements;
      if (all.empty()) all.resize(size_of(s.result(r)));
      std::ranges::copy(out[r].elements,
                        all.begin() + lane * static_cast<std::ptrdiff_t>(out[r].elements.size()));
    }
  }
}

void Walk::loop(const Site& s, const std::vector<RegionFlow>& flows) {
  const Loop l(s.e);
  const std::size_t xs = s.in.size() - l.first_x(), ys = s.out.size() - l.carries;
  if (!l.cond && l.length < 0) return by_axes(s);  // over lists
  if (l.cond && ys > 0) return by_axes(s);         // which makes lists
  std::vector<Dependence> carry;
  for (std::size_t c = 0; c < l.carries; ++c) carry.push_back(*s.in[l.first_carry() + c]);
  const auto step = [&](const std::vector<Dependence>& entries) {
    std::vector<Dependence> in;
    for (std::size_t i = 0; i < l.consts; ++i) in.push_back(*s.in[l.cond_consts + i]);
    in.insert(in.end(), carry.begin(), carry.end());
    in.insert(in.end(), entries.begin(), entries.end());
    return run(*l.body, std::move(in));
  };
  const auto x_aval = [&](std::size_t x) -> const Aval& {
    return l.body->aval(static_cast<ValueId>(l.consts + l.carries + x));
  };
  const auto put_row = [&](std::size_t y, const Dependence& d, std::int64_t i) {
    if (d.elements.empty()) return;
    std::vector<Id>& all = s.out[l.carries + y].elements;
    if (all.empty()) all.resize(size_of(s.result(l.carries + y)));
    std::ranges::copy(d.elements, all.begin() + i * static_cast<std::ptrdiff_t>(d.elements.size()));
  };
  const auto cost = static_cast<std::int64_t>(l.body->eqns().size()) + 1;
  bool followed = !l.cond && l.length * cost <= most_equations;
  if (followed) {
    for (std::int64_t k = 0; k < l.length; ++k) {
      const std::int64_t i = l.reverse ? l.length - 1 - k : k;
      std::vector<Dependence> entries;
      for (std::size_t x = 0; x < xs; ++x) entries.push_back(row(*s.in[l.first_x() + x], x_aval(x), i));
      const std::vector<Dependence> out = step(entries);
      std::copy_n(out.begin(), l.carries, carry.begin());
      for (std::size_t y = 0; y < ys; ++y) put_row(y, out[l.carries + y], i);
    }
  } else if (l.cond) {
    // As long as the condition is known.
    for (std::int64_t k = 0; k * cost <= most_equations; ++k) {
      std::vector<Dependence> in;
      for (std::size_t i = 0; i < l.cond_consts; ++i) in.push_back(*s.in[i]);
      in.insert(in.end(), carry.begin(), carry.end());
      const Array goes_on = run(*flows[0].region, std::move(in))[0].known;
      if (goes_on.is_empty()) break;
      followed = !goes_on.item<bool>() || k == l.max_steps;
      if (followed) break;
      carry = step({});
    }
  }
  if (!followed) {
    std::vector<Dependence> entries;
    for (std::size_t x = 0; x < xs; ++x) entries.push_back(any_row(*s.in[l.first_x() + x], x_aval(x)));
    for (std::size_t c = 0; c < l.carries; ++c)
      if (!l.unchanging(c)) carry[c].known = {};
    for (bool changed = true; changed;) {
      changed = false;
      const std::vector<Dependence> out = step(entries);
      for (std::size_t c = 0; c < l.carries; ++c) {
        if (l.unchanging(c)) continue;
        const std::vector<Id> before = carry[c].elements;
        join(carry[c], out[c]);
        changed = changed || carry[c].elements != before;
      }
      if (changed) continue;
      for (std::size_t y = 0; y < ys; ++y)
        for (std::int64_t i = 0; i < l.length; ++i) put_row(y, out[l.carries + y], i);
    }
  }
  std::ranges::copy(carry, s.out.begin());
}

/// Of a choice by a known condition, element by element, what is chosen.
bool Walk::choose(const Site& s) {
  if (!s.e.op->chooses || s.in[0]->known.is_empty()) return false;
  const auto* condition = static_cast<const bool*>(data_of(s.in[0]->known));
  std::vector<Id>& out = s.out[0].elements;
  out.resize(size_of(s.result(0)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = element(*s.in[condition[i] ? 1 : 2], i);
  return true;
}
void Walk::elementwise(const Site& s) {
  for (Dependence& out : s.out)
    for (const Dependence* d : s.in) join(out, *d);
}

/// Ops that move elements are run on the elements' numbers.
bool Walk::move(const Site& s) {
  const Op& op = *s.e.op;
  if (!op.moves) return false;
  const std::size_t elements = op.starts < 0 ? s.in.size() : static_cast<std::size_t>(op.starts);
  std::vector<Array> in;
  std::vector<Id> from;
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    if (k >= elements) {
      if (s.in[k]->known.is_empty()) return false;
      in.push_back(s.in[k]->known);
      continue;
    }
    in.push_back(numbered(s.aval(k).shape(), static_cast<std::int64_t>(from.size())));
    const std::size_t size = size_of(s.aval(k));
    for (std::size_t i = 0; i < size; ++i) from.push_back(element(*s.in[k], i));
  }
  const std::vector<Array> out = evaluated(op, s.e.params, in);
  for (std::size_t r = 0; r < out.size(); ++r) {
    s.out[r].elements.clear();
    for (std::int64_t n : integers(out[r])) s.out[r].elements.push_back(from[static_cast<std::size_t>(n)]);
  }
  return true;
}

/// Gathers and scatters at known indices: which elements they meet, a gather of numbers says; -1 is none.
bool Walk::at_places(const Site& s) {
  if (!s.e.op->places || s.in[1]->known.is_empty()) return false;
  GatherParams places = s.e.op->places(s.e.params);
  if (places.mode == OutOfBounds::Zero) places.mode = OutOfBounds::Fill;
  const Array operands[] = {numbered(s.aval(0).shape(), 0), s.in[1]->known};
  const Array met = evaluated(gather_op, make_params(places), operands)[0];
  std::vector<Id>& out = s.out[0].elements;
  const Dependence& array = *s.in[0];
  if (s.e.op->updates < 0) {
    for (std::int64_t n : integers(met))
      out.push_back(n < 0 ? 0 : element(array, static_cast<std::size_t>(n)));
    return true;
  }
  out = array.elements;
  out.resize(size_of(s.result(0)));
  const Dependence& written = *s.in[static_cast<std::size_t>(s.e.op->written)];
  const std::span<const std::int64_t> targets = integers(met);
  std::vector<std::vector<Id>> more(out.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i] >= 0) more[static_cast<std::size_t>(targets[i])].push_back(element(written, i));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (more[i].empty()) continue;
    more[i].push_back(out[i]);
    out[i] = sets_.joined(more[i]);
  }
  return true;
}

/// Products with a known array: its zeros do not count.
bool Walk::contract(const Site& s) {
  if (s.e.op->kind != OpKind::Contract) return false;
  const bool first = !s.in[0]->known.is_empty();
  if (!first && s.in[1]->known.is_empty()) return false;
  const auto& p = s.e.params.as<DotParams>();
  const DotSizes sizes(p, s.aval(0).shape(), s.aval(1).shape());
  // Elements by number in the order batch, m, k and batch, n, k.
  const auto order = [&](std::size_t side, const Dims& batch, const Dims& free, const Dims& contracted) {
    TraceScope now(nullptr);
    Dims axes = batch;
    for (std::int64_t axis : free) axes.push_back(axis);
    for (std::int64_t axis : contracted) axes.push_back(axis);
    return ravel(transpose(numbered(s.aval(side).shape(), 0), Axes(axes)));
  };
  const Array as = order(0, p.batch_a, sizes.free_a, p.contract_a),
              bs = order(1, p.batch_b, sizes.free_b, p.contract_b);
  Array counts;
  {
    TraceScope now(nullptr);
    counts = ravel(s.in[first ? 0 : 1]->known != 0);
  }
  const bool* is_there = static_cast<const bool*>(data_of(counts));
  const Dependence& other = *s.in[first ? 1 : 0];
  std::vector<Id> met;
  for (std::int64_t b = 0; b < sizes.batch; ++b)
    for (std::int64_t m = 0; m < sizes.m; ++m)
      for (std::int64_t n = 0; n < sizes.n; ++n) {
        met.clear();
        for (std::int64_t k = 0; k < sizes.k; ++k) {
          const auto at_a = static_cast<std::size_t>((b * sizes.m + m) * sizes.k + k),
                     at_b = static_cast<std::size_t>((b * sizes.n + n) * sizes.k + k);
          const auto a = static_cast<std::size_t>(integers(as)[at_a]),
                     c = static_cast<std::size_t>(integers(bs)[at_b]);
          if (is_there[first ? a : c]) met.push_back(element(other, first ? c : a));
        }
        s.out[0].elements.push_back(sets_.joined(met));
      }
  return true;
}

/// What is known of any op: which axes go through it. Along the others all depends on all.
void Walk::by_axes(const Site& s) {
  for (std::size_t r = 0; r < s.out.size(); ++r) {
    const Shape& shape = s.result(r).shape();
    const bool has_axes = s.out.size() == 1 || shape == s.result(0).shape();
    std::vector<Id>& out = s.out[r].elements;
    out.assign(size_of(s.result(r)), 0);
    for (std::size_t k = 0; k < s.in.size(); ++k) {
      if (s.in[k]->elements.empty()) continue;
      const Shape& from = s.aval(k).shape();
      // For each element of an array the number of what it shares with elements of the other.
      std::vector<std::int64_t> in_stride(from.size()), out_stride(shape.size());
      std::int64_t groups = 1;
      for (std::size_t axis = 0; has_axes && axis < shape.size(); ++axis) {
        const std::int64_t own = operand_axis(s.graph, s.e, k, static_cast<std::int64_t>(axis));
        if (own < 0 || from[static_cast<std::size_t>(own)] != shape[axis]) continue;
        in_stride[static_cast<std::size_t>(own)] = out_stride[axis] = groups;
        groups *= shape[axis];
      }
      const auto group_of = [](const Shape& dims, const std::vector<std::int64_t>& stride, std::size_t i) {
        std::int64_t group = 0;
        for (std::size_t axis = dims.size(); axis-- > 0; i /= static_cast<std::size_t>(dims[axis]))
          group += stride[axis] * (static_cast<std::int64_t>(i) % dims[axis]);
        return static_cast<std::size_t>(group);
      };
      std::vector<std::vector<Id>> met(static_cast<std::size_t>(groups));
      for (std::size_t i = 0; i < s.in[k]->elements.size(); ++i)
        met[group_of(from, in_stride, i)].push_back(s.in[k]->elements[i]);
      std::vector<Id> all;
      for (std::vector<Id>& ids : met) all.push_back(sets_.joined(ids));
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = sets_.joined(out[i], all[group_of(shape, out_stride, i)]);
    }
  }
}

}  // namespace

std::vector<Dependence> dependences(const Graph& graph, std::vector<Dependence> inputs, NumberSets& sets) {
  return Walk(sets).run(graph, std::move(inputs));
}

}  // namespace apsis::detail
