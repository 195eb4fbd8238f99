// Running sums, products and extrema along one axis, combined in order. Sums in blocks, each from its first
// element, and with what all blocks before it come to: rounding grows with the number of blocks.

#include <limits>

#include "ops/axis_walk.hpp"
#include "ops/elementwise.hpp"
#include "ops/extrema.hpp"
#include "ops/reduce_params.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t one_block = std::numeric_limits<std::int64_t>::max();

struct CumSum {
  static constexpr const char* name = "cumsum";
  static constexpr std::int64_t block = sum_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return m.add(a, b); }
};
struct CumProd {
  static constexpr const char* name = "cumprod";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return m.mul(a, b); }
};
struct CumMax {
  static constexpr const char* name = "cummax";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return larger(m, a, b); }
};
struct CumMin {
  static constexpr const char* name = "cummin";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return smaller(m, a, b); }
};

template <class Text>
void cumulative_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const std::int64_t axis = params.as<CumulativeParams>().axis;
  check_dtype(Text::name, Text::dtypes, in[0]);
  APSIS_ASSERT(axis >= 0 && axis < in[0].rank());
  out.push_back(in[0]);
}

// Visits each line's places, with their numbers in it, in the order of accumulation.
template <class Visit>
void visit_lines(const Shape& shape, const CumulativeParams& p, const Visit& visit) {
  const AxisWalk walk(shape, {p.axis});
  for (std::int64_t start : walk.starts)
    for (std::int64_t i = 0; i < walk.length; ++i)
      visit(static_cast<std::size_t>(walk.at(start, p.reverse ? walk.length - 1 - i : i)), i);
}

template <class Text>
void cumulative_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  visit_dtype<Text::dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const ElementModel<C> m;
    const auto* a = static_cast<const T*>(data_of(in[0]));
    auto* r = mutable_data<T>(out[0]);
    C before{}, block{}, total{};
    visit_lines(in[0].shape(), params.as<CumulativeParams>(), [&](std::size_t place, std::int64_t i) {
      const bool first = i % Text::block == 0;
      if (first) before = total;
      block = first ? static_cast<C>(a[place]) : Text::combine(m, block, static_cast<C>(a[place]));
      total = i < Text::block ? block : Text::combine(m, before, block);
      r[place] = static_cast<T>(total);
    });
  });
}

template <class Text>
void cumulative_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals,
                     std::span<const Value> in, std::span<const Aval>, std::span<Value> out) {
  visit_dtype<Text::dtypes>(in_avals[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const EmitterModel<C> m{&e};
    Lane<C> total;
    visit_lines(in_avals[0].shape(), params.as<CumulativeParams>(), [&](std::size_t place, std::int64_t i) {
      Lane<C> x{std::is_same_v<T, C> ? in[place] : e.convert(in[place], dtype_of<C>)};
      total = i == 0 ? x : Text::combine(m, total, x);  // all in one block
      out[place] = std::is_same_v<T, C> ? total.v : e.convert(total.v, dtype_of<T>);
    });
  });
}

template <const Op& op>
void cumulative_batch(const BatchRule& r) {
  auto p = r.params.as<CumulativeParams>();
  ++p.axis;
  Array a = r.axes[0] == 0 ? r.operands[0] : lax::move_axis(r.operands[0], r.axes[0], 0);
  r.outs.push_back(bind1(op, make_params(p), {a}));
  r.out_axes.push_back(0);
}

void cumsum_jvp(const JvpRule& r) {
  r.outs[0] = bind1(cumsum_op, r.params, {r.primals[0]});
  r.out_tangents[0] = bind1(cumsum_op, r.params, {r.tangents[0]});
}

void cumsum_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  auto p = r.params.as<CumulativeParams>();
  p.reverse = !p.reverse;
  r.out[0].add(bind1(cumsum_op, make_params(p), {r.cotangents[0]}));
}

// The entries [start, limit) along the axis, counted in the order of accumulation.
Array entries(const Array& x, const CumulativeParams& p, std::int64_t start, std::int64_t limit) {
  const auto axis = static_cast<std::size_t>(p.axis);
  const std::int64_t size = x.shape()[axis];
  Dims starts = Dims::filled(x.shape().size(), 0), limits = x.shape();
  starts[axis] = p.reverse ? size - limit : start;
  limits[axis] = p.reverse ? size - start : limit;
  return lax::slice(x, starts, limits);
}

