#include "ops/records.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "apsis/ops/convert.hpp"
#include "core/convert.hpp"

namespace apsis::testing {

std::vector<Record> all_records() {
  std::vector<Record> all = elementwise_records();
  for (auto family : {reduce_records, move_records, matrix_records, fft_records, convolution_records})
    for (Record& record : family()) all.push_back(std::move(record));
  return all;
}

std::uint64_t Random::word() {
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double Random::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(word() >> 11) * 0x1p-53);
}

Array array_of(Dtype dtype, const Shape& shape, const std::vector<double>& values) {
  Array out = allocate(Aval(dtype, shape));
  detail::convert_elements(Dtype::F64, values.data(), dtype, mutable_data<char>(out), values.size());
  return out;
}

Array random_array(Random& random, Dtype dtype, const Shape& shape, double low, double high) {
  if (is_complex(dtype)) {
    std::vector<complex128> numbers(static_cast<std::size_t>(shape.product()));
    for (complex128& z : numbers) z = {random.uniform(low, high), random.uniform(low, high)};
    return astype(array(numbers, shape), dtype);
  }
  std::vector<double> values(static_cast<std::size_t>(shape.product()));
  for (double& v : values) v = random.uniform(low, high);
  return array_of(dtype, shape, values);
}

std::vector<double> edge_values(Dtype dtype) {
  if (dtype == Dtype::Bool) return {0, 1};
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  if (is_integer(dtype)) {
    // The ends of the range come by saturation.
    const double width = static_cast<double>(item_size(dtype) * 8);
    std::vector<double> values = {0, 1, 2, 3, 7, 10, width - 1, width, 100, -infinity, infinity};
    if (is_signed_integer(dtype))
      for (double v : {-1., -2., -3., -7., -width, -100.}) values.push_back(v);
    return values;
  }
  const int digits = dtype == Dtype::BF16                          ? 8
                     : dtype == Dtype::F16                         ? 11
                     : dtype == Dtype::F64 || dtype == Dtype::C128 ? 53
                                                                   : 24;
  const int top = dtype == Dtype::F16 ? 16 : dtype == Dtype::F64 || dtype == Dtype::C128 ? 1024 : 128;
  const double largest = std::ldexp(2 - std::ldexp(1, 1 - digits), top - 1),
               smallest_normal = std::ldexp(1, 2 - top), smallest = std::ldexp(1, 3 - top - digits);
  std::vector<double> values = {nan};
  for (double v :
       {0., 0.3, 0.5, 1., 1 + std::ldexp(1, 1 - digits), 1.5, 2., 2.5, 3., 100.25, 0x1p31, 0x1p63,
        std::ldexp(1, digits), smallest, smallest_normal - smallest, smallest_normal, largest, infinity})
    for (double signed_v : {v, -v}) values.push_back(signed_v);
  return values;
}

std::vector<Array> edge_operands(Dtype dtype, std::size_t count) {
  const std::vector<double> edges = edge_values(dtype);
  std::size_t total = 1;
  for (std::size_t i = 0; i < count; ++i) total *= edges.size();
  std::vector<Array> operands;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < count; ++i, stride *= edges.size()) {
    std::vector<double> values(total);
    for (std::size_t j = 0; j < total; ++j) values[j] = edges[j / stride % edges.size()];
    operands.push_back(array_of(dtype, {static_cast<std::int64_t>(total)}, values));
  }
  return operands;
}

bool same_elements(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const std::size_t bytes = item_size(a.dtype());
  const auto *x = static_cast<const char*>(data_of(a)), *y = static_cast<const char*>(data_of(b));
  for (std::int64_t i = 0; i < a.size(); ++i, x += bytes, y += bytes) {
    if (std::memcmp(x, y, bytes) == 0) continue;
    if (!is_floating(a.dtype())) return false;
    double left, right;
    detail::convert_elements(a.dtype(), x, Dtype::F64, &left, 1);
    detail::convert_elements(b.dtype(), y, Dtype::F64, &right, 1);
    if (!std::isnan(left) || !std::isnan(right)) return false;
  }
  return true;
}

std::vector<Array> run(const Op& op, const Params& params, std::span<const Array> operands) {
  return bind_all(op, params, operands);
}

}  // namespace apsis::testing
