#pragma once

// The memory of arrays, for other libraries, and theirs for arrays. See apsis/io/dlpack.hpp for those that
// speak DLPack.

#include "apsis/core/array.hpp"

namespace apsis {

/// Elements in memory: that at place (i, j, …) is strides[0]·i + strides[1]·j + … elements after `data`.
struct StridedView {
  const void* data = nullptr;
  Dtype dtype = Dtype::F64;
  Shape shape = {};
  Dims strides = {};  ///< counted in elements; may be 0 or negative
  /// Whether the elements lie one after the other in row-major order, as those of arrays do.
  bool is_contiguous() const;
};

/// The elements of an array in place, valid while it lives. They must not be changed. Throws where there is
/// no value yet, under jit and vmap.
StridedView strided_view(const Array& x, Loc loc = Loc::here());
/// A copy of the elements. Throws unless there are as many strides as axes.
Array array(const StridedView& view, Loc loc = Loc::here());
/// An array over the elements, which must not change: `release(context)` is called once, when no array uses
/// them any more. Elements that are not contiguous, or not aligned to their size, and booleans other than 0
/// and 1 are copied, and released at once. If it throws, they are not released.
Array adopt(const StridedView& view, void (*release)(void* context), void* context, Loc loc = Loc::here());

namespace detail {
[[noreturn]] void fail_eigen(const Array& x, const char* wanted, Loc loc);
}  // namespace detail

}  // namespace apsis
