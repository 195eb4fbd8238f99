// Factorisations and solves of small matrices, of a packet of lanes. Written out where matrices have few
// elements, be they in registers or not; else one call for all lanes, which come one after the other as the
// kernel's leading axis.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "ops/small_matrix.hpp"

namespace apsis::detail {
namespace {

/// Whether `holds` of the avals of all operands and results.
template <class Holds>
bool all_avals(const Region& region, const Eqn& e, const Holds& holds) {
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (!holds(region.aval(e.first_result + r))) return false;
  return std::ranges::all_of(region.operands(e), [&](ValueId v) { return holds(region.aval(v)); });
}

Aval of_all_lanes(const Region& region, const Aval& aval) {
  Shape shape{region.lanes()};
  for (const std::int64_t size : aval.shape()) shape.push_back(size);
  return Aval(aval.dtype(), shape);
}

/// The arrays of a packet's lanes, one after the other.
class LanesInARow {
 public:
  LanesInARow(Region& region, const Aval& aval)
      : region_(region), aval_(aval), all_(region.allocate(of_all_lanes(region, aval), 1)) {}
  const Destination& all() const { return all_; }
  void set(Value lane, const Place& from) {
    const Place one = from.lanes > 1 ? region_.of_lane(from, aval_, lane) : from;
    region_.copy(one, aval_, all_.part(region_.b(), View::contiguous(aval_.shape()), bytes(lane)));
  }
  void get(Value lane, const Destination& to) {
    Place one = all_.place();
    one.base = region_.b().offset(one.base, bytes(lane));
    one.view = View::contiguous(aval_.shape());
    region_.copy(one, aval_, region_.of_lane(to, aval_, lane));
  }

 private:
  Value bytes(Value lane) const {
    Builder& b = region_.b();
    return b.mul(lane, b.index(static_cast<std::int64_t>(aval_.bytes())));
  }
  Region& region_;
  const Aval& aval_;
  Destination all_;
};

/// Calls visit(lane) for all lanes, or the active ones, one after the other.
template <class Visit>
void each_lane(Region& region, bool active, const Visit& visit) {
  Builder& b = region.b();
  b.set_lanes(1);
  CountedLoop loop(b, region.lanes(), 1);
  if (active && region.mask().handle)
    if_(b, b.extract(region.mask(), loop.index()), [&] { visit(loop.index()); });
  else
    visit(loop.index());
  loop.close();
}

/// What lanes at rest hold is computed with, and nobody reads it.
void call_kernel_once(Region& region, const Eqn& e) {
  const auto operands = region.operands(e);
  std::vector<Place> from, in;
  std::vector<LanesInARow> in_lanes, out_lanes;
  Kernel kernel{e.op, e.params, {}, {}};
  for (const ValueId v : operands) {
    from.push_back(region.in_memory(v));
    in_lanes.emplace_back(region, region.aval(v));
    kernel.in.push_back(of_all_lanes(region, region.aval(v)));
    in.push_back(in_lanes.back().all().place());
  }
  each_lane(region, false, [&](Value lane) {
    for (std::size_t i = 0; i < in.size(); ++i) in_lanes[i].set(lane, from[i]);
  });
  std::vector<Destination> out, made;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const ValueId v = e.first_result + r;
    out_lanes.emplace_back(region, region.aval(v));
    kernel.out.push_back(of_all_lanes(region, region.aval(v)));
    out.push_back(out_lanes.back().all());
    made.push_back(region.destination(v, region.lanes()));
  }
  region.lowering().kernels.push_back(std::move(kernel));
  call_kernel(region, static_cast<std::int64_t>(region.lowering().kernels.size()) - 1, e, in, out);
  each_lane(region, true, [&](Value lane) {
    for (std::size_t r = 0; r < made.size(); ++r) out_lanes[r].get(lane, made[r]);
  });
  for (std::uint32_t r = 0; r < e.result_count; ++r) region.define(e.first_result + r, made[r].place());
}

}  // namespace

bool emit_matrices(Region& region, const Eqn& e) {
  int lanes = 1;
  for (const ValueId v : region.operands(e)) lanes = std::max(lanes, region.lanes_of(v));
  if (lanes == 1 || lanes != region.lanes()) return false;
  if (!all_avals(region, e, [](const Aval& a) { return !is_complex(a.dtype()); })) return false;
  if (all_avals(region, e, [](const Aval& a) { return a.size() <= most_written_out; })) {
    write_out(region, e);
    return true;
  }
  // With the lanes in front, the matrices that right sides share would be repeated along another axis.
  const auto rank = region.aval(region.operands(e).back()).rank();
  const bool calls = all_avals(region, e, [&](const Aval& a) {
    const std::size_t own = is_integer(a.dtype()) ? 1 : 2, sizes = a.shape().size();
    return a.size() > 0 && a.rank() - static_cast<std::int64_t>(own) == static_cast<std::int64_t>(rank) - 2 &&
           (own == 1 || is_small_matrix(a.shape()[sizes - 2], a.shape()[sizes - 1]));
  });
  if (calls) call_kernel_once(region, e);
  return calls;
}

}  // namespace apsis::detail
