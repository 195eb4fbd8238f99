// Running sums of which what came before is multiplied at each step, r[i] = x[i] + f r[i-1]: linear
// recurrences, which the tangents of running products and extrema are. The factors belong to the steps, not
// to the entries, so that the transpose is the same sum in the opposite order.

#include <array>

#include "ops/elementwise.hpp"
#include "ops/reduce_params.hpp"
#include "ops/running.hpp"

namespace apsis::detail {
namespace {

// Of an entry that is zero nothing is taken, whatever the factor: entries that no branch has chosen have zero
// cotangents, and an infinite factor leaves no trace there.
auto advanced(const auto& m, auto before, auto factor, auto term, auto zero) {
  return m.select(m.eq(before, zero), term, m.fma(factor, before, term));
}

/// How far the factor of a step lies, in memory, from the entry that it leads to: the factors have an entry
/// less in each group of lines.
std::int64_t factor_offset(const Lines& lines, std::int64_t place, bool reverse) {
  const std::int64_t groups_before = place / (lines.length * lines.inner);
  return -(groups_before + (reverse ? 0 : 1)) * lines.inner;
}

}  // namespace

void factors_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const std::int64_t axis = params.as<CumulativeParams>().axis;
  for (const Aval& a : in) check_dtype("cumsum", float_dtypes | complex_dtypes, a);
  APSIS_ASSERT(in[0].dtype() == in[1].dtype() && axis >= 0 && axis < in[0].rank());
  Shape steps = in[0].shape();
  --steps[static_cast<std::size_t>(axis)];
  APSIS_ASSERT(in[1].shape() == steps);
  out.push_back(in[0]);
}

void factors_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<CumulativeParams>();
  const Lines all(in[0].shape(), p.axis);
  visit_dtype<float_dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const ElementModel<C> m;
    const auto *x = static_cast<const T*>(data_of(in[0])), *factors = static_cast<const T*>(data_of(in[1]));
    auto* r = mutable_data<T>(out[0]);
    with_lines(all, [&]<std::int64_t most>(std::int64_t first, std::int64_t end) {
      std::array<C, most> total{};
      std::int64_t offset = 0;
      const auto step = [&](std::int64_t place, std::int64_t i, std::int64_t count) {
        const T* term = x + place;
        T* result = r + place;
        const auto n = static_cast<std::size_t>(count);
        if (i == 0) {
          offset = factor_offset(all, place, p.reverse);
          for (std::size_t k = 0; k < n; ++k) {
            total[k] = static_cast<C>(term[k]);
            result[k] = term[k];
          }
          return;
        }
        const T* factor = factors + place + offset;
        for (std::size_t k = 0; k < n; ++k) {
          total[k] = advanced(m, total[k], static_cast<C>(factor[k]), static_cast<C>(term[k]), C(0));
          result[k] = static_cast<T>(total[k]);
        }
      };
      visit_lines<most>(all, p.reverse, first, end, step);
    });
  });
}

void factors_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                  std::span<Value> out) {
  const auto& p = params.as<CumulativeParams>();
  const Lines all(in_avals[0].shape(), p.axis);
  visit_dtype<float_dtypes>(in_avals[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const EmitterModel<C> m{&e};
    const auto computed = [&](std::int64_t operand) {
      const Value v = in[static_cast<std::size_t>(operand)];
      return Lane<C>{std::is_same_v<T, C> ? v : e.convert(v, dtype_of<C>)};
    };
    Lane<C> total;
    visit_each_line(all, p.reverse, [&](std::int64_t place, std::int64_t i, std::int64_t) {
      const Lane<C> term = computed(place);
      const std::int64_t factor = in_avals[0].size() + place + factor_offset(all, place, p.reverse);
      total = i == 0 ? term : advanced(m, total, computed(factor), term, m.constant(C(0)));
      out[static_cast<std::size_t>(place)] = std::is_same_v<T, C> ? total.v : e.convert(total.v, dtype_of<T>);
    });
  });
}

// Tangents of factors add to those of the terms.
void factors_jvp(const JvpRule& r) {
  const auto& p = r.params.as<CumulativeParams>();
  const Array &factors = r.primals[1], &of_factors = r.tangents[1];
  r.outs[0] = cumsum_with_factors(r.primals[0], factors, p.axis, p.reverse);
  Array source = r.tangents[0];
  if (!of_factors.is_empty()) {
    const std::int64_t steps = factors.shape()[static_cast<std::size_t>(p.axis)];
    const Array added = lax::mul(of_factors, run_entries(r.outs[0], p.axis, p.reverse, 0, steps));
    Dims low = Dims::filled(factors.shape().size(), 0), high = low;
    (p.reverse ? high : low)[static_cast<std::size_t>(p.axis)] = 1;
    source = add_tangents(source, lax::pad(added, lax::full({}, added.dtype(), 0), low, high));
  }
  r.out_tangents[0] = cumsum_with_factors(source, factors, p.axis, p.reverse);
}

Array run_entries(const Array& x, std::int64_t axis, bool reverse, std::int64_t start, std::int64_t limit) {
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t size = x.shape()[along];
  Dims starts = Dims::filled(x.shape().size(), 0), limits = x.shape();
  starts[along] = reverse ? size - limit : start;
  limits[along] = reverse ? size - start : limit;
  return lax::slice(x, starts, limits);
}

Array run_of(const Array& first, const Array& rest, std::int64_t axis, bool reverse) {
  const Array parts[] = {reverse ? rest : first, reverse ? first : rest};
  return lax::concatenate(parts, static_cast<int>(axis));
}

Array cumsum_with_factors(const Array& x, const Array& factors, std::int64_t axis, bool reverse) {
  return bind1(cumsum_op, make_params(CumulativeParams{axis, reverse}), {x, factors});
}

}  // namespace apsis::detail
