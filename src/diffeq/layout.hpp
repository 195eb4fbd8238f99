#pragma once

// The leaves of a state as one vector: what solvers with Jacobians work on.

#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/diffeq/solver.hpp"

namespace apsis::detail {

class Layout {
 public:
  explicit Layout(std::span<const Array> like);
  std::int64_t size() const { return size_; }
  Dtype dtype() const { return dtype_; }
  /// The leaves after one another: [size].
  Array join(std::span<const Array> leaves) const;
  std::vector<Array> split(const Array& vector) const;
  std::size_t leaves() const { return shapes_.size(); }
  /// An array that broadcasts to each leaf, as a vector; a scalar stays one.
  Array spread(const Array& a) const;
  /// A bound of errors, as such a vector or scalar of the state's dtype.
  Array spread(const Tolerance& bound) const;

 private:
  std::vector<Shape> shapes_;
  std::int64_t size_ = 0;
  Dtype dtype_;
};

/// The slope as a function of the state as a vector: by all terms, or by one.
class VectorSlope {
 public:
  VectorSlope(const Slopes& slopes, const Layout& layout, int term = -1)
      : slopes_(slopes), layout_(layout), term_(term) {}
  Array operator()(const Array& t, const Array& y) const;
  /// ∂f/∂y: [size, size].
  Array jacobian(const Array& t, const Array& y) const;
  /// ∂f/∂t, t running forwards.
  Array time_derivative(const Array& t, const Array& y) const;

 private:
  const Slopes& slopes_;
  const Layout& layout_;
  int term_;
};

}  // namespace apsis::detail