Array followed_by(const Array& first, const Array& second, const CumulativeParams& p) {
  const Array parts[] = {p.reverse ? second : first, p.reverse ? first : second};
  return lax::concatenate(parts, static_cast<int>(p.axis));
}

struct Dual {
  Array value, tangent;
};

// The tangents of a running combination by doubling: after step k every place combines the 2^k places up to
// it (Hillis and Steele 1986). Exact at zeros too, where dividing running products would not be. The places
// that nothing stands before stay as they are: an infinity there is no element to be combined with.
template <class Combine>
Array doubling_tangent(const JvpRule& r, const Combine& combine) {
  const auto& p = r.params.as<CumulativeParams>();
  Dual total{r.primals[0], r.tangents[0]};
  const std::int64_t size = total.value.shape()[static_cast<std::size_t>(p.axis)];
  const auto part = [&](std::int64_t start, std::int64_t limit) {
    return Dual{entries(total.value, p, start, limit), entries(total.tangent, p, start, limit)};
  };
  for (std::int64_t distance = 1; distance < size; distance *= 2) {
    const Dual first = part(0, distance), rest = combine(part(0, size - distance), part(distance, size));
    total = {followed_by(first.value, rest.value, p), followed_by(first.tangent, rest.tangent, p)};
  }
  return total.tangent;
}

void cumprod_jvp(const JvpRule& r) {
  bind(cumprod_op, r.params, r.primals, r.outs);
  r.out_tangents[0] = doubling_tangent(r, [](const Dual& a, const Dual& b) {
    return Dual{lax::mul(a.value, b.value),
                lax::add(lax::mul(a.tangent, b.value), lax::mul(a.value, b.tangent))};
  });
}

// Ties share the tangent evenly, as in maximum and minimum.
template <const Op& cumulative, const Op& pairwise>
void extremum_jvp(const JvpRule& r) {
  bind(cumulative, r.params, r.primals, r.outs);
  r.out_tangents[0] = doubling_tangent(r, [](const Dual& a, const Dual& b) {
    Dual out;
    const Array primals[] = {a.value, b.value}, tangents[] = {a.tangent, b.tangent};
    pairwise.jvp({{}, primals, tangents, {&out.value, 1}, {&out.tangent, 1}});
    return out;
  });
}

}  // namespace

const Op cumsum_op = {
    .name = "cumsum",
    .kind = OpKind::Index,
    .shape = cumulative_shape<CumSum>,
    .evaluate = cumulative_evaluate<CumSum>,
    .jvp = cumsum_jvp,
    .transpose = cumsum_transpose,
    .batch = cumulative_batch<cumsum_op>,
    .emit_unrolled = cumulative_emit<CumSum>,
    .parse = parse_params<CumulativeParams>,
};

const Op cumprod_op = {
    .name = "cumprod",
    .kind = OpKind::Index,
    .shape = cumulative_shape<CumProd>,
    .evaluate = cumulative_evaluate<CumProd>,
    .jvp = cumprod_jvp,
    .batch = cumulative_batch<cumprod_op>,
    .emit_unrolled = cumulative_emit<CumProd>,
    .parse = parse_params<CumulativeParams>,
};

const Op cummax_op = {
    .name = "cummax",
    .kind = OpKind::Index,
    .shape = cumulative_shape<CumMax>,
    .evaluate = cumulative_evaluate<CumMax>,
    .jvp = extremum_jvp<cummax_op, maximum_op>,
    .batch = cumulative_batch<cummax_op>,
    .emit_unrolled = cumulative_emit<CumMax>,
    .parse = parse_params<CumulativeParams>,
};

const Op cummin_op = {
    .name = "cummin",
    .kind = OpKind::Index,
    .shape = cumulative_shape<CumMin>,
    .evaluate = cumulative_evaluate<CumMin>,
    .jvp = extremum_jvp<cummin_op, minimum_op>,
    .batch = cumulative_batch<cummin_op>,
    .emit_unrolled = cumulative_emit<CumMin>,
    .parse = parse_params<CumulativeParams>,
};

}  // namespace apsis::detail
