#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "core/convert.hpp"
#include "ops/blas.hpp"
#include "ops/complex.hpp"
#include "ops/dot_order.hpp"
#include "ops/dot_params.hpp"
#include "ops/dtype_set.hpp"
#include "ops/each_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/jet_rules.hpp"
#include "ops/matrix_product.hpp"
#include "ops/messages.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {

DotSizes::DotSizes(const DotParams& p, const Shape& a, const Shape& b) {
  for (std::int64_t axis : p.batch_a) {
    result.push_back(a[static_cast<std::size_t>(axis)]);
    batch *= result.back();
  }
  for (std::int64_t axis : p.contract_a) k *= a[static_cast<std::size_t>(axis)];
  for (std::int64_t axis = 0; axis < a.rank(); ++axis)
    if (!p.contract_a.contains(axis) && !p.batch_a.contains(axis)) {
      free_a.push_back(axis);
      result.push_back(a[static_cast<std::size_t>(axis)]);
      m *= result.back();
    }
  for (std::int64_t axis = 0; axis < b.rank(); ++axis)
    if (!p.contract_b.contains(axis) && !p.batch_b.contains(axis)) {
      free_b.push_back(axis);
      result.push_back(b[static_cast<std::size_t>(axis)]);
      n *= result.back();
    }
}

bool is_k_ordered(const DotParams& p, const Shape& a, const Shape& b) {
  DotSizes sizes(p, a, b);
  return p.k_ordered ||
         static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k) <=
             static_cast<double>(inline_dot_limit);
}

namespace {

Dims axes_joined(const Dims& a, const Dims& b, const Dims& c) {
  Dims all = a;
  for (std::int64_t axis : b) all.push_back(axis);
  for (std::int64_t axis : c) all.push_back(axis);
  return all;
}

// Axes in the order batch, rows, columns of the matrices.
Dims order_of_a(const DotParams& p, const DotSizes& s) {
  return axes_joined(p.batch_a, s.free_a, p.contract_a);
}
Dims order_of_b(const DotParams& p, const DotSizes& s) {
  return axes_joined(p.batch_b, p.contract_b, s.free_b);
}

View permuted(const Shape& shape, const Dims& order) {
  View from = View::contiguous(shape), view;
  for (std::int64_t axis : order) {
    view.shape.push_back(from.shape[static_cast<std::size_t>(axis)]);
    view.strides.push_back(from.strides[static_cast<std::size_t>(axis)]);
  }
  return view;
}

void dot_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2);
  const auto& p = params.as<DotParams>();
  const Shape &a = in[0].shape(), &b = in[1].shape();
  APSIS_ASSERT(in[0].dtype() == in[1].dtype());
  APSIS_ASSERT(p.contract_a.size() == p.contract_b.size() && p.batch_a.size() == p.batch_b.size());
  auto check = [&](const Dims& of_a, const Dims& of_b) {
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      APSIS_ASSERT(of_a[i] >= 0 && of_a[i] < a.rank() && of_b[i] >= 0 && of_b[i] < b.rank());
      APSIS_ASSERT(a[static_cast<std::size_t>(of_a[i])] == b[static_cast<std::size_t>(of_b[i])]);
    }
  };
  check(p.contract_a, p.contract_b);
  check(p.batch_a, p.batch_b);
  DotSizes s(p, a, b);
  // No axis twice: then the three groups make up the rank.
  APSIS_ASSERT(s.free_a.size() + p.contract_a.size() + p.batch_a.size() == a.size());
  APSIS_ASSERT(s.free_b.size() + p.contract_b.size() + p.batch_b.size() == b.size());
  out.push_back(Aval(in[0].dtype(), s.result, in[0].weak() && in[1].weak()));
}

// The operand as contiguous matrices, in the type it is computed in. `storage` keeps a copy where one is
// needed.
const void* as_matrices(const Array& operand, const Dims& order, Dtype compute, std::vector<char>& storage) {
  const void* data = data_of(operand);
  std::vector<char> moved;
  std::size_t item = item_size(operand.dtype()), count = static_cast<std::size_t>(operand.size());
  View view = permuted(operand.shape(), order);
  bool converted = compute != operand.dtype();
  if (!view.is_contiguous()) {
    auto& target = converted ? moved : storage;
    target.resize(count * item);
    copy_view(view, data, target.data(), item);
    data = target.data();
  }
  if (!converted) return data;
  storage.resize(count * item_size(compute));
  convert_elements(operand.dtype(), data, compute, storage.data(), count);
  return storage.data();
}

