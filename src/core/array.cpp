#include "apsis/core/array.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "apsis/core/op.hpp"
#include "apsis/core/watch.hpp"
#include "core/convert.hpp"
#include "core/given_up.hpp"
#include "core/in_progress.hpp"
#include "core/list.hpp"
#include "core/messages.hpp"
#include "core/new_buffer.hpp"

namespace apsis {
namespace detail {
namespace {

const char* transformation_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::Stage:
      return "the staged function (jit, or the body of a loop or branch)";
    case NodeKind::Batch:
      return "vmap";
    default:
      return "the transformation";
  }
}

// The concrete array behind a, or the tracer that hides it.
const Array& primal_of(const Array& a) {
  const Array* p = &a;
  while (p->node() && (p->node()->kind == NodeKind::Jvp || p->node()->kind == NodeKind::Linearize))
    p = &static_cast<DualNode*>(p->node())->primal;
  return *p;
}

}  // namespace

const Array& require_concrete(const Array& a, const char* where, Loc loc) {
  const Array& p = primal_of(a);
  if (p.node() && p.node()->kind == NodeKind::Abstract) fail_abstract(p, where, loc);
  if (is_tracer(p) && !is_in_progress(p)) fail_leaked(p, where, loc);
  if (!is_concrete(p))
    fail(messages::not_concrete, {where, to_string(p.aval()), transformation_of(p.node()->kind)}, loc);
  return p;
}

namespace {
void destroy_tracer(Node* node) {
  if (tracers_watched.load(std::memory_order_relaxed)) forget_tracer(node);
  switch (node->kind) {
    case NodeKind::Buffer:
      return;
    case NodeKind::List:
      delete static_cast<ListNode*>(node);
      return;
    case NodeKind::Jvp:
    case NodeKind::Linearize:
      delete static_cast<DualNode*>(node);
      return;
    case NodeKind::Batch:
      delete static_cast<BatchNode*>(node);
      return;
    case NodeKind::Stage:
      delete static_cast<StageNode*>(node);
      return;
    case NodeKind::Abstract:
      delete static_cast<AbstractNode*>(node);
      return;
  }
}

/// Beside the block of an interned aval that nobody watches.
[[gnu::noinline]] void destroy_other(Node* node) {
  if (node->kind != NodeKind::Buffer) return destroy_tracer(node);
  auto* buffer = static_cast<BufferNode*>(node);
  if (arrays_watched.load(std::memory_order_relaxed)) forget_array(buffer);
  if (buffer->borrowed) {
    if (buffer->release) buffer->release(buffer->context);
    delete buffer;
    return;
  }
  const std::size_t bytes = block_size(buffer->aval);
  buffer->~BufferNode();
  free_block(buffer, bytes);
}
}  // namespace

