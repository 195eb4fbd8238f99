// Between golden fields and Arrays, and the comparison of both.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"
#include "golden/golden.hpp"

namespace apsis::golden {

inline Dtype dtype_named(const std::string& name) {
  for (int d = 0; d < dtype_count; ++d)
    if (name_of(static_cast<Dtype>(d)) == name) return static_cast<Dtype>(d);
  throw std::runtime_error("golden file names no dtype of ours: " + name);
}

/// Calls visit(T{}) with the element type of a dtype.
template <class Visit>
void with_element(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::Bool:
      return visit(bool{});
    case Dtype::I8:
      return visit(std::int8_t{});
    case Dtype::I16:
      return visit(std::int16_t{});
    case Dtype::I32:
      return visit(std::int32_t{});
    case Dtype::I64:
      return visit(std::int64_t{});
    case Dtype::U8:
      return visit(std::uint8_t{});
    case Dtype::U16:
      return visit(std::uint16_t{});
    case Dtype::U32:
      return visit(std::uint32_t{});
    case Dtype::U64:
      return visit(std::uint64_t{});
    case Dtype::BF16:
      return visit(bfloat16{});
    case Dtype::F16:
      return visit(float16{});
    case Dtype::F32:
      return visit(float{});
    case Dtype::F64:
      return visit(double{});
    case Dtype::C64:
      return visit(complex64{});
    case Dtype::C128:
      return visit(complex128{});
  }
}

inline Array to_array(const Field& f) {
  Shape shape;
  for (auto d : f.shape) shape.push_back(d);
  Array out = allocate(Aval(dtype_named(f.dtype), shape));
  with_element(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* data = mutable_data<T>(out);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
        data[i] = {static_cast<decltype(zero.real)>(f.real[k]), static_cast<decltype(zero.real)>(f.imag[k])};
      } else if constexpr (std::is_integral_v<T>) {
        data[i] = static_cast<T>(f.integers[k]);
      } else if constexpr (std::is_same_v<T, double>) {
        data[i] = f.real[k];
      } else {
        data[i] = T(static_cast<float>(f.real[k]));
      }
    }
  });
  return out;
}

/// The inputs x0, x1, ... of a case.
inline std::vector<Array> inputs_of(const Case& c) {
  std::vector<Array> x;
  for (std::size_t i = 0; c.has("x" + std::to_string(i)); ++i)
    x.push_back(to_array(c["x" + std::to_string(i)]));
  return x;
}

/// The elements as doubles; of complex numbers both parts, one after the other.
inline std::vector<double> parts(const Array& a) {
  if (!is_complex(a.dtype())) return a.to_vector<double>();
  std::vector<double> out;
  for (const complex128& z : a.to_vector<complex128>()) {
    out.push_back(z.real);
    out.push_back(z.imag);
  }
  return out;
}
inline std::vector<double> parts(const Field& f) {
  if (!f.is_complex()) return f.real;
  std::vector<double> out;
  for (std::size_t i = 0; i < f.real.size(); ++i) {
    out.push_back(f.real[i]);
    out.push_back(f.imag[i]);
  }
  return out;
}

/// How far two values are apart: exact, or within `relative` of the larger of the golden value and a tenth of
/// the largest.
inline void expect_same(const Array& got, const Field& want, double relative, const std::string& what,
                        double floor = 0) {
  SCOPED_TRACE(what);
  ASSERT_FALSE(got.is_empty());
  EXPECT_EQ(name_of(got.dtype()), want.dtype);
  std::vector<std::int64_t> shape(got.shape().begin(), got.shape().end());
  ASSERT_EQ(shape, want.shape);
  if (want.is_integer()) {
    with_element(got.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        const T* data = static_cast<const T*>(data_of(got));
        for (std::int64_t i = 0; i < got.size(); ++i)
          EXPECT_EQ(data[i], static_cast<T>(want.integers[static_cast<std::size_t>(i)])) << "element " << i;
      }
    });
    return;
  }
  const std::vector<double> values = parts(got), wanted = parts(want);
  double largest = 0;
  for (double v : wanted)
    if (std::isfinite(v)) largest = std::fmax(largest, std::fabs(v));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = values[i], b = wanted[i];
    if (std::isnan(b) || std::isinf(b)) {
      EXPECT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << "element " << i << ": " << a << " against " << b;
    } else if (relative == 0) {
      EXPECT_TRUE(a == b && std::signbit(a) == std::signbit(b))
          << "element " << i << ": " << a << " against " << b;
    } else {
      EXPECT_LE(std::fabs(a - b), relative * std::fmax(std::fabs(b), std::fmax(0.1 * largest, floor)))
          << "element " << i << ": " << a << " against " << b;
    }
  }
}

/// The numbers of a text such as `axis 0 2`; empty if the case has no such text.
inline std::vector<std::int64_t> numbers(const Case& c, const std::string& key) {
  std::vector<std::int64_t> out;
  auto it = c.text.find(key);
  if (it == c.text.end()) return out;
  std::istringstream words(it->second);
  for (std::int64_t v; words >> v;) out.push_back(v);
  return out;
}

}  // namespace apsis::golden