// One multiply-add of the k-ordered form.
template <class T>
T accumulate(T a, T b, T sum) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, sum);
  } else if constexpr (std::is_same_v<T, bool>) {
    return sum || (a && b);
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(sum) +
                          static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

// Rows of b are added up one after the other, which vectorises over n and keeps the order in k.
template <class T>
void multiply_row(const DotSizes& s, const T* left, const T* right, T* out) {
  for (std::int64_t j = 0; j < s.n; ++j) out[j] = T{};
  for (std::int64_t i = 0; i < s.k; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) out[j] = accumulate(left[i], right[i * s.n + j], out[j]);
}

// The same with the chains of dot_order.hpp, `partial` holding dot_partials rows of sums.
template <class T>
void multiply_row_in_chains(const DotSizes& s, const T* left, const T* right, T* out,
                            std::vector<T>& partial) {
  partial.assign(static_cast<std::size_t>(dot_partials * s.n), T{});
  T* sums = partial.data();
  if (s.n == 1) {
    std::int64_t i = 0;
    for (; i + dot_partials <= s.k; i += dot_partials)
      for (int p = 0; p < dot_partials; ++p) sums[p] = accumulate(left[i + p], right[i + p], sums[p]);
    for (int p = 0; i + p < s.k; ++p) sums[p] = accumulate(left[i + p], right[i + p], sums[p]);
  } else {
    for (std::int64_t i = 0; i < s.k; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        T& sum = sums[i % dot_partials * s.n + j];
        sum = accumulate(left[i], right[i * s.n + j], sum);
      }
  }
  for (std::int64_t half = dot_partials / 2 * s.n; half >= s.n; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  std::copy_n(sums, s.n, out);
}

template <class T>
void multiply_k_ordered(const DotSizes& s, const void* a, const void* b, void* c) {
  auto* left = static_cast<const T*>(a);
  auto* right = static_cast<const T*>(b);
  auto* out = static_cast<T*>(c);
  std::vector<T> partial;
  for (std::int64_t matrix = 0; matrix < s.batch; ++matrix, right += s.k * s.n)
    for (std::int64_t row = 0; row < s.m; ++row, left += s.k, out += s.n) {
      if constexpr (!std::is_integral_v<T>)
        if (s.k >= dot_sequential_below) {
          multiply_row_in_chains(s, left, right, out, partial);
          continue;
        }
      multiply_row(s, left, right, out);
    }
}

/// Complex numbers, by their parts, as `dot_of_complex` composes it.
template <class T>
void multiply_parts(const DotSizes& s, const void* a, const void* b, void* c) {
  using Part = decltype(T::real);
  const auto part = [](const void* numbers, std::int64_t count, Part T::*which) {
    std::vector<Part> parts(static_cast<std::size_t>(count));
    std::transform(static_cast<const T*>(numbers), static_cast<const T*>(numbers) + count, parts.begin(),
                   std::mem_fn(which));
    return parts;
  };
  const auto product = [&](Part T::*of_a, Part T::*of_b) {
    std::vector<Part> out(static_cast<std::size_t>(s.batch * s.m * s.n));
    multiply_k_ordered<Part>(s, part(a, s.batch * s.m * s.k, of_a).data(),
                             part(b, s.batch * s.k * s.n, of_b).data(), out.data());
    return out;
  };
  const std::vector<Part> rr = product(&T::real, &T::real), ii = product(&T::imag, &T::imag),
                          ri = product(&T::real, &T::imag), ir = product(&T::imag, &T::real);
  for (std::size_t i = 0; i < rr.size(); ++i) static_cast<T*>(c)[i] = {rr[i] - ii[i], ri[i] + ir[i]};
}

void multiply(Dtype dtype, const DotSizes& s, const void* a, const void* b, void* c) {
  switch (dtype) {
    case Dtype::Bool:
      return multiply_k_ordered<bool>(s, a, b, c);
    case Dtype::I8:
      return multiply_k_ordered<std::int8_t>(s, a, b, c);
    case Dtype::I16:
      return multiply_k_ordered<std::int16_t>(s, a, b, c);
    case Dtype::I32:
      return multiply_k_ordered<std::int32_t>(s, a, b, c);
    case Dtype::I64:
      return multiply_k_ordered<std::int64_t>(s, a, b, c);
    case Dtype::U8:
      return multiply_k_ordered<std::uint8_t>(s, a, b, c);
    case Dtype::U16:
      return multiply_k_ordered<std::uint16_t>(s, a, b, c);
    case Dtype::U32:
      return multiply_k_ordered<std::uint32_t>(s, a, b, c);
    case Dtype::U64:
      return multiply_k_ordered<std::uint64_t>(s, a, b, c);
    case Dtype::F32:
      return multiply_k_ordered<float>(s, a, b, c);
    case Dtype::F64:
      return multiply_k_ordered<double>(s, a, b, c);
    case Dtype::C64:
      return multiply_parts<complex64>(s, a, b, c);
    case Dtype::C128:
      return multiply_parts<complex128>(s, a, b, c);
    default:
      APSIS_ASSERT(!"half floats are computed in f32");
  }
}

void multiply_in_blas(Dtype dtype, const DotSizes& s, const void* a, const void* b, void* c) {
  const std::size_t item = item_size(dtype);
  for (std::int64_t i = 0; i < s.batch; ++i)
    blas_multiply(dtype, s.m, s.n, s.k,
                  static_cast<const char*>(a) + static_cast<std::size_t>(i * s.m * s.k) * item,
                  static_cast<const char*>(b) + static_cast<std::size_t>(i * s.k * s.n) * item,
                  static_cast<char*>(c) + static_cast<std::size_t>(i * s.m * s.n) * item);
}

/// Axes [first, first + count) of a view as one, with its stride; nothing if they are not.
std::optional<std::int64_t> merged(const View& view, std::size_t first, std::size_t count) {
  std::int64_t stride = 1, length = 1;
  for (std::size_t d = first + count; d-- > first;) {
    if (view.shape[d] == 1) continue;
    if (length == 1)
      stride = view.strides[d];
    else if (view.strides[d] != stride * length)
      return std::nullopt;
    length *= view.shape[d];
  }
  return stride;
}

/// An operand as matrices that lie in memory at any strides: copied only if groups of its axes cannot be one.
struct StridedMatrices {
  StridedMatrices(const Array& operand, const Dims& order, std::size_t batch_axes, std::size_t row_axes,
                  std::vector<char>& storage)
      : batch(batch_axes), view(permuted(operand.shape(), order)) {
    const std::size_t column_axes = order.size() - batch - row_axes;
    auto rows = merged(view, batch, row_axes), columns = merged(view, batch + row_axes, column_axes);
    data = static_cast<const char*>(rows && columns ? data_of(operand)
                                                    : as_matrices(operand, order, operand.dtype(), storage));
    if (!rows || !columns) {
      view = View::contiguous(view.shape);
      rows = merged(view, batch, row_axes);
      columns = merged(view, batch + row_axes, column_axes);
    }
    row_stride = *rows;
    column_stride = *columns;
    item = item_size(operand.dtype());
  }
  MatrixOperand matrix(std::int64_t number) const {
    std::int64_t at = 0;
    for (std::size_t d = batch; d-- > 0; number /= view.shape[d])
      at += number % view.shape[d] * view.strides[d];
    return {data + at * static_cast<std::int64_t>(item), row_stride, column_stride};
  }
  std::size_t batch, item;
  View view;
  const char* data;
  std::int64_t row_stride, column_stride;
};

/// The rows of a large product, or its columns where there are more of these, in pieces for several threads.
/// Each thread copies the other operand for itself, so pieces are not small.
struct Pieces {
  explicit Pieces(const DotSizes& s)
      : of_rows(s.m >= s.n), lines(of_rows ? s.m : s.n), unit(of_rows ? rows_of_tiles : columns_of_tiles) {
    constexpr std::int64_t reads_as_multiplications = 4;  // of a matrix that meets a vector
    const double all = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
                       static_cast<double>(std::min(s.m, s.n) == 1 ? reads_as_multiplications : 1);
    count = pieces_of_matrix(s.batch, all, lines / unit);
    operations = all / static_cast<double>(count);
  }
  std::int64_t first(std::int64_t piece) const {
    return std::min(lines, piece * ((lines + unit - 1) / unit) / count * unit);
  }

  static constexpr std::int64_t rows_of_tiles = 42, columns_of_tiles = 128;  // whole tiles of all kinds
  bool of_rows;
  std::int64_t lines, unit, count;
  double operations;  // of a piece
};

MatrixOperand at(const MatrixOperand& of, std::int64_t elements, std::int64_t bytes) {
  return {static_cast<const char*>(of.data) + elements * bytes, of.row_stride, of.column_stride};
}

/// The terms of one product with few results, such as aᵀa of a tall a, in parts for several threads; false if
/// it is not worth them. The sums of parts are added up in their order, which is that of the product.
bool multiply_by_terms(Dtype dtype, const DotSizes& s, const MatrixOperand& a, const MatrixOperand& b,
                       void* c) {
  constexpr std::int64_t most_sums = 1 << 20;  // elements
  constexpr std::size_t smallest_item = 4;     // others are sums of another type, rounded
  const std::int64_t part = product_part(s.k), count = (s.k + part - 1) / part, results = s.m * s.n;
  const double operations = static_cast<double>(results) * static_cast<double>(part);
  if (item_size(dtype) < smallest_item || count < 2 || count * results > most_sums ||
      pieces_of_matrix(1, operations * static_cast<double>(count), count) == 1)
    return false;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  std::vector<char> sums(static_cast<std::size_t>(count * results * item));
  each_matrix(count, operations, [&](std::int64_t i) {
    const std::int64_t first = i * part;
    matrix_product(dtype, s.m, s.n, std::min(part, s.k - first), at(a, first * a.column_stride, item),
                   at(b, first * b.row_stride, item), sums.data() + i * results * item, s.n);
  });
  visit_dtype<number_dtypes>(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) >= smallest_item) {
      using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                              std::type_identity<T>>::type;
      const auto* from = reinterpret_cast<const Sum*>(sums.data());
      auto* to = static_cast<Sum*>(c);
      std::copy_n(from, results, to);
      for (std::int64_t i = 1; i < count; ++i)
        for (std::int64_t k = 0; k < results; ++k) to[k] += from[i * results + k];
    }
  });
  return true;
}

