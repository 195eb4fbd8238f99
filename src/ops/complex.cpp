// Complex arrays from parts and back: complex, real, imag, and difference_of_products, of which complex
// products are made.

#include "apsis/ops/complex.hpp"

#include "ops/complex.hpp"
#include "ops/convert_params.hpp"
#include "ops/elementary.hpp"
#include "ops/index_rules.hpp"
#include "ops/operands.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

// complex

void complex_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  const Aval part = elementwise_aval("complex", 2, only(Dtype::F32) | only(Dtype::F64), false, in);
  out.push_back(Aval(complex_dtype(part.dtype()), part.shape(), part.weak()));
}

void complex_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  visit_dtype<only(Dtype::F32) | only(Dtype::F64)>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const auto* re = static_cast<const T*>(data_of(in[0]));
    const auto* im = static_cast<const T*>(data_of(in[1]));
    auto* r = mutable_data<T>(out[0]);
    for (std::int64_t i = 0, n = out[0].size(); i < n; ++i) {
      r[2 * i] = re[i];
      r[2 * i + 1] = im[i];
    }
  });
}

void complex_jvp(const JvpRule& r) {
  r.outs[0] = joined({r.primals[0], r.primals[1]});
  r.out_tangents[0] = joined({or_zeros(r.tangents[0], r.primals[0]), or_zeros(r.tangents[1], r.primals[1])});
}

// The pairing of cotangents and tangents is the real part of their product: as in JAX, the gradient of a real
// function of z = x + iy is ∂x - i∂y.
void complex_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  if (r.out[0].is_linear()) r.out[0].add(apply(real_op, r.cotangents[0]));
  if (r.out[1].is_linear()) r.out[1].add(lax::neg(apply(imag_op, r.cotangents[0])));
}

const Eqn* defined_by(const GraphBuilder& builder, const Op& op, ValueId v) {
  const Eqn* e = builder.definition(v);
  return e && e->op == &op ? e : nullptr;
}

// The parts of one array, put together again.
bool complex_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                     std::span<ValueId> results, Loc) {
  if (fold_literals(builder, complex_op, params, operands, results)) return true;
  const Eqn *re = defined_by(builder, real_op, operands[0]), *im = defined_by(builder, imag_op, operands[1]);
  if (!re || !im || builder.operands(*re)[0] != builder.operands(*im)[0]) return false;
  results[0] = builder.operands(*re)[0];
  return true;
}

// real and imag

template <const Op& op>
void part_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1 && is_complex(in[0].dtype()));
  out.push_back(Aval(part_dtype(in[0].dtype()), in[0].shape(), in[0].weak()));
}

// Steps are counted in parts.
template <std::int64_t which>
bool part_view(const Params&, const Aval& out, const View& in, View& result) {
  result = {out.shape(), in.strides, 2 * in.offset + which};
  for (auto& stride : result.strides) stride *= 2;
  return true;
}

template <std::int64_t which>
void part_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  View view;
  part_view<which>(params, out[0].aval(), View::contiguous(in[0].shape()), view);
  copy_view(view, data_of(in[0]), mutable_data<char>(out[0]), item_size(out[0].dtype()));
}

template <std::int64_t which>
void part_transpose(const TransposeRule& r) {
  const Array& cotangent = r.cotangents[0];
  if (cotangent.is_empty()) return;
  const Array zero = constant_like(cotangent, 0);
  r.out[0].add(joined(which == 0 ? Parts{cotangent, zero} : Parts{zero, lax::neg(cotangent)}));
}

template <const Op& op, std::size_t which>
bool part_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                  std::span<ValueId> results, Loc loc) {
  if (fold_literals(builder, op, params, operands, results)) return true;
  const Eqn* e = defined_by(builder, complex_op, operands[0]);
  if (!e) return false;
  const Aval& whole = builder.aval(operands[0]);
  results[0] = builder.operands(*e)[which];
  const Aval& part = builder.aval(results[0]);
  if (part.weak() != whole.weak())
    builder.add(convert_op, make_params(ConvertParams{part.dtype(), whole.weak()}), {&results[0], 1}, results,
                loc);
  return true;
}

