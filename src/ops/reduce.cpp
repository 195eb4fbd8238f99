// Reductions over axes: sum, prod, max, min, and, or, argmax, argmin.

#include "ops/complex.hpp"
#include "ops/complex_running.hpp"
#include "ops/reduce_params.hpp"

#include "ops/axis_walk.hpp"
#include "ops/elementwise.hpp"
#include "ops/extrema.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

struct Sum {
  static constexpr const char* name = "reduce_sum";
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr bool has_identity = true;
  static auto combine(const auto& m, auto a, auto b) { return m.add(a, b); }
  template <class T>
  static T identity() {
    return T(0);
  }
};
struct Prod {
  static constexpr const char* name = "reduce_prod";
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr bool has_identity = true;
  static auto combine(const auto& m, auto a, auto b) { return m.mul(a, b); }
  template <class T>
  static T identity() {
    return T(1);
  }
};
struct Max {
  static constexpr const char* name = "reduce_max";
  static constexpr DtypeSet dtypes = real_dtypes;
  static constexpr bool has_identity = false;
  static auto combine(const auto& m, auto a, auto b) { return larger(m, a, b); }
};
struct Min {
  static constexpr const char* name = "reduce_min";
  static constexpr DtypeSet dtypes = real_dtypes;
  static constexpr bool has_identity = false;
  static auto combine(const auto& m, auto a, auto b) { return smaller(m, a, b); }
};
struct And {
  static constexpr const char* name = "reduce_and";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static constexpr bool has_identity = true;
  static auto combine(const auto& m, auto a, auto b) { return m.and_(a, b); }
  template <class T>
  static T identity() {
    return static_cast<T>(-1);
  }
};
struct Or {
  static constexpr const char* name = "reduce_or";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static constexpr bool has_identity = true;
  static auto combine(const auto& m, auto a, auto b) { return m.or_(a, b); }
  template <class T>
  static T identity() {
    return T(0);
  }
};

Shape shape_without(const Shape& shape, const Dims& axes) {
  Shape kept;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!axes.contains(static_cast<std::int64_t>(i))) kept.push_back(shape[i]);
  return kept;
}

// The axes that remain.
Dims kept_axes(const Shape& shape, const Dims& axes) {
  Dims kept;
  for (std::int64_t i = 0; i < shape.rank(); ++i)
    if (!axes.contains(i)) kept.push_back(i);
  return kept;
}

void check_axes(const Dims& axes, const Shape& shape) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    APSIS_ASSERT(axes[i] >= (i ? axes[i - 1] + 1 : 0) && axes[i] < shape.rank());
}

void check_not_empty(const char* name, const Aval& in, const Dims& axes) {
  if (in.size() == 0 && shape_without(in.shape(), axes).product() != 0)
    fail(messages::empty_reduction, {name, to_string(in), to_string(axes)});
}

template <class Text>
void reduce_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const Dims& axes = params.as<ReduceParams>().axes;
  check_dtype(Text::name, Text::dtypes, in[0]);
  check_axes(axes, in[0].shape());
  if constexpr (!Text::has_identity) check_not_empty(Text::name, in[0], axes);
  out.push_back(Aval(in[0].dtype(), shape_without(in[0].shape(), axes), in[0].weak()));
}

template <class Text, class C, class Get>
C reduce_line(std::int64_t length, const Get& get) {
  const ElementModel<C> m;
  return combine_in_order<C>(length, get, [&m](C a, C b) { return Text::combine(m, a, b); });
}

template <class Text>
void reduce_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const AxisWalk walk(in[0].shape(), params.as<ReduceParams>().axes);
  visit_dtype<Text::dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const auto* a = static_cast<const T*>(data_of(in[0]));
    auto* r = mutable_data<T>(out[0]);
    for (std::size_t line = 0; line < walk.starts.size(); ++line) {
      const T* start = a + walk.starts[line];
      C result;
      if (walk.length == 0) {
        if constexpr (Text::has_identity)
          result = Text::template identity<C>();
        else
          internal_error("an empty extremum was refused by its shape rule", __FILE__, __LINE__);
      } else if (walk.offsets.empty()) {
        result =
            reduce_line<Text, C>(walk.length, [start](std::int64_t i) { return static_cast<C>(start[i]); });
      } else {
        const std::int64_t* offsets = walk.offsets.data();
        result = reduce_line<Text, C>(walk.length,
                                      [=](std::int64_t i) { return static_cast<C>(start[offsets[i]]); });
      }
      r[line] = static_cast<T>(result);
    }
  });
}