void multiply_large(const DotParams& p, const DotSizes& s, std::span<const Array> in, Array& out) {
  std::vector<char> storage_a, storage_b;
  const StridedMatrices a(in[0], order_of_a(p, s), p.batch_a.size(), s.free_a.size(), storage_a),
      b(in[1], order_of_b(p, s), p.batch_b.size(), p.contract_b.size(), storage_b);
  auto* const result = mutable_data<char>(out);
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const Pieces pieces(s);
  if (s.batch == 1 && pieces.count == 1 &&
      multiply_by_terms(out.dtype(), s, a.matrix(0), b.matrix(0), result))
    return;
  each_matrix(s.batch * pieces.count, pieces.operations, [&](std::int64_t i) {
    const std::int64_t matrix = i / pieces.count, piece = i % pieces.count, first = pieces.first(piece),
                       lines = pieces.first(piece + 1) - first;
    const MatrixOperand left = a.matrix(matrix), right = b.matrix(matrix);
    char* const part = result + (matrix * s.m * s.n + first * (pieces.of_rows ? s.n : 1)) * item;
    const std::int64_t m = pieces.of_rows ? lines : s.m, n = pieces.of_rows ? s.n : lines;
    matrix_product(out.dtype(), m, n, s.k, pieces.of_rows ? at(left, first * left.row_stride, item) : left,
                   pieces.of_rows ? right : at(right, first * right.column_stride, item), part,
                   m > 1 ? s.n : n);
  });
}

