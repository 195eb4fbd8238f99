#include "ops/complex_matrix.hpp"

#include <algorithm>

#include "ops/index_rules.hpp"
#include "ops/small_matrix.hpp"

namespace apsis::detail {
namespace {

bool is_part(const Aval& aval) { return is_floating(aval.dtype()); }

Aval whole_aval(const Aval& part) { return Aval(complex_dtype(part.dtype()), part.shape()); }

/// Calls pair(i) for pairs i, i + 1 of parts, other(i) for arrays that are none.
template <class IsPart, class Pair, class Other>
void each_whole(std::size_t count, const IsPart& is_part_at, const Pair& pair, const Other& other) {
  for (std::size_t i = 0; i < count; ++i)
    if (is_part_at(i))
      pair(i++);
    else
      other(i);
}

template <class Join>
std::vector<Array> wholes(std::span<const Array> in, const Join& join) {
  std::vector<Array> out;
  each_whole(
      in.size(), [&](std::size_t i) { return is_part(in[i].aval()); },
      [&](std::size_t i) { out.push_back(join(in[i], in[i + 1])); },
      [&](std::size_t i) { out.push_back(in[i]); });
  return out;
}

/// Results of an op on complex arrays, one after the other, as parts.
void put_parts(std::span<const Array> results, std::span<Array> out) {
  std::ranges::copy(with_parts(results), out.begin());
}

Array evaluated(const Op& op, const Aval& aval, std::vector<Array> in) {
  std::vector<Array> out = {allocate(aval)};
  op.evaluate({}, in, out);
  return out[0];
}

std::vector<Array> evaluated_results(const Op& op, const Params& params, std::span<const Array> in) {
  std::vector<Aval> in_avals, avals;
  for (const Array& a : in) in_avals.push_back(a.aval());
  op.shape(params, in_avals, avals);
  std::vector<Array> out;
  for (const Aval& aval : avals) out.push_back(allocate(aval));
  op.evaluate(params, in, out);
  return out;
}

}  // namespace

bool are_small_matrices(std::span<const Array> in) {
  return std::ranges::all_of(in, [](const Array& a) {
    if (is_integer(a.dtype())) return true;
    const Matrices sizes(a.shape());
    return sizes.k() > 0 && is_small_matrix(sizes.m, sizes.n);
  });
}

void evaluate_joined(const Op& of_complex, const Params& params, std::span<const Array> in,
                     std::span<Array> out) {
  const std::vector<Array> whole = wholes(in, [](const Array& re, const Array& im) {
    return evaluated(complex_op, whole_aval(re.aval()), {re, im});
  });
  auto next = out.begin();
  for (const Array& z : evaluated_results(of_complex, params, whole)) {
    if (is_complex(z.dtype())) {
      real_op.evaluate({}, {&z, 1}, {&*next++, 1});
      imag_op.evaluate({}, {&z, 1}, {&*next++, 1});
    } else {
      std::copy_n(elements_of<std::int32_t>(z), z.size(), mutable_data<std::int32_t>(*next++));
    }
  }
}

void evaluate_split(const Op& of_parts, const Params& params, std::span<const Array> in,
                    std::span<Array> out) {
  std::vector<Array> parts;
  for (const Array& a : in) {
    if (!is_complex(a.dtype())) {
      parts.push_back(a);
      continue;
    }
    for (const Op* part : {&real_op, &imag_op})
      parts.push_back(evaluated(*part, Aval(part_dtype(a.dtype()), a.shape()), {a}));
  }
  const std::vector<Array> results = evaluated_results(of_parts, params, parts);
  auto next = results.begin();
  for (Array& a : out) {
    if (is_complex(a.dtype())) {
      const std::array pair = {next[0], next[1]};
      complex_op.evaluate({}, pair, {&a, 1});
      next += 2;
    } else {
      std::copy_n(elements_of<std::int32_t>(*next++), a.size(), mutable_data<std::int32_t>(a));
    }
  }
}

void shape_of_parts(const Op& of_complex, const Params& params, std::span<const Aval> in,
                    std::vector<Aval>& out) {
  std::vector<Aval> whole, results;
  each_whole(
      in.size(), [&](std::size_t i) { return is_part(in[i]); },
      [&](std::size_t i) {
        APSIS_ASSERT(i + 1 < in.size() && in[i] == in[i + 1] && item_size(in[i].dtype()) >= 4);
        whole.push_back(whole_aval(in[i]));
      },
      [&](std::size_t i) { whole.push_back(in[i]); });
  of_complex.shape(params, whole, results);
  for (const Aval& a : results)
    out.insert(out.end(), is_complex(a.dtype()) ? 2 : 1, Aval(part_dtype(a.dtype()), a.shape()));
}

void bind_parts(const Op& of_parts, const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (!are_small_matrices(in)) return;
  const std::vector<Array> results = bind_all(of_parts, params, with_parts(in));
  std::ranges::copy(wholes(results,
                           [](const Array& re, const Array& im) {
                             return joined({re, im});
                           }),
                    out.begin());
}

void jvp_of_parts(const Op& of_complex, const JvpRule& r) {
  const auto join = [](const Array& re, const Array& im) { return joined({re, im}); };
  const std::vector<Array> primals = wholes(r.primals, join);
  std::vector<Array> tangents;
  each_whole(
      r.primals.size(), [&](std::size_t i) { return is_part(r.primals[i].aval()); },
      [&](std::size_t i) {
        const Array &re = r.tangents[i], &im = r.tangents[i + 1];
        tangents.push_back(re.is_empty() && im.is_empty()
                               ? Array{}
                               : join(or_zeros(re, r.primals[i]), or_zeros(im, r.primals[i + 1])));
      },
      [&](std::size_t i) { tangents.push_back(r.tangents[i]); });
  std::size_t results = 0;
  std::vector<Aval> in_avals, out_avals;
  for (const Array& a : primals) in_avals.push_back(a.aval());
  of_complex.shape(r.params, in_avals, out_avals);
  std::vector<Array> outs(out_avals.size()), out_tangents(out_avals.size());
  of_complex.jvp({r.params, primals, tangents, outs, out_tangents});
  for (std::size_t i = 0; i < outs.size(); ++i) {
    put_parts({&outs[i], 1}, r.outs.subspan(results));
    if (!out_tangents[i].is_empty()) put_parts({&out_tangents[i], 1}, r.out_tangents.subspan(results));
    results += is_complex(outs[i].dtype()) ? 2 : 1;
  }
}

// A complex cotangent stands for the real ones of z = x + iy as x̄ - iȳ (`complex_transpose`).
void transpose_of_parts(const Op& of_complex, const TransposeRule& r) {
  const auto is_part_at = [&](std::size_t i) { return is_part(r.out[i].aval()); };
  std::vector<Array> operands;
  std::vector<Accumulator> sums;
  each_whole(
      r.out.size(), is_part_at,
      [&](std::size_t i) {
        const bool linear = r.out[i].is_linear() || r.out[i + 1].is_linear();
        operands.push_back(linear ? Array{} : joined({r.operands[i], r.operands[i + 1]}));
        sums.emplace_back(linear, whole_aval(r.out[i].aval()));
      },
      [&](std::size_t i) {
        operands.push_back(r.operands[i]);
        sums.emplace_back(r.out[i].is_linear(), r.out[i].aval());
      });
  const Array &re = r.cotangents[0], &im = r.cotangents[1];
  Array cotangent;
  if (!re.is_empty() || !im.is_empty()) cotangent = joined(parts::conj({or_zeros(re, im), or_zeros(im, re)}));
  of_complex.transpose({r.params, operands, {&cotangent, 1}, sums});
  std::size_t at = 0;
  each_whole(
      r.out.size(), is_part_at,
      [&](std::size_t i) {
        for (const Accumulator::Term& term : sums[at++].terms()) {
          const Parts z = parts::conj(parts_of(term.cotangent));
          r.out[i].add(z.re);
          r.out[i + 1].add(z.im);
        }
      },
      [&](std::size_t) { ++at; });
}

void batch_of_parts(const Op& of_complex, const BatchRule& r) {
  std::vector<Array> operands;
  std::vector<int> axes;
  each_whole(
      r.operands.size(), [&](std::size_t i) { return is_part(r.operands[i].aval()); },
      [&](std::size_t i) {
        Parts z{r.operands[i], r.operands[i + 1]};
        int axis = r.axes[i];
        if (axis != r.axes[i + 1]) {
          z = {batched_front(z.re, axis, r.size), batched_front(z.im, r.axes[i + 1], r.size)};
          axis = 0;
        }
        operands.push_back(joined(z));
        axes.push_back(axis);
      },
      [&](std::size_t i) {
        operands.push_back(r.operands[i]);
        axes.push_back(r.axes[i]);
      });
  std::vector<Array> outs;
  std::vector<int> out_axes;
  of_complex.batch({r.params, r.size, operands, axes, outs, out_axes});
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const std::vector<Array> parts = with_parts({&outs[i], 1});
    r.outs.insert(r.outs.end(), parts.begin(), parts.end());
    r.out_axes.insert(r.out_axes.end(), parts.size(), out_axes[i]);
  }
}

}  // namespace apsis::detail
