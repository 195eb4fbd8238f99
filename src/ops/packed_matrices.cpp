#include "ops/packed_matrices.hpp"

#include "ops/complex_matrix.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

/// The arrays of real matrices, or the pairs of arrays of complex ones, and the numbers of rows.
template <class T>
struct PackedArrays {
  std::vector<Matrices> sizes;  // of operands
  std::vector<Parted<const T>> from;
  std::vector<Parted<T>> to;
  std::vector<RowNumbers<const std::int32_t>> from_rows;
  std::vector<RowNumbers<std::int32_t>> to_rows;
  std::vector<Matrices> result_sizes;

  PackedArrays(std::span<const Array> in, std::span<Array> out, std::uint32_t packed, bool complex) {
    const std::size_t step = complex ? 2 : 1;
    const auto is_packed = [&](std::size_t k) { return (packed >> k & 1) != 0; };
    for (std::size_t k = 0; k < in.size();) {
      if (is_integer(in[k].dtype())) {
        from_rows.emplace_back(elements_of<std::int32_t>(in[k]), is_packed(k));
        ++k;
        continue;
      }
      sizes.emplace_back(in[k].shape());
      from.emplace_back(elements_of<T>(in[k]), complex ? elements_of<T>(in[k + 1]) : nullptr, is_packed(k));
      k += step;
    }
    for (std::size_t k = 0; k < out.size();) {
      if (is_integer(out[k].dtype())) {
        to_rows.emplace_back(mutable_data<std::int32_t>(out[k]), is_packed(in.size() + k));
        ++k;
        continue;
      }
      result_sizes.emplace_back(out[k].shape());
      to.emplace_back(mutable_data<T>(out[k]), complex ? mutable_data<T>(out[k + 1]) : nullptr,
                      is_packed(in.size() + k));
      k += step;
    }
  }
};

template <class T>
void run(const Op& op, const Params& params, const PackedArrays<T>& arrays, bool complex) {
  const auto is = [&](const Op& real, const Op& parts) { return &op == &real || &op == &parts; };
  const auto& [sizes, from, to, from_rows, to_rows, result_sizes] = arrays;
  const Matrices &a = sizes.front(), &b = sizes.back();
  const SmallMatrixCodes<T>& codes = small_matrix_code<T>(b.count);
  const SmallMatrixCode<T>& code = complex ? codes.complex : codes.real;
  const auto rows = static_cast<int>(a.m), columns = static_cast<int>(a.n), width = static_cast<int>(b.n);
  if (is(cholesky_op, complex_cholesky_op)) {
    code.cholesky(a.count, rows, from[0], to[0]);
  } else if (is(lu_op, complex_lu_op)) {
    code.lu(a.count, rows, columns, from[0], to[0], to_rows[0], to_rows[1]);
  } else if (is(qr_op, complex_qr_op)) {
    code.qr(a.count, rows, columns, static_cast<int>(result_sizes[0].n), from[0], to[0], to[1]);
  } else if (is(triangular_solve_op, complex_triangular_solve_op)) {
    const auto& p = params.as<TriangularSolveParams>();
    code.triangular_solve(p, a.count, b.count, rows, p.left_side ? width : static_cast<int>(b.m), from[0],
                          from[1], to[0]);
  } else if (is(lu_solve_op, complex_lu_solve_op)) {
    code.lu_solve(params.as<LuSolveParams>().transposed, a.count, b.count, rows, width, from[0], from_rows[0],
                  from[1], to[0]);
  } else {
    APSIS_ASSERT(is(solve_op, complex_solve_op));
    code.solve(b.count, rows, width, from[0], from[1], to[0]);
  }
}

}  // namespace

bool gives_factors(const Op& op) {
  for (const Op* one : {&cholesky_op, &lu_op, &qr_op, &complex_cholesky_op, &complex_lu_op, &complex_qr_op})
    if (&op == one) return true;
  return false;
}

void evaluate_packed(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                     std::uint32_t packed) {
  bool complex = false;
  for (const Op* parts : {&complex_cholesky_op, &complex_lu_op, &complex_lu_solve_op, &complex_qr_op,
                          &complex_solve_op, &complex_triangular_solve_op})
    complex = complex || &op == parts;
  if (in[0].dtype() == Dtype::F64)
    run(op, params, PackedArrays<double>(in, out, packed, complex), complex);
  else
    run(op, params, PackedArrays<float>(in, out, packed, complex), complex);
}

}  // namespace apsis::detail