void dot_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<DotParams>();
  if (out[0].size() == 0) return;
  DotSizes s(p, in[0].shape(), in[1].shape());
  Dtype dtype = out[0].dtype(), compute = compute_dtype(dtype);
  std::vector<char> storage_a, storage_b, sums;
  const bool large = s.k > 0 && !is_k_ordered(p, in[0].shape(), in[1].shape());
  if (large && contains(number_dtypes, dtype)) return multiply_large(p, s, in, out[0]);
  const void* a = as_matrices(in[0], order_of_a(p, s), compute, storage_a);
  const void* b = as_matrices(in[1], order_of_b(p, s), compute, storage_b);
  void* c = mutable_data<char>(out[0]);
  auto count = static_cast<std::size_t>(out[0].size());
  if (compute != dtype) {
    sums.resize(count * item_size(compute));
    c = sums.data();
  }
  if (large && is_complex(dtype)) return multiply_in_blas(dtype, s, a, b, c);
  multiply(compute, s, a, b, c);
  if (compute != dtype) convert_elements(compute, c, dtype, mutable_data<char>(out[0]), count);
}

void dot_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
              std::span<const Aval> out_avals, std::span<Value> out) {
  const auto& p = params.as<DotParams>();
  DotSizes s(p, in_avals[0].shape(), in_avals[1].shape());
  Dtype dtype = out_avals[0].dtype(), compute = compute_dtype(dtype);
  View left = permuted(in_avals[0].shape(), order_of_a(p, s)),
       right = permuted(in_avals[1].shape(), order_of_b(p, s));
  auto a = in.first(static_cast<std::size_t>(in_avals[0].size())), b = in.subspan(a.size());
  auto element = [&](std::span<const Value> values, const View& view, std::int64_t linear) {
    Value v = values[static_cast<std::size_t>(view.at(linear))];
    return compute == dtype ? v : e.convert(v, compute);
  };
  for (std::size_t o = 0; o < out.size(); ++o) {
    auto at = static_cast<std::int64_t>(o);
    std::int64_t column = at % s.n, row = at / s.n % s.m, matrix = at / s.n / s.m;
    const auto multiply_add = [&](std::int64_t i, Value sum) {
      Value x = element(a, left, (matrix * s.m + row) * s.k + i),
            y = element(b, right, (matrix * s.k + i) * s.n + column);
      if (is_floating(compute)) return e.fma(x, y, sum);
      if (compute == Dtype::Bool) return e.bit_or(sum, e.bit_and(x, y));
      return e.add(sum, e.mul(x, y));
    };
    const auto add = [&](Value x, Value y) { return compute == Dtype::Bool ? e.bit_or(x, y) : e.add(x, y); };
    const Value sum = contract_in_order(s.k, e.constant(compute, 0), multiply_add, add);
    out[o] = compute == dtype ? sum : e.convert(sum, dtype);
  }
}

