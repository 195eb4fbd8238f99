#pragma once

// Parameters of the ops that move elements but are no views of one operand.

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"
#include "ir/view.hpp"

namespace apsis::detail {

/// iota: 0, 1, … along `axis`; no operands.
struct IotaParams {
  Dtype dtype = Dtype::I64;
  Shape shape;
  std::int64_t axis = 0;
  static void each(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("shape", self.shape);
    visit("axis", self.axis);
  }
};

struct ConcatenateParams {
  std::int64_t axis = 0;
  static void each(auto& self, auto&& visit) { visit("axis", self.axis); }
};

/// pad: operands (array, scalar value). Negative `low` and `high` crop; `interior` values go between
/// neighbours.
struct PadParams {
  Dims low, high, interior;
  static void each(auto& self, auto&& visit) {
    visit("low", self.low);
    visit("high", self.high);
    visit("interior", self.interior);
  }
};

/// What of an array lands in the padded one, as parts of the views of both.
struct Landing {
  View from, to;
};
Landing landing(const PadParams& p, const View& in, const View& out);

/// dynamic_slice: operands (array, one i64 scalar start an axis), clamped so that the slice lies inside.
/// dynamic_update_slice: operands (array, update, starts…), no parameters.
struct DynamicSliceParams {
  Shape sizes;
  static void each(auto& self, auto&& visit) { visit("sizes", self.sizes); }
};

/// What an index out of bounds means. Gather: the nearest valid slice, a slice of NaN (the least signed or
/// greatest unsigned integer, true), or zeros. Scatter: the nearest, or (Fill, Zero) the update is dropped.
enum class OutOfBounds : std::uint8_t { Clip, Fill, Zero };

/// gather: operands (array, i64 indices), JAX's GatherDimensionNumbers. The last axis of the indices holds
/// index vectors, entry k a start along operand axis start_index_map[k]. Each index vector takes a slice of
/// `slice_sizes`; its axes in collapsed_slice_dims and operand_batching_dims (both of size 1) are dropped,
/// the others become the result axes offset_dims; the remaining result axes are those of the indices. Along
/// operand_batching_dims the start is the coordinate along start_indices_batching_dims.
struct GatherParams {
  Dims offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims;
  Dims slice_sizes;
  OutOfBounds mode = OutOfBounds::Clip;
  static void each(auto& self, auto&& visit) {
    visit("offset_dims", self.offset_dims);
    visit("collapsed_slice_dims", self.collapsed_slice_dims);
    visit("start_index_map", self.start_index_map);
    visit("operand_batching_dims", self.operand_batching_dims);
    visit("start_indices_batching_dims", self.start_indices_batching_dims);
    visit("slice_sizes", self.slice_sizes);
    visit("mode", self.mode);
  }
};

enum class ScatterKind : std::uint8_t { Set, Add, Mul, Min, Max };

/// scatter: operands (array, i64 indices, updates): the gather with these numbers says which elements of the
/// array each element of `updates` meets. Updates are applied in row-major order, so the last of several sets
/// wins. `unique` promises that no element is met twice.
struct ScatterParams {
  GatherParams places;
  ScatterKind kind = ScatterKind::Set;
  bool unique = false;
  static void each(auto& self, auto&& visit) {
    GatherParams::each(self.places, visit);
    visit("kind", self.kind);
    visit("unique", self.unique);
  }
};

/// sort: operands of equal shape, sorted along `axis` by the first `num_keys` of them, stably. NaN is last;
/// -0 equals 0. argsort: where in its line (i64) each entry comes from; all operands are keys.
struct SortParams {
  std::int64_t axis = 0, num_keys = 1;
  static void each(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("num_keys", self.num_keys);
  }
};

/// top_k: of the entries along `axis` the `count` greatest, the greatest first, and where they are (i64). NaN
/// is greater than all numbers, -0 equals 0; equal entries keep their order.
struct TopKParams {
  std::int64_t axis = 0, count = 0;
  static void each(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("count", self.count);
  }
};

extern const Op iota_op, concatenate_op, pad_op, dynamic_slice_op, dynamic_update_slice_op, gather_op,
    scatter_op, sort_op, argsort_op, top_k_op;

namespace lax {
Array gather(const Array& a, const Array& indices, const GatherParams& params);
/// Of each line along `axis` the entries at `places`, which has the lines of `a`.
Array entries_at(const Array& a, const Array& places, std::int64_t axis);
Array scatter(const Array& a, const Array& indices, const Array& updates, const ScatterParams& params);
}  // namespace lax

}  // namespace apsis::detail
