#include "apsis/io/dlpack.hpp"

#include <optional>

#include "apsis/core/strided.hpp"
#include "io/messages.hpp"

namespace apsis::detail {
namespace {

using dlpack::DataType;
using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;
using dlpack::Tensor;

constexpr std::uint32_t major_version = 1, minor_version = 0;
constexpr std::uint64_t read_only = 1;

DataType type_of(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(item_size(dtype) * 8);
  const std::uint8_t code = dtype == Dtype::Bool         ? 6
                            : dtype == Dtype::BF16       ? 4
                            : is_complex(dtype)          ? 5
                            : is_floating(dtype)         ? 2
                            : is_unsigned_integer(dtype) ? 1
                                                         : 0;
  return {code, bits, 1};
}

std::optional<Dtype> dtype_named_by(DataType type) {
  for (int i = 0; i < dtype_count; ++i) {
    const DataType own = type_of(static_cast<Dtype>(i));
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return static_cast<Dtype>(i);
  }
  return {};
}

StridedView view_of(const Tensor& tensor, Loc loc) {
  const bool readable = tensor.device.type == 1 || tensor.device.type == 3 || tensor.device.type == 11 ||
                        tensor.device.type == 13;
  if (!readable) fail(messages::dlpack_device, {std::to_string(tensor.device.type)}, loc);
  const std::optional<Dtype> dtype = dtype_named_by(tensor.dtype);
  if (!dtype)
    fail(messages::dlpack_dtype,
         {std::to_string(tensor.dtype.code), std::to_string(tensor.dtype.bits),
          std::to_string(tensor.dtype.lanes)},
         loc);
  StridedView view{static_cast<const char*>(tensor.data) + tensor.byte_offset, *dtype, {}, {}};
  for (std::int32_t i = 0; i < tensor.ndim; ++i) view.shape.push_back(tensor.shape[i]);
  view.strides = Dims::filled(view.shape.size(), 1);
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (tensor.strides)
      view.strides[i] = tensor.strides[i];
    else if (i + 1 < view.shape.size())
      view.strides[i] = view.strides[i + 1] * view.shape[i + 1];
  }
  return view;
}

template <class Managed>
void give_back(void* context) {
  auto* tensor = static_cast<Managed*>(context);
  if (tensor->deleter) tensor->deleter(tensor);
}

/// What a tensor that was given out holds on to.
template <class Managed>
struct Exported {
  Managed tensor;
  Array array;
  StridedView view;
};

template <class Managed>
Managed* exported(const Array& x, Loc loc) {
  auto* out = new Exported<Managed>{{}, x, strided_view(x, loc)};
  Tensor& t = out->tensor.dl_tensor;
  t.data = const_cast<void*>(out->view.data);
  t.device = {1, 0};
  t.ndim = static_cast<std::int32_t>(out->view.shape.size());
  t.dtype = type_of(out->view.dtype);
  t.shape = out->view.shape.data();
  t.strides = out->view.strides.data();
  t.byte_offset = 0;
  out->tensor.manager_ctx = out;
  out->tensor.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  return &out->tensor;
}

}  // namespace

Array import_tensor(ManagedTensor* tensor, Loc loc) {
  return adopt(view_of(tensor->dl_tensor, loc), give_back<ManagedTensor>, tensor, loc);
}
Array import_tensor(ManagedTensorVersioned* tensor, Loc loc) {
  if (tensor->version.major > major_version)
    fail(messages::dlpack_version,
         {std::to_string(tensor->version.major) + "." + std::to_string(tensor->version.minor)}, loc);
  return adopt(view_of(tensor->dl_tensor, loc), give_back<ManagedTensorVersioned>, tensor, loc);
}

void export_tensor(const Array& x, ManagedTensor** out, Loc loc) { *out = exported<ManagedTensor>(x, loc); }
void export_tensor(const Array& x, ManagedTensorVersioned** out, Loc loc) {
  *out = exported<ManagedTensorVersioned>(x, loc);
  (*out)->version = {major_version, minor_version};
  (*out)->flags = read_only;
}

}  // namespace apsis::detail