void dot_jvp(const JvpRule& r) {
  jvp_of_product(r, [&](const Array& a, const Array& b) { return bind1(dot_general_op, r.params, {a, b}); });
}

// One operand's axes, and where its free axes begin in the result.
struct Side {
  const Dims &contract, &batch, &free;
  std::int64_t result_free;
};

// The cotangent contracted with the other operand over that one's free axes, then put in the operand's order
// of axes.
Array operand_cotangent(const Array& cotangent, const Array& other, const Side& own, const Side& opposite) {
  auto batch_count = static_cast<std::int64_t>(own.batch.size());
  Dims summed;
  for (std::size_t i = 0; i < opposite.free.size(); ++i)
    summed.push_back(opposite.result_free + static_cast<std::int64_t>(i));
  // Result axes: batch, the operand's free axes, the other's contracted axes in ascending order.
  Array product = lax::dot_general(cotangent, other, summed, opposite.free, Dims::counting(own.batch.size()),
                                   opposite.batch);
  Dims permutation = Dims::filled(own.batch.size() + own.free.size() + own.contract.size(), 0);
  for (std::size_t i = 0; i < own.batch.size(); ++i)
    permutation[static_cast<std::size_t>(own.batch[i])] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < own.free.size(); ++i)
    permutation[static_cast<std::size_t>(own.free[i])] = batch_count + static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < own.contract.size(); ++i) {
    std::int64_t rank_among = 0;
    for (std::int64_t axis : opposite.contract) rank_among += axis < opposite.contract[i];
    permutation[static_cast<std::size_t>(own.contract[i])] =
        batch_count + static_cast<std::int64_t>(own.free.size()) + rank_among;
  }
  return lax::transpose(product, permutation);
}