template <const Op& op, std::size_t which>
constexpr Op part_op(const char* name) {
  return {
      .name = name,
      .kind = OpKind::View,
      .shape = part_shape<op>,
      .evaluate = part_evaluate<which>,
      .jvp = jvp_of_linear<op>,
      .transpose = part_transpose<which>,
      .batch = elementwise_batch<op>,
      .view = part_view<which>,
      .rewrite = part_rewrite<op, which>,
  };
}

// difference_of_products

// W. Kahan's: the rounding error of the second product is known by a multiply-add, and added to the
// difference.
struct DifferenceOfProducts : Quaternary {
  static constexpr const char* name = "difference_of_products";
  static constexpr DtypeSet dtypes = only(Dtype::F32) | only(Dtype::F64);
  static auto compute(const auto& m, auto a, auto b, auto c, auto d) {
    auto product = m.mul(c, d);
    auto error = m.fma(m.neg(c), d, product);
    auto difference = m.fma(a, b, m.neg(product));
    // An infinite product has no error, and a zero keeps its sign where there is none.
    using T = typename std::remove_cvref_t<decltype(m)>::Scalar;
    return m.select(m.gt(m.abs(error), m.constant(T(0))), m.add(difference, error), difference);
  }
};

// The tangent of x·y, or none.
void difference_of_products_jvp(const JvpRule& r) {
  const auto &x = r.primals, &t = r.tangents;
  r.outs[0] = difference_of_products(x[0], x[1], x[2], x[3]);
  const auto term = [&](const Array& of_first, const Array& a, const Array& of_second, const Array& c) {
    if (of_first.is_empty() && of_second.is_empty()) return Array{};
    if (of_second.is_empty()) return lax::mul(of_first, a);
    if (of_first.is_empty()) return lax::neg(lax::mul(of_second, c));
    return difference_of_products(of_first, a, of_second, c);
  };
  r.out_tangents[0] = add_tangents(term(t[0], x[1], t[2], x[3]), term(t[1], x[0], t[3], x[2]));
}

void difference_of_products_transpose(const TransposeRule& r) {
  const Array& cotangent = r.cotangents[0];
  for (std::size_t k = 0; k < 4; k += 2)
    if (r.out[k].is_linear() && r.out[k + 1].is_linear())
      fail(messages::not_linear, {DifferenceOfProducts::name});
  if (cotangent.is_empty()) return;
  for (std::size_t k = 0; k < 4; ++k) {
    if (!r.out[k].is_linear()) continue;
    const Array& factor = r.operands[k ^ 1];
    r.out[k].add(k < 2 ? lax::mul(cotangent, factor) : lax::neg(lax::mul(cotangent, factor)));
  }
}

}  // namespace

const Op complex_op = {
    .name = "complex",
    .kind = OpKind::Index,
    .shape = complex_shape,
    .evaluate = complex_evaluate,
    .jvp = complex_jvp,
    .transpose = complex_transpose,
    .batch = elementwise_batch<complex_op>,
    .rewrite = complex_rewrite,
    .cheap = true,
};

constinit const Op real_op = part_op<real_op, 0>("real");
constinit const Op imag_op = part_op<imag_op, 1>("imag");

const Op difference_of_products_op = {
    .name = DifferenceOfProducts::name,
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<DifferenceOfProducts>,
    .evaluate = elementwise_evaluate<DifferenceOfProducts>,
    .jvp = difference_of_products_jvp,
    .transpose = difference_of_products_transpose,
    .batch = elementwise_batch<difference_of_products_op>,
    .emit = elementwise_emit<DifferenceOfProducts>,
    .spreads_nan = true,
};