template <class Text>
void reduce_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                 std::span<const Aval>, std::span<Value> out) {
  const AxisWalk walk(in_avals[0].shape(), params.as<ReduceParams>().axes);
  visit_dtype<Text::dtypes>(in_avals[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const EmitterModel<C> m{&e};
    auto combine = [&m](Lane<C> a, Lane<C> b) { return Text::combine(m, a, b); };
    for (std::size_t line = 0; line < out.size(); ++line) {
      auto get = [&](std::int64_t i) {
        Value v = in[static_cast<std::size_t>(walk.at(walk.starts[line], i))];
        return Lane<C>{std::is_same_v<T, C> ? v : e.convert(v, dtype_of<C>)};
      };
      Lane<C> result;
      if (walk.length > 0)
        result = combine_in_order<Lane<C>>(walk.length, get, combine);
      else if constexpr (Text::has_identity)
        result = m.constant(Text::template identity<C>());
      out[line] = std::is_same_v<T, C> ? result.v : e.convert(result.v, dtype_of<T>);
    }
  });
}

Dims shifted(Dims axes) {
  for (std::int64_t& axis : axes) ++axis;
  return axes;
}

Array to_front(const BatchRule& r) {
  return r.axes[0] == 0 ? r.operands[0] : lax::move_axis(r.operands[0], r.axes[0], 0);
}

template <const Op& op>
void reduce_batch(const BatchRule& r) {
  Params params = make_params(ReduceParams{shifted(r.params.as<ReduceParams>().axes)});
  r.outs.push_back(bind1(op, params, {to_front(r)}));
  r.out_axes.push_back(0);
}

Array broadcast_back(const Array& reduced, const Shape& shape, const Dims& axes) {
  return lax::broadcast_in_dim(reduced, shape, kept_axes(shape, axes));
}

void reduce_sum_jvp(const JvpRule& r) {
  const Dims& axes = r.params.as<ReduceParams>().axes;
  r.outs[0] = lax::reduce_sum(r.primals[0], axes);
  r.out_tangents[0] = lax::reduce_sum(r.tangents[0], axes);
}

void reduce_sum_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  r.out[0].add(broadcast_back(r.cotangents[0], r.out[0].aval().shape(), r.params.as<ReduceParams>().axes));
}

// As JAX: the tangents of the places that hold the extremum, averaged.
template <const Op& op>
void extremum_jvp(const JvpRule& r) {
  const Dims& axes = r.params.as<ReduceParams>().axes;
  const Array& x = r.primals[0];
  bind(op, r.params, r.primals, r.outs);
  Array chosen = lax::eq(x, broadcast_back(r.outs[0], x.shape(), axes));
  Array weights = lax::convert(chosen, x.dtype(), x.weak());
  Array sum = lax::reduce_sum(lax::mul(r.tangents[0], weights), axes);
  r.out_tangents[0] = lax::div(sum, lax::reduce_sum(weights, axes));
}

// Products of all elements before (or after) each one, along the last axis.
Array products_beside(const Array& x, bool after) {
  const int last = x.ndim() - 1;
  Array running = bind1(cumprod_op, make_params(CumulativeParams{last, after}), {x});
  Dims low = Dims::filled(x.shape().size(), 0), high = low;
  (after ? high : low)[static_cast<std::size_t>(last)] = 1;
  (after ? low : high)[static_cast<std::size_t>(last)] = -1;
  return lax::pad(running, literal(x.dtype(), 1, x.weak()), low, high);
}

// Each tangent times the product of all other elements, which needs no division and so no care for zeros.
void reduce_prod_jvp(const JvpRule& r) {
  const Dims& axes = r.params.as<ReduceParams>().axes;
  r.outs[0] = bind1(reduce_prod_op, r.params, {r.primals[0]});
  if (r.primals[0].size() == 0) return;
  const Shape& shape = r.primals[0].shape();
  Dims order = kept_axes(shape, axes);
  Shape line = shape_without(shape, axes);
  const auto last = static_cast<std::int64_t>(line.size());
  for (std::int64_t axis : axes) order.push_back(axis);
  line.push_back(shape.product() / line.product());
  Array x = lax::reshape(lax::transpose(r.primals[0], order), line);
  Array t = lax::reshape(lax::transpose(r.tangents[0], order), line);
  Array others = lax::mul(products_beside(x, false), products_beside(x, true));
  r.out_tangents[0] = lax::reduce_sum(lax::mul(t, others), {last});
}