void dot_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  if (r.out[0].is_linear() && r.out[1].is_linear()) fail(messages::not_linear, {"dot_general"});
  const auto& p = r.params.as<DotParams>();
  DotSizes s(p, r.out[0].aval().shape(), r.out[1].aval().shape());
  auto first = static_cast<std::int64_t>(p.batch_a.size());
  Side a{p.contract_a, p.batch_a, s.free_a, first};
  Side b{p.contract_b, p.batch_b, s.free_b, first + static_cast<std::int64_t>(s.free_a.size())};
  if (r.out[0].is_linear())
    r.out[0].add(operand_cotangent(r.cotangents[0], r.operands[1], a, b));
  else
    r.out[1].add(operand_cotangent(r.cotangents[0], r.operands[0], b, a));
}

// Operands that are both mapped gain a batch axis; one alone a free axis. Neither moves data. Vectors that
// one matrix is multiplied with are the rows of the left operand, whatever their place was: so the results
// lie as the vectors do, and layers that follow one another need no transposes.
void dot_batch(const BatchRule& r) {
  DotParams p = r.params.as<DotParams>();
  Array operands[] = {r.operands[0], r.operands[1]};
  int axes[] = {r.axes[0], r.axes[1]};
  const bool vectors =
      axes[0] < 0 && operands[1].shape().size() == 1 + p.contract_b.size() + p.batch_b.size();
  if (vectors && !is_complex(operands[0].dtype())) {
    std::swap(operands[0], operands[1]);
    std::swap(axes[0], axes[1]);
    std::swap(p.contract_a, p.contract_b);
    std::swap(p.batch_a, p.batch_b);
  }
  Shape lanes[] = {operands[0].shape(), operands[1].shape()};
  for (int i : {0, 1})
    if (axes[i] >= 0) lanes[i].erase(static_cast<std::size_t>(axes[i]));
  const auto shift = [](Dims& of, int inserted) {
    for (std::int64_t& axis : of) axis += axis >= inserted;
  };
  int out_axis = 0;
  if (axes[0] >= 0 && axes[1] >= 0) {
    for (Dims* of : {&p.contract_a, &p.batch_a}) shift(*of, axes[0]);
    for (Dims* of : {&p.contract_b, &p.batch_b}) shift(*of, axes[1]);
    p.batch_a.insert(0, axes[0]);
    p.batch_b.insert(0, axes[1]);
  } else {
    p.k_ordered = is_k_ordered(p, lanes[0], lanes[1]);
    const bool left = axes[0] >= 0;
    const int axis = axes[left ? 0 : 1];
    for (Dims* of : {left ? &p.contract_a : &p.contract_b, left ? &p.batch_a : &p.batch_b}) shift(*of, axis);
    const DotSizes s(p, operands[0].shape(), operands[1].shape());
    out_axis = static_cast<int>(p.batch_a.size() + (left ? 0 : s.free_a.size()));
    for (std::int64_t other : left ? s.free_a : s.free_b) out_axis += other < axis;
  }
  r.outs.push_back(bind1(dot_general_op, make_params(p), {operands[0], operands[1]}));
  r.out_axes.push_back(out_axis);
}

// Where nothing is contracted: elementwise, so that a sum of such products, the gradient of a matrix that is
// applied to several vectors, is one pass of multiply-adds over the matrix.
Array outer_product(const Array& a, const Array& b, const DotParams& p) {
  const DotSizes s(p, a.shape(), b.shape());
  const auto batch = static_cast<std::int64_t>(p.batch_a.size());
  const auto spread = [&](const Array& x, const Dims& batch_axes, const Dims& free, std::int64_t first_free) {
    Dims places = Dims::filled(static_cast<std::size_t>(x.ndim()), 0);
    for (std::size_t i = 0; i < batch_axes.size(); ++i)
      places[static_cast<std::size_t>(batch_axes[i])] = static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < free.size(); ++i)
      places[static_cast<std::size_t>(free[i])] = first_free + static_cast<std::int64_t>(i);
    return lax::broadcast_in_dim(x, s.result, places);
  };
  return lax::mul(spread(a, p.batch_a, s.free_a, batch),
                  spread(b, p.batch_b, s.free_b, batch + static_cast<std::int64_t>(s.free_a.size())));
}