void destroy_node(Node* node) {
  if (node->kind != NodeKind::Buffer || node->borrowed || !node->aval.node()->interned ||
      arrays_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return destroy_other(node);
  give_block(node, block_size(node->aval));
}

Array scalar_array(Dtype dtype, const void* value, bool weak) {
  Array a = allocate(Aval(AvalData{dtype, weak, ListKind::None, {}}));
  std::memcpy(static_cast<BufferNode*>(a.node())->data, value, item_size(dtype));
  a.node()->literal = weak || dtype == Dtype::Bool;
  return a;
}

Array convert_scalar(const Array& scalar, Dtype dtype) {
  Array out = allocate(Aval(dtype, {}));
  convert_elements(scalar.dtype(), data_of(scalar), dtype, static_cast<BufferNode*>(out.node())->data, 1);
  out.node()->literal = is_integer(dtype);  // code that divides by a known one has no division
  return out;
}

Array literal(Dtype dtype, double value, bool weak) {
  Array out = allocate(Aval(AvalData{dtype, weak, ListKind::None, {}}));
  convert_elements(Dtype::F64, &value, dtype, static_cast<BufferNode*>(out.node())->data, 1);
  out.node()->literal = true;
  return out;
}

Array array_from(Dtype dtype, const void* data, std::size_t count, const Shape& shape, Loc loc) {
  const LocScope place(loc);
  checked_count(dtype, shape);
  if (static_cast<std::int64_t>(count) != shape.product())
    fail(messages::data_size, {std::to_string(count), to_string(shape), std::to_string(shape.product())},
         loc);
  Array out = allocate(Aval(dtype, shape));
  void* elements = static_cast<BufferNode*>(out.node())->data;
  if (dtype == Dtype::Bool)
    convert_elements(Dtype::U8, data, Dtype::Bool, elements, count);
  else if (count)
    std::memcpy(elements, data, count * item_size(dtype));
  return out;
}

namespace {
bool are_booleans(const std::uint8_t* bytes, std::int64_t count) {
  return std::all_of(bytes, bytes + count, [](std::uint8_t b) { return b <= 1; });
}
}  // namespace

Array array_view(Dtype dtype, const void* data, const Shape& shape) {
  const Aval aval(dtype, shape);
  // Programs rely on booleans of 0 and 1; other bytes are none of C++ either, but files and devices have
  // them.
  if (dtype == Dtype::Bool && !are_booleans(static_cast<const std::uint8_t*>(data), aval.size()))
    return array_from(dtype, data, static_cast<std::size_t>(aval.size()), shape, {});
  auto* node = new BufferNode(aval, const_cast<void*>(data));
  node->borrowed = true;
  return Array::adopt(node);
}

void fail_ragged(Loc loc) { fail(messages::ragged_literal, {}, loc); }

}  // namespace detail

Array allocate(const Aval& aval) { return Array::adopt(detail::new_buffer(aval)); }

Array detail::array_of_bits(const std::vector<bool>& data, Loc loc) {
  std::vector<std::uint8_t> bytes(data.begin(), data.end());
  return detail::array_from(Dtype::Bool, bytes.data(), bytes.size(),
                            {static_cast<std::int64_t>(bytes.size())}, loc);
}

Array abstract_array(const Shape& shape, Dtype dtype) {
  return Array::adopt(new detail::AbstractNode(Aval(dtype, shape)));
}

Array concrete_value(const Array& a) {
  const Array& p = detail::primal_of(a);
  return is_concrete(p) ? p : Array{};
}

void Array::throw_empty(Loc loc) { fail(messages::empty_array, {}, loc); }

std::int64_t Array::dim(int axis, Loc loc) const {
  int rank = ndim(loc), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) detail::fail_axis("dim", axis, shape(), loc);
  return shape()[static_cast<std::size_t>(at)];
}

Array::operator bool() const {
  bool value;
  // A conversion has no room for a place. What is traced knows where it was made: `if (x > 0.)` that line.
  const Loc made = detail::is_tracer(*this) ? static_cast<detail::TracerNode*>(node_)->loc : Loc();
  if (size(made) != 1) fail(messages::not_one_element, {"bool", to_string(aval())}, made);
  copy_item(Dtype::Bool, &value, made);
  return value;
}

void Array::copy_item(Dtype dtype, void* out, Loc loc) const {
  if (size(loc) != 1) fail(messages::not_one_element, {"item", to_string(aval())}, loc);
  copy_converted(dtype, out, loc);
}

void Array::copy_converted(Dtype dtype, void* out, Loc loc) const {
  const Array& value = detail::require_concrete(*this, dtype == Dtype::Bool ? "bool" : "item", loc);
  if (is_complex(value.dtype()) && !is_complex(dtype) && dtype != Dtype::Bool)
    fail(messages::complex_as_real, {std::string(name_of(dtype)), to_string(aval())}, loc);
  detail::convert_elements(value.dtype(), data_of(value), dtype, out, static_cast<std::size_t>(value.size()));
}

const void* Array::concrete_data(Dtype asked, Loc loc) const {
  if (asked != dtype(loc))
    fail(messages::span_dtype, {std::string(name_of(dtype())), std::string(name_of(asked))}, loc);
  return data_of(detail::require_concrete(*this, "span", loc));
}

}  // namespace apsis
