// Fused loops: elementwise equations on arrays of one shape, one vector of elements an iteration.

#include <algorithm>

#include "codegen/region.hpp"

namespace apsis::detail {

void Region::emit_cluster(std::span<const std::uint32_t> eqns) {
  constexpr std::size_t unknown = ~std::size_t{0};
  struct Member {
    Value value;
    std::size_t access = unknown;  // of a leaf in memory; loaded at its first use
    std::uint32_t inner_uses = 0;
    bool made = false;             // by this cluster
  };
  std::unordered_map<ValueId, Member> members;
  const Shape& shape = graph_.aval(graph_.eqns()[eqns[0]].first_result).shape();
  std::vector<Access> accesses;
  int lanes = 1;
  std::size_t widest = 1;

  for (std::uint32_t i : eqns) {
    const Eqn& e = graph_.eqns()[i];
    for (ValueId v : graph_.operands(e)) {
      auto [it, fresh] = members.try_emplace(v);
      ++it->second.inner_uses;
      if (!fresh) continue;
      const Place& place = places_[v];
      widest = std::max(widest, item_size(graph_.aval(v).dtype()));
      lanes = std::max(lanes, lanes_of(place));
      if (place.kind == Place::Kind::Registers) {
        it->second.value = place.elements[0];
      } else {
        it->second.access = accesses.size();
        accesses.push_back({place.view, place.kind == Place::Kind::Iota ? Pointer{} : place.base, graph_.aval(v).dtype(), place.lanes});
      }
    }
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      members[e.first_result + r].made = true;
      widest = std::max(widest, item_size(graph_.aval(e.first_result + r).dtype()));
    }
  }

  // What is used elsewhere is stored.
  struct Store {
    ValueId value;
    std::size_t access;
    Place place;
  };
  std::vector<Store> stores;
  for (std::uint32_t i : eqns) {
    const Eqn& e = graph_.eqns()[i];
    for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v) {
      if (uses_[v] == members[v].inner_uses) continue;
      Place place = destination(v, lanes);
      stores.push_back({v, accesses.size(), place});
      accesses.push_back({place.view, place.base, graph_.aval(v).dtype(), place.lanes});
    }
  }

  ++lowering_.loops;
  LoopNest nest(b_, shape, std::move(accesses), lanes > 1 ? 1 : lowering_.vector_lanes(widest), lanes);
  nest.open();
  Values in, out;
  auto store = stores.begin();
  for (std::uint32_t i : eqns) {
    const Eqn& e = graph_.eqns()[i];
    in.clear();
    for (ValueId v : graph_.operands(e)) {
      Member& m = members[v];
      if (!m.value.handle) m.value = nest.load(m.access);
      in.push_back(m.value);
    }
    out.assign(e.result_count, {});
    emit_op(e, in, out);
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      members[e.first_result + r].value = out[r];
      for (; store != stores.end() && store->value == e.first_result + r; ++store) nest.store(store->access, out[r]);
    }
  }
  nest.close();
  for (Store& s : stores) define(s.value, std::move(s.place));
}

}  // namespace apsis::detail