/// Small products of complex numbers are four real ones, in their order of terms; large ones the op itself.
void dot_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<DotParams>();
  if (!is_k_ordered(p, in[0].shape(), in[1].shape())) return;
  const auto product = [&](const Array& a, const Array& b) { return bind1(dot_general_op, params, {a, b}); };
  const Parts a = parts_of(in[0]), b = parts_of(in[1]);
  out[0] = joined({lax::sub(product(a.re, b.re), product(a.im, b.im)),
                   lax::add(product(a.re, b.im), product(a.im, b.re))});
}

/// Where an operand's axes are in what it is a transpose of; nothing where that would change the order of the
/// result's axes.
std::optional<Dims> axes_below(const Dims& permutation, const Dims& free, const Dims& axes) {
  for (std::size_t i = 1; i < free.size(); ++i)
    if (permutation[static_cast<std::size_t>(free[i - 1])] > permutation[static_cast<std::size_t>(free[i])])
      return std::nullopt;
  Dims below;
  for (std::int64_t axis : axes) below.push_back(permutation[static_cast<std::size_t>(axis)]);
  return below;
}

/// Transposes of operands are read as they lie.
bool dot_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc loc) {
  DotParams p = params.as<DotParams>();
  ValueId sources[] = {operands[0], operands[1]};
  const DotSizes sizes(p, builder.aval(operands[0]).shape(), builder.aval(operands[1]).shape());
  const auto look_below = [&](ValueId& source, const Dims& free, Dims& contract, Dims& batch) {
    const Eqn* e = builder.definition(source);
    if (!e || e->op->view_kind != ViewKind::Permuted) return;
    const Dims& permutation = e->params.as<TransposeParams>().permutation;
    const auto contract_below = axes_below(permutation, free, contract),
               batch_below = axes_below(permutation, free, batch);
    if (!contract_below || !batch_below) return;
    contract = *contract_below;
    batch = *batch_below;
    source = builder.operands(*e)[0];
  };
  look_below(sources[0], sizes.free_a, p.contract_a, p.batch_a);
  look_below(sources[1], sizes.free_b, p.contract_b, p.batch_b);
  if (sources[0] == operands[0] && sources[1] == operands[1]) return false;
  builder.append(dot_general_op, make_params(std::move(p)), sources, results, loc);
  return true;
}

void dot_jet(const JetRule& r) {
  jet_of_product(r, [&](const Array& a, const Array& b) { return bind1(dot_general_op, r.params, {a, b}); });
}

std::int64_t dot_operand_axis(const Params& params, std::span<const Aval> in, const Aval&, std::size_t k,
                              std::int64_t axis) {
  const auto& p = params.as<DotParams>();
  const DotSizes sizes(p, in[0].shape(), in[1].shape());
  const auto batch = static_cast<std::int64_t>(p.batch_a.size()),
             free_a = static_cast<std::int64_t>(sizes.free_a.size());
  const auto at = [](const Dims& dims, std::int64_t i) { return dims[static_cast<std::size_t>(i)]; };
  if (axis < batch) return at(k == 0 ? p.batch_a : p.batch_b, axis);
  if (axis < batch + free_a) return k == 0 ? at(sizes.free_a, axis - batch) : -1;
  return k == 1 ? at(sizes.free_b, axis - batch - free_a) : -1;
}

}  // namespace

const Op dot_general_op = {
    .name = "dot_general",
    .kind = OpKind::Contract,
    .shape = dot_shape,
    .evaluate = dot_evaluate,
    .of_complex = dot_of_complex,
    .jvp = dot_jvp,
    .transpose = dot_transpose,
    .batch = dot_batch,
    .jet = dot_jet,
    .emit_unrolled = dot_emit,
    .rewrite = dot_rewrite,
    .parse = parse_params<DotParams>,
    .operand_axis = dot_operand_axis,
};

namespace lax {

Array dot_general(const Array& a, const Array& b, const Dims& contract_a, const Dims& contract_b,
                  const Dims& batch_a, const Dims& batch_b) {
  DotParams p{contract_a, contract_b, batch_a, batch_b};
  if (contract_a.empty() && (is_floating(a.dtype()) || is_complex(a.dtype()))) return outer_product(a, b, p);
  return bind1(dot_general_op, make_params(std::move(p)), {a, b});
}

}  // namespace lax
}  // namespace apsis::detail
