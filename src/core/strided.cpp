#include "apsis/core/strided.hpp"

#include <cstdint>
#include <cstring>

#include "core/in_progress.hpp"
#include "core/messages.hpp"
#include "core/sizes.hpp"

namespace apsis {
namespace {

/// Copies what lies along the axes from `axis` on to `out`, which moves on.
void copy_part(const StridedView& view, std::size_t axis, const char* from, char*& out) {
  const auto size = static_cast<std::ptrdiff_t>(item_size(view.dtype));
  if (axis == view.shape.size()) {
    std::memcpy(out, from, static_cast<std::size_t>(size));
    out += size;
    return;
  }
  for (std::int64_t i = 0; i < view.shape[axis]; ++i)
    copy_part(view, axis + 1, from + i * view.strides[axis] * size, out);
}

void check(const StridedView& view, Loc loc) {
  const LocScope place(loc);
  if (view.strides.size() != view.shape.size())
    fail(messages::strides_number, {to_string(view.strides), to_string(view.shape)}, loc);
  detail::checked_count(view.dtype, view.shape);
}

bool are_aligned(const StridedView& view) {
  const std::size_t size = item_size(view.dtype), part = is_complex(view.dtype) ? size / 2 : size;
  return reinterpret_cast<std::uintptr_t>(view.data) % part == 0;
}

}  // namespace

bool StridedView::is_contiguous() const {
  if (strides.size() != shape.size()) return false;
  std::int64_t expected = 1;
  if (shape.product() == 0) return true;
  for (std::size_t i = shape.size(); i-- > 0; expected *= shape[i])
    if (shape[i] != 1 && strides[i] != expected) return false;
  return true;
}

StridedView strided_view(const Array& x, Loc loc) {
  const Array& value = detail::require_concrete(x, "strided_view", loc);
  StridedView view{data_of(value), value.dtype(), value.shape(), Dims::filled(value.shape().size(), 1)};
  for (std::size_t i = view.shape.size(); i-- > 1;) view.strides[i - 1] = view.strides[i] * view.shape[i];
  return view;
}

Array array(const StridedView& view, Loc loc) {
  check(view, loc);
  Array out = allocate(Aval(view.dtype, view.shape));
  char* to = mutable_data<char>(out);
  if (view.shape.product() > 0) copy_part(view, 0, static_cast<const char*>(view.data), to);
  if (view.dtype == Dtype::Bool)
    for (char* b = mutable_data<char>(out); b != to; ++b) *b = *b != 0;
  return out;
}

Array adopt(const StridedView& view, void (*release)(void* context), void* context, Loc loc) {
  check(view, loc);
  if (view.is_contiguous() && are_aligned(view) && view.shape.product() > 0) {
    Array out = detail::array_view(view.dtype, view.data, view.shape);
    if (auto* node = static_cast<detail::BufferNode*>(out.node()); node->borrowed) {
      node->release = release;
      node->context = context;
      return out;
    }
    release(context);  // booleans that are none: it was copied
    return out;
  }
  Array out = array(view, loc);
  release(context);
  return out;
}

void detail::fail_eigen(const Array& x, const char* wanted, Loc loc) {
  fail(messages::eigen_axes, {wanted, to_string(x.aval())}, loc);
}

}  // namespace apsis
