#include "diffeq/layout.hpp"

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jacobian.hpp"
#include "apsis/transform/jvp.hpp"

namespace apsis::detail {

Layout::Layout(std::span<const Array> like) : dtype_(like[0].dtype()) {
  for (const Array& a : like) {
    shapes_.push_back(a.shape());
    size_ += a.size();
  }
}

Array Layout::join(std::span<const Array> leaves) const {
  if (leaves.size() == 1) return leaves[0].ndim() == 1 ? leaves[0] : reshape(leaves[0], {size_});
  std::vector<Array> parts;
  for (const Array& a : leaves) parts.push_back(reshape(a, {a.size()}));
  return concatenate(parts);
}

std::vector<Array> Layout::split(const Array& vector) const {
  if (shapes_.size() == 1) return {shapes_[0].size() == 1 ? vector : reshape(vector, shapes_[0])};
  std::vector<Array> leaves;
  std::int64_t begin = 0;
  for (const Shape& shape : shapes_) {
    std::int64_t count = 1;
    for (std::int64_t length : shape) count *= length;
    leaves.push_back(reshape(vector[range(begin, begin + count)], shape));
    begin += count;
  }
  return leaves;
}

Array Layout::spread(const Array& a) const {
  if (a.ndim() == 0) return a;
  std::vector<Array> leaves;
  for (const Shape& shape : shapes_) leaves.push_back(broadcast_to(a, shape));
  return join(leaves);
}

Array Layout::spread(const Tolerance& bound) const {
  const auto own = [&](const Array& a) { return astype(stop_gradient(a), dtype_); };
  if (!bound.of_leaves()) return spread(own(bound.of(0)));
  std::vector<Array> leaves;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    leaves.push_back(broadcast_to(own(bound.of(i)), shapes_[i]));
  return join(leaves);
}

Array VectorSlope::operator()(const Array& t, const Array& y) const {
  const std::vector<Array> leaves = layout_.split(y);
  return layout_.join(term_ < 0 ? slopes_(t, leaves)
                                : slopes_.term(static_cast<std::size_t>(term_), t, leaves));
}

Array VectorSlope::jacobian(const Array& t, const Array& y) const {
  return jacfwd([&](const Array& x) { return (*this)(t, x); })(y);
}

Array VectorSlope::time_derivative(const Array& t, const Array& y) const {
  return jvp([&](const Array& s) { return (*this)(s, y); }, t, ones_like(t)).second;
}

}  // namespace apsis::detail