// argmax and argmin: the first place of the extremum; the first NaN wins.
struct ArgMax {
  static constexpr const char* name = "argmax";
  template <class M, class V>
  static auto beats(const M& m, V x, V best) {
    if constexpr (std::is_same_v<typename M::Scalar, bool>)
      return m.and_(x, m.not_(best));
    else
      return m.gt(x, best);
  }
};
struct ArgMin {
  static constexpr const char* name = "argmin";
  template <class M, class V>
  static auto beats(const M& m, V x, V best) {
    if constexpr (std::is_same_v<typename M::Scalar, bool>)
      return m.and_(m.not_(x), best);
    else
      return m.lt(x, best);
  }
};

template <class Text>
void arg_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const Dims axes{params.as<ArgReduceParams>().axis};
  check_dtype(Text::name, real_dtypes, in[0]);
  check_axes(axes, in[0].shape());
  check_not_empty(Text::name, in[0], axes);
  out.push_back(Aval(Dtype::I64, shape_without(in[0].shape(), axes)));
}

template <class Text, class M, class Indices, class Get>
auto arg_line(const M& m, const Indices& indices, std::int64_t length, const Get& get) {
  auto best = get(0);
  auto place = indices.constant(0);
  for (std::int64_t i = 1; i < length; ++i) {
    auto x = get(i);
    auto better = Text::beats(m, x, best);
    if constexpr (M::is_float) better = m.or_(better, m.and_(m.ne(x, x), m.eq(best, best)));
    best = m.select(better, x, best);
    place = m.select(better, indices.constant(i), place);
  }
  return place;
}

template <class Text>
void arg_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const AxisWalk walk(in[0].shape(), {params.as<ArgReduceParams>().axis});
  visit_dtype<real_dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const auto* a = static_cast<const T*>(data_of(in[0]));
    auto* r = mutable_data<std::int64_t>(out[0]);
    for (std::size_t line = 0; line < walk.starts.size(); ++line)
      r[line] =
          arg_line<Text>(ElementModel<C>{}, ElementModel<std::int64_t>{}, walk.length,
                         [&](std::int64_t i) { return static_cast<C>(a[walk.at(walk.starts[line], i)]); });
  });
}

template <class Text>
void arg_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
              std::span<const Aval>, std::span<Value> out) {
  const AxisWalk walk(in_avals[0].shape(), {params.as<ArgReduceParams>().axis});
  visit_dtype<real_dtypes>(in_avals[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    for (std::size_t line = 0; line < out.size(); ++line) {
      auto get = [&](std::int64_t i) {
        Value v = in[static_cast<std::size_t>(walk.at(walk.starts[line], i))];
        return Lane<C>{std::is_same_v<T, C> ? v : e.convert(v, dtype_of<C>)};
      };
      out[line] = arg_line<Text>(EmitterModel<C>{&e}, EmitterModel<std::int64_t>{&e}, walk.length, get).v;
    }
  });
}

template <const Op& op>
void arg_batch(const BatchRule& r) {
  Params params = make_params(ArgReduceParams{r.params.as<ArgReduceParams>().axis + 1});
  r.outs.push_back(bind1(op, params, {to_front(r)}));
  r.out_axes.push_back(0);
}

std::uint64_t sign_bit(Dtype dtype) {
  return std::uint64_t{1} << (dtype == Dtype::Bool ? 0 : 8 * item_size(dtype) - 1);
}
std::uint64_t all_bits(Dtype dtype) { return 2 * sign_bit(dtype) - 1; }

std::uint64_t or_neutral(Dtype) { return 0; }
std::uint64_t and_neutral(Dtype dtype) { return all_bits(dtype); }
// -0 + x is x, also where x is 0 or -0.
std::uint64_t sum_neutral(Dtype dtype) { return is_floating(dtype) ? sign_bit(dtype) : 0; }
std::uint64_t prod_neutral(Dtype dtype) {
  return dtype == Dtype::F32 ? 0x3f800000u : dtype == Dtype::F64 ? 0x3ff0000000000000u : 1;
}

std::uint64_t infinity_bits(Dtype dtype) { return dtype == Dtype::F32 ? 0x7f800000u : 0x7ff0000000000000u; }
std::uint64_t max_neutral(Dtype dtype) {
  if (is_floating(dtype)) return sign_bit(dtype) | infinity_bits(dtype);
  return is_signed_integer(dtype) ? sign_bit(dtype) : 0;
}
std::uint64_t min_neutral(Dtype dtype) {
  if (is_floating(dtype)) return infinity_bits(dtype);
  return is_signed_integer(dtype) ? sign_bit(dtype) - 1 : all_bits(dtype);
}

