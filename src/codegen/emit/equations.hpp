#pragma once

// What writes each kind of equation, as code of a region.

#include "codegen/emit/contraction.hpp"
#include "codegen/emit/region.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

/// Writes an equation: by the writer of its kind or op, else as a call of the op's kernel.
void emit(Region& region, const Eqn& e);
/// Several as one fused loop.
void emit_cluster(Region& region, std::span<const std::uint32_t> eqns);
/// The same of a loop that makes the product which it reads. False, and nothing is written, if it cannot.
bool emit_cluster_of_product(Region& region, std::span<const std::uint32_t> eqns, ValueId product,
                             const Contraction& contraction);
/// Writes a product, views behind it, and the loop that reads it, together. How many items that is; 0: none.
std::size_t emit_product_and_readers(Region& region, std::span<const Item> items);

// By kind.
void emit_constant(Region& region, const Eqn& e);
void emit_view(Region& region, const Eqn& e);
void emit_call(Region& region, const Eqn& e);
void emit_cond(Region& region, const Eqn& e);
void emit_while(Region& region, const Eqn& e);
void emit_scan(Region& region, const Eqn& e);
/// One lane after the other, inside a packet; and by packets.
void emit_map_lanes(Region& region, const Eqn& e);
void emit_packets(Region& region, const Eqn& e);

/// On few elements, one by one.
void emit_elementwise(Region& region, const Eqn& e);
/// As a call of the op's kernel.
void emit_kernel(Region& region, const Eqn& e);

// Those that give false cannot write this equation.
bool emit_nothing(Region& region, const Eqn& e);
bool emit_unrolled(Region& region, const Eqn& e);
/// What emit_unrolled does, of arrays of any size, whose elements are loaded and stored.
void write_out(Region& region, const Eqn& e);
bool emit_reduce(Region& region, const Eqn& e);

// By op.
void emit_complex(Region& region, const Eqn& e);
bool emit_concatenate(Region& region, const Eqn& e);
bool emit_contract(Region& region, const Eqn& e);
bool emit_dynamic_slice(Region& region, const Eqn& e);
bool emit_dynamic_update_slice(Region& region, const Eqn& e);
bool emit_gather(Region& region, const Eqn& e);
bool emit_iota(Region& region, const Eqn& e);
bool emit_matrices(Region& region, const Eqn& e);
void emit_pad(Region& region, const Eqn& e);
void emit_progress(Region& region, const Eqn& e);
void emit_raise_when(Region& region, const Eqn& e);
bool emit_scatter(Region& region, const Eqn& e);

// What several of them use.

/// Whether the op is one that `emit_matrices` writes: of matrices that leading axes count.
bool computes_matrices(const Op& op);

/// A scalar I64 index in [0, limit], the same for all lanes, or one a lane.
Value clamped_index(Region& region, ValueId index, std::int64_t limit);
/// Where an equation that updates its first operand in part makes its result: the operand's place if nobody
/// else needs it, else a copy.
Target updated(Region& region, const Eqn& e, int lanes);
/// The number of a kernel that evaluates the equation.
std::int64_t add_kernel(Region& region, const Eqn& e);
void call_kernel(Region& region, std::int64_t number, const Eqn& e, std::span<const Place> in,
                 std::span<const Destination> out);

}  // namespace apsis::detail
