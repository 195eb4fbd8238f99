// Running sums, products and extrema along one axis, combined in order; all but sums have linear recurrences
// as derivatives. Sums in blocks, each from its first element, and with what all blocks before it come to:
// rounding grows with the number of blocks.

#include <array>
#include <limits>

#include "ops/complex_running.hpp"
#include "ops/elementwise.hpp"
#include "ops/extrema.hpp"
#include "ops/index_rules.hpp"
#include "ops/operand_axis.hpp"
#include "ops/reduce_params.hpp"
#include "ops/running.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t one_block = std::numeric_limits<std::int64_t>::max();

struct CumSum {
  static constexpr const char* name = "cumsum";
  static constexpr std::int64_t block = sum_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr DtypeSet by_parts = complex_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return m.add(a, b); }
};
struct CumProd {
  static constexpr const char* name = "cumprod";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr DtypeSet by_parts = complex_dtypes;
  static auto combine(const auto& m, auto a, auto b) { return m.mul(a, b); }
};
struct CumMax {
  static constexpr const char* name = "cummax";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr DtypeSet by_parts = 0;
  static auto combine(const auto& m, auto a, auto b) { return larger(m, a, b); }
};
struct CumMin {
  static constexpr const char* name = "cummin";
  static constexpr std::int64_t block = one_block;
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr DtypeSet by_parts = 0;
  static auto combine(const auto& m, auto a, auto b) { return smaller(m, a, b); }
};

template <class Text>
void cumulative_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const std::int64_t axis = params.as<CumulativeParams>().axis;
  check_dtype(Text::name, Text::dtypes | Text::by_parts, in[0]);
  APSIS_ASSERT(axis >= 0 && axis < in[0].rank());
  out.push_back(in[0]);
}

template <class Text>
void cumulative_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  visit_dtype<Text::dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const ElementModel<C> m;
    const auto* a = static_cast<const T*>(data_of(in[0]));
    auto* r = mutable_data<T>(out[0]);
    const auto& p = params.as<CumulativeParams>();
    const Lines all(in[0].shape(), p.axis);
    with_lines(all, [&]<std::int64_t most>(std::int64_t first, std::int64_t end) {
      std::array<C, most> before{}, block{}, total{};
      const auto step = [&](std::int64_t place, std::int64_t i, std::int64_t count) {
        const bool starts = i % Text::block == 0, first_block = i < Text::block;
        if (starts && i > 0) before = total;
        for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
          const C x = static_cast<C>(a[place + static_cast<std::int64_t>(k)]);
          block[k] = starts ? x : Text::combine(m, block[k], x);
          total[k] = first_block ? block[k] : Text::combine(m, before[k], block[k]);
          r[place + static_cast<std::int64_t>(k)] = static_cast<T>(total[k]);
        }
      };
      visit_lines<most>(all, p.reverse, first, end, step);
    });
  });
}

template <class Text>
void cumulative_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals,
                     std::span<const Value> in, std::span<const Aval>, std::span<Value> out) {
  visit_dtype<Text::dtypes>(in_avals[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const EmitterModel<C> m{&e};
    const auto& p = params.as<CumulativeParams>();
    Lane<C> total;
    visit_each_line(Lines(in_avals[0].shape(), p.axis), p.reverse,
                    [&](std::int64_t place, std::int64_t i, std::int64_t) {
                      const auto at = static_cast<std::size_t>(place);
                      Lane<C> x{std::is_same_v<T, C> ? in[at] : e.convert(in[at], dtype_of<C>)};
                      total = i == 0 ? x : Text::combine(m, total, x);  // all in one block
                      out[at] = std::is_same_v<T, C> ? total.v : e.convert(total.v, dtype_of<T>);
                    });
  });
}

template <const Op& op>
void cumulative_batch(const BatchRule& r) {
  auto p = r.params.as<CumulativeParams>();
  ++p.axis;
  std::vector<Array> operands;
  for (std::size_t k = 0; k < r.operands.size(); ++k)
    operands.push_back(batched_front(r.operands[k], r.axes[k], r.size));
  r.outs = bind_all(op, make_params(p), operands);
  r.out_axes.push_back(0);
}

// Sums have factors if there is a second operand.
void cumsum_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  in.size() == 2 ? factors_shape(params, in, out) : cumulative_shape<CumSum>(params, in, out);
}

void cumsum_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  in.size() == 2 ? factors_evaluate(params, in, out) : cumulative_evaluate<CumSum>(params, in, out);
}

void cumsum_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                 std::span<const Aval> out_avals, std::span<Value> out) {
  if (in_avals.size() == 2) return factors_emit(e, params, in_avals, in, out);
  cumulative_emit<CumSum>(e, params, in_avals, in, out_avals, out);
}

