#include "apsis/ops/linalg.hpp"

#include <algorithm>
#include <string>

#include "apsis/ops/complex.hpp"
#include "apsis/ops/dot_general.hpp"
#include "ops/arguments.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

std::vector<Array> both(const Array& a, const Array& b) {
  Array pair[] = {a, b};
  return detail::promoted(pair);
}

void check_contraction(const char* where, const Array& a, const Array& b, const Dims& axes_a,
                       const Dims& axes_b, Loc loc) {
  bool fits = axes_a.size() == axes_b.size();
  for (std::size_t i = 0; fits && i < axes_a.size(); ++i)
    fits = a.shape()[static_cast<std::size_t>(axes_a[i])] == b.shape()[static_cast<std::size_t>(axes_b[i])];
  if (!fits)
    fail(messages::contraction_sizes,
         {where, to_string(axes_a), to_string(a.shape()), to_string(axes_b), to_string(b.shape())}, loc);
}

Array contract(const char* where, const Array& a, const Array& b, const Dims& axes_a, const Dims& axes_b,
               Loc loc) {
  check_contraction(where, a, b, axes_a, axes_b, loc);
  auto pair = both(a, b);
  return lax::dot_general(pair[0], pair[1], axes_a, axes_b);
}

}  // namespace

Array dot(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0) return contract("dot", a, b, {}, {}, loc);
  return contract("dot", a, b, {a.ndim() - 1}, {std::max(b.ndim() - 2, 0)}, loc);
}

Array matmul(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0)
    fail(messages::matmul_scalar, {to_string(a.shape()), to_string(b.shape())}, loc);
  if (a.ndim() <= 2 && b.ndim() <= 2)
    return contract("matmul", a, b, {a.ndim() - 1}, {std::max(b.ndim() - 2, 0)}, loc);
  // A vector against stacked matrices contracts with each of them; no batch axis is shared.
  if (a.ndim() == 1) return contract("matmul", a, b, {0}, {b.ndim() - 2}, loc);
  if (b.ndim() == 1) return contract("matmul", a, b, {a.ndim() - 1}, {0}, loc);
  check_contraction("matmul", a, b, {a.ndim() - 1}, {b.ndim() - 2}, loc);
  Shape stacks[] = {a.shape(), b.shape()};
  for (Shape& s : stacks) s.resize(s.size() - 2);
  Shape common = detail::broadcast_shapes("matmul", stacks, loc);
  auto pair = both(a, b);
  for (Array& operand : pair) {
    Shape whole = common;
    whole.push_back(operand.dim(-2));
    whole.push_back(operand.dim(-1));
    operand = detail::broadcast_last(operand, whole);
  }
  Dims batch = Dims::counting(common.size());
  int rank = pair[0].ndim();
  return lax::dot_general(pair[0], pair[1], {rank - 1}, {rank - 2}, batch, batch);
}

Array dot_general(const Array& a, const Array& b, const DotOptions& o, Loc loc) {
  const LocScope place(loc);
  const auto joined = [](Dims first, const Dims& second) {
    for (std::int64_t axis : second) first.push_back(axis);
    return first;
  };
  const Dims all_a = detail::checked_axes("dot_general", joined(o.contract_a, o.batch_a), a.shape(), loc),
             all_b = detail::checked_axes("dot_general", joined(o.contract_b, o.batch_b), b.shape(), loc);
  const auto part = [](const Dims& axes, std::size_t first, std::size_t count) {
    return Dims(std::span<const std::int64_t>(axes).subspan(first, count));
  };
  const std::size_t count_a = o.contract_a.size(), count_b = o.contract_b.size();
  const Dims contract_a = part(all_a, 0, count_a), batch_a = part(all_a, count_a, o.batch_a.size()),
             contract_b = part(all_b, 0, count_b), batch_b = part(all_b, count_b, o.batch_b.size());
  check_contraction("dot_general", a, b, contract_a, contract_b, loc);
  check_contraction("dot_general", a, b, batch_a, batch_b, loc);
  auto pair = both(a, b);
  const Dtype own = pair[0].dtype(), wanted = o.preferred_element_type.value_or(own);
  if (promote({own, false}, {wanted, false}).dtype == wanted && wanted != own)
    for (Array& operand : pair) operand = lax::convert(operand, wanted);
  const Array product = lax::dot_general(pair[0], pair[1], contract_a, contract_b, batch_a, batch_b);
  return product.dtype() == wanted ? product : lax::convert(product, wanted);
}

Array vdot(const Array& a, const Array& b, Loc loc) {
  return contract("vdot", lax::reshape(conj(a, loc), {a.size()}), lax::reshape(b, {b.size()}), {0}, {0}, loc);
}

Array inner(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0) return contract("inner", a, b, {}, {}, loc);
  return contract("inner", a, b, {a.ndim() - 1}, {b.ndim() - 1}, loc);
}

// One product an element: an elementwise multiplication, no sum.
Array outer(const Array& a, const Array& b, Loc) {
  auto pair = both(a, b);
  Shape shape{a.size(), b.size()};
  const Array left = lax::broadcast_in_dim(lax::reshape(pair[0], {a.size()}), shape, {0}),
              right = lax::broadcast_in_dim(lax::reshape(pair[1], {b.size()}), shape, {1});
  return left.dtype() == boolean ? lax::logical_and(left, right) : lax::mul(left, right);
}

Array detail::contract_axes(const Array& a, const Array& b, std::int64_t axes, Loc loc) {
  if (axes < 0 || axes > std::min(a.ndim(), b.ndim()))
    fail(messages::tensordot_axes, {std::to_string(axes), to_string(a.shape()), to_string(b.shape())}, loc);
  Dims last, first = Dims::counting(static_cast<std::size_t>(axes));
  for (std::int64_t i = a.ndim() - axes; i < a.ndim(); ++i) last.push_back(i);
  return contract("tensordot", a, b, last, first, loc);
}

Array tensordot(const Array& a, const Array& b, const Dims& axes_a, const Dims& axes_b, Loc loc) {
  return contract("tensordot", a, b, detail::checked_axes("tensordot", axes_a, a.shape(), loc),
                  detail::checked_axes("tensordot", axes_b, b.shape(), loc), loc);
}

}  // namespace apsis