std::int64_t reduce_operand_axis(const Params& params, std::span<const Aval>, const Aval&, std::size_t,
                                 std::int64_t axis) {
  const Dims& gone = params.as<ReduceParams>().axes;
  std::int64_t of = 0;
  for (std::int64_t kept = axis;; ++of)
    if (!gone.contains(of) && kept-- == 0) return of;
}

}  // namespace

const Op reduce_sum_op = {
    .name = "reduce_sum",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<Sum>,
    .evaluate = reduce_evaluate<Sum>,
    .of_complex = each_part<reduce_sum_op>,
    .jvp = reduce_sum_jvp,
    .transpose = reduce_sum_transpose,
    .batch = reduce_batch<reduce_sum_op>,
    .emit_unrolled = reduce_emit<Sum>,
    .parse = parse_params<ReduceParams>,
    .spreads_nan = true,
    .operand_axis = reduce_operand_axis,
    .neutral = sum_neutral,
    .moves_cotangents = 1,
};

const Op reduce_prod_op = {
    .name = "reduce_prod",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<Prod>,
    .evaluate = reduce_evaluate<Prod>,
    .of_complex = reduce_prod_of_complex,
    .jvp = reduce_prod_jvp,
    .batch = reduce_batch<reduce_prod_op>,
    .emit_unrolled = reduce_emit<Prod>,
    .parse = parse_params<ReduceParams>,
    .spreads_nan = true,
    .neutral = prod_neutral,
};

const Op reduce_max_op = {
    .name = "reduce_max",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<Max>,
    .evaluate = reduce_evaluate<Max>,
    .jvp = extremum_jvp<reduce_max_op>,
    .batch = reduce_batch<reduce_max_op>,
    .emit_unrolled = reduce_emit<Max>,
    .parse = parse_params<ReduceParams>,
    .spreads_nan = true,
    .neutral = max_neutral,
    .any_order = true,
};

const Op reduce_min_op = {
    .name = "reduce_min",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<Min>,
    .evaluate = reduce_evaluate<Min>,
    .jvp = extremum_jvp<reduce_min_op>,
    .batch = reduce_batch<reduce_min_op>,
    .emit_unrolled = reduce_emit<Min>,
    .parse = parse_params<ReduceParams>,
    .spreads_nan = true,
    .neutral = min_neutral,
    .any_order = true,
};

const Op reduce_and_op = {
    .name = "reduce_and",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<And>,
    .evaluate = reduce_evaluate<And>,
    .batch = reduce_batch<reduce_and_op>,
    .emit_unrolled = reduce_emit<And>,
    .not_differentiable = "booleans and integers have no tangents",
    .parse = parse_params<ReduceParams>,
    .logic = Logic::All,
    .neutral = and_neutral,
    .any_order = true,
};

const Op reduce_or_op = {
    .name = "reduce_or",
    .kind = OpKind::Reduce,
    .shape = reduce_shape<Or>,
    .evaluate = reduce_evaluate<Or>,
    .batch = reduce_batch<reduce_or_op>,
    .emit_unrolled = reduce_emit<Or>,
    .not_differentiable = "booleans and integers have no tangents",
    .parse = parse_params<ReduceParams>,
    .logic = Logic::Any,
    .neutral = or_neutral,
    .any_order = true,
};

const Op argmax_op = {
    .name = "argmax",
    .kind = OpKind::Reduce,
    .shape = arg_shape<ArgMax>,
    .evaluate = arg_evaluate<ArgMax>,
    .jvp = zero_jvp<argmax_op>,
    .batch = arg_batch<argmax_op>,
    .emit_unrolled = arg_emit<ArgMax>,
    .parse = parse_params<ArgReduceParams>,
};

const Op argmin_op = {
    .name = "argmin",
    .kind = OpKind::Reduce,
    .shape = arg_shape<ArgMin>,
    .evaluate = arg_evaluate<ArgMin>,
    .jvp = zero_jvp<argmin_op>,
    .batch = arg_batch<argmin_op>,
    .emit_unrolled = arg_emit<ArgMin>,
    .parse = parse_params<ArgReduceParams>,
};

}  // namespace apsis::detail