void cumsum_jvp(const JvpRule& r) {
  if (r.primals.size() == 2) return factors_jvp(r);
  r.outs[0] = bind1(cumsum_op, r.params, {r.primals[0]});
  r.out_tangents[0] = bind1(cumsum_op, r.params, {r.tangents[0]});
}

// A term counts where an entry counts that comes after it.
AxesCondition before_any(const AxesCondition& given, const CumulativeParams& p) {
  const std::int64_t along = place_in(given.axes, p.axis);
  if (along < 0) return given;
  const auto params = make_params(CumulativeParams{along, !p.reverse});
  const Array any = bind1(cummax_op, params, {lax::convert(given.holds, Dtype::I8)});
  return {lax::ne(any, constant_like(any, 0)), given.axes};
}

void cumsum_transpose(const TransposeRule& r) {
  Array cotangent = r.cotangents[0];
  if (cotangent.is_empty()) return;
  auto p = r.params.as<CumulativeParams>();
  AxesCondition given = r.given.empty() ? AxesCondition() : r.given[0];
  if (!given.holds.is_empty()) {
    const Array holds = lax::broadcast_in_dim(given.holds, cotangent.shape(), given.axes);
    cotangent = lax::select(holds, cotangent, constant_like(cotangent, 0));
    given = before_any(given, p);
  }
  p.reverse = !p.reverse;
  std::vector<Array> operands = {cotangent};
  if (r.operands.size() == 2) operands.push_back(r.operands[1]);
  r.out[0].add_if(bind_all(cumsum_op, make_params(p), operands)[0], std::move(given));
}

/// The entries of a running combination but the last, the elements that they are combined with, and the
/// tangents of these: in the order of the run.
struct Steps {
  Array before, elements, tangents;
  Steps(const JvpRule& r, const CumulativeParams& p)
      : before(run_entries(r.outs[0], p.axis, p.reverse, 0, size(r, p) - 1)),
        elements(run_entries(r.primals[0], p.axis, p.reverse, 1, size(r, p))),
        tangents(run_entries(r.tangents[0], p.axis, p.reverse, 1, size(r, p))) {}
  static std::int64_t size(const JvpRule& r, const CumulativeParams& p) {
    return r.primals[0].shape()[static_cast<std::size_t>(p.axis)];
  }
};

/// The tangents of a running combination. The first entry is an element as it is: an infinity there is none
/// to be combined with.
Array run_tangents(const JvpRule& r, const CumulativeParams& p, const Array& by_before,
                   const Array& by_elements) {
  const Array first = run_entries(r.tangents[0], p.axis, p.reverse, 0, 1);
  return cumsum_with_factors(run_of(first, by_elements, p.axis, p.reverse), by_before, p.axis, p.reverse);
}

// Exact at zeros too, where a division by elements would not be.
void cumprod_jvp(const JvpRule& r) {
  const auto& p = r.params.as<CumulativeParams>();
  bind(cumprod_op, r.params, r.primals, r.outs);
  r.out_tangents[0] = r.tangents[0];
  if (Steps::size(r, p) < 2) return;
  const Steps steps(r, p);
  r.out_tangents[0] = run_tangents(r, p, steps.elements, lax::mul(steps.tangents, steps.before));
}

// Each entry is the extremum of the one before and an element, and has its derivatives: ties share the
// tangent evenly.
template <const Op& cumulative, const Op& pairwise>
void extremum_jvp(const JvpRule& r) {
  const auto& p = r.params.as<CumulativeParams>();
  bind(cumulative, r.params, r.primals, r.outs);
  r.out_tangents[0] = r.tangents[0];
  if (Steps::size(r, p) < 2) return;
  const Steps steps(r, p);
  const Array pair[] = {steps.before, steps.elements};
  const auto derivative = [&](const Array& of_before, const Array& of_elements) {
    const Array along[] = {of_before, of_elements};
    Array value, tangent;
    pairwise.jvp({{}, pair, along, {&value, 1}, {&tangent, 1}});
    return tangent;
  };
  r.out_tangents[0] =
      run_tangents(r, p, derivative(constant_like(steps.before, 1), {}), derivative({}, steps.tangents));
}

}  // namespace

const Op cumsum_op = {
    .name = "cumsum",
    .kind = OpKind::Index,
    .shape = cumsum_shape,
    .evaluate = cumsum_evaluate,
    .of_complex = cumsum_of_complex,
    .jvp = cumsum_jvp,
    .transpose = cumsum_transpose,
    .batch = cumulative_batch<cumsum_op>,
    .emit_unrolled = cumsum_emit,
    .parse = parse_params<CumulativeParams>,
    .takes_conditions = true,
};

const Op cumprod_op = {
    .name = "cumprod",
    .kind = OpKind::Index,
    .shape = cumulative_shape<CumProd>,
    .evaluate = cumulative_evaluate<CumProd>,
    .of_complex = cumprod_of_complex,
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
