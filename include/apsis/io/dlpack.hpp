#pragma once

// Arrays shared with other libraries of tensors, without a copy, by DLPack (https://dmlc.github.io/dlpack,
// version 1). The structs here have the layout of those in dlpack.h, which is not needed: where a library has
// its own, name its type.
//
//   Array x = from_dlpack(tensor.toDLPack());                       // takes it over
//   at::Tensor y = at::fromDLPack(to_dlpack<DLManagedTensor>(x));   // shares x's memory

#include <cstddef>
#include <cstdint>

#include "apsis/core/array.hpp"

namespace apsis {

/// The structs of dlpack.h, in other names.
namespace dlpack {

/// Where memory is: 1 is that of the processor, 3, 11 and 13 what it shares with a GPU.
struct Device {
  std::int32_t type;
  std::int32_t id;
};
/// What elements are: 0 signed, 1 unsigned integers, 2 floating, 4 bfloat, 5 complex, 6 booleans.
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;  ///< numbers of one element
};
/// DLTensor: elements in memory.
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< counted in elements; null: row-major
  std::uint64_t byte_offset;
};
/// DLManagedTensor: a tensor and who gives up its memory.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};
/// DLPackVersion.
struct Version {
  std::uint32_t major, minor;
};
/// DLManagedTensorVersioned, which says that an array's memory is only read.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;  ///< bit 0: read only; bit 1: a copy
  Tensor dl_tensor;
};

}  // namespace dlpack

namespace detail {
Array import_tensor(dlpack::ManagedTensor* tensor, Loc loc);
Array import_tensor(dlpack::ManagedTensorVersioned* tensor, Loc loc);
void export_tensor(const Array& x, dlpack::ManagedTensor** out, Loc loc);
void export_tensor(const Array& x, dlpack::ManagedTensorVersioned** out, Loc loc);

/// The struct here that a library's own has the layout of.
template <class T>
using DlpackLayout = std::conditional_t < requires(T& t) {
  t.version;
}
, dlpack::ManagedTensorVersioned, dlpack::ManagedTensor > ;
template <class T>
constexpr bool has_dlpack_layout() {
  using Own = DlpackLayout<T>;
  return sizeof(T) == sizeof(Own) && offsetof(T, dl_tensor) == offsetof(Own, dl_tensor) &&
         offsetof(T, manager_ctx) == offsetof(Own, manager_ctx) &&
         offsetof(T, deleter) == offsetof(Own, deleter);
}
}  // namespace detail

/// The array in the memory of another library's tensor (a DLManagedTensor or DLManagedTensorVersioned), which
/// is taken over: its deleter is called when no array uses it. Elements that are not contiguous in row-major
/// order are copied. Throws for memory of a GPU, for dtypes that are none here, and for a later major
/// version; then the tensor is still the caller's. Nobody may change the elements while the array lives.
template <class Managed>
Array from_dlpack(Managed* tensor, Loc loc = Loc::here()) {
  static_assert(detail::has_dlpack_layout<Managed>(), "from_dlpack takes a DLManagedTensor or its successor");
  return detail::import_tensor(reinterpret_cast<detail::DlpackLayout<Managed>*>(tensor), loc);
}
/// A tensor that shares the memory of an array and keeps it alive until its deleter is called, from any
/// thread. It must not be written to. Throws where there is no value yet, under jit and vmap.
template <class Managed = dlpack::ManagedTensorVersioned>
Managed* to_dlpack(const Array& x, Loc loc = Loc::here()) {
  static_assert(detail::has_dlpack_layout<Managed>(), "to_dlpack makes a DLManagedTensor or its successor");
  detail::DlpackLayout<Managed>* tensor = nullptr;
  detail::export_tensor(x, &tensor, loc);
  return reinterpret_cast<Managed*>(tensor);
}

}  // namespace apsis