Dtype complex_dtype(Dtype d) {
  if (is_complex(d)) return d;
  return d == Dtype::F64 || (is_integer(d) && item_size(d) == 8) ? Dtype::C128 : Dtype::C64;
}

Parts parts_of(const Array& z) { return {apply(real_op, z), apply(imag_op, z)}; }
Array joined(const Parts& z) { return bind1(complex_op, {}, {z.re, z.im}); }

std::vector<Array> with_parts(std::span<const Array> arrays) {
  std::vector<Array> out;
  for (const Array& a : arrays) {
    if (a.aval().is_list() || !is_complex(a.dtype())) {
      out.push_back(a);
      continue;
    }
    const Parts z = parts_of(a);
    out.push_back(z.re);
    out.push_back(z.im);
  }
  return out;
}

Array difference_of_products(const Array& a, const Array& b, const Array& c, const Array& d) {
  return bind1(difference_of_products_op, {}, {a, b, c, d});
}

void on_each_part(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out) {
  std::vector<Array> re(in.begin(), in.end()), im = re;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!is_complex(in[k].dtype())) continue;
    const Parts z = parts_of(in[k]);
    re[k] = z.re;
    im[k] = z.im;
  }
  std::vector<Array> of_re(out.size()), of_im(out.size());
  bind(op, params, re, of_re);
  bind(op, params, im, of_im);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = joined({of_re[k], of_im[k]});
}

bool move_parts(GraphBuilder& builder, const Op& op, const Params& params, std::span<const ValueId> operands,
                std::span<ValueId> results, Loc loc) {
  const auto known = [&](ValueId v) {
    const Eqn* e = builder.definition(v);
    return is_complex(builder.aval(v).dtype()) && e &&
           (e->op == &complex_op || e->op->kind == OpKind::Constant);
  };
  if (std::ranges::none_of(operands, known)) return false;
  ValueId parts[2];
  for (const Op* part : {&real_op, &imag_op}) {
    std::vector<ValueId> of_part(operands.begin(), operands.end());
    for (ValueId& v : of_part)
      if (is_complex(builder.aval(v).dtype())) builder.add(*part, {}, {&v, 1}, {&v, 1}, loc);
    builder.add(op, params, of_part, {&parts[part == &imag_op], 1}, loc);
  }
  builder.add(complex_op, {}, parts, results, loc);
  return true;
}

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array complex(const Array& real, const Array& imag, Loc loc) {
  const Operands o = matched_floating("complex", real, imag, loc);
  const WeakDtype part{o.a.dtype() == Dtype::F64 ? Dtype::F64 : Dtype::F32, o.a.weak()};
  return bind1(complex_op, {}, {as_dtype(o.a, part), as_dtype(o.b, part)}, loc);
}

Array real(const Array& z, Loc loc) { return is_complex(z.dtype(loc)) ? bind1(real_op, {}, {z}, loc) : z; }

Array imag(const Array& z, Loc loc) {
  return is_complex(z.dtype(loc)) ? bind1(imag_op, {}, {z}, loc) : lax::full_like(z.aval(), 0);
}

Array conj(const Array& z, Loc loc) {
  if (!is_complex(z.dtype(loc))) return z;
  const LocScope place(loc);
  return joined(parts::conj(parts_of(z)));
}

Array angle(const Array& z, Loc loc) {
  const LocScope place(loc);
  if (is_complex(z.dtype(loc))) {
    const Parts p = parts_of(z);
    return bind1(atan2_op, {}, {p.im, p.re}, loc);
  }
  const Array x = floating("angle", z, loc);
  return bind1(atan2_op, {}, {constant_like(x, 0), x}, loc);
}

Array iscomplex(const Array& z, Loc loc) {
  const LocScope place(loc);
  const Array part = imag(z, loc);
  return lax::ne(part, constant_like(part, 0));
}

Array isreal(const Array& z, Loc loc) { return lax::logical_not(iscomplex(z, loc)); }

}  // namespace apsis
