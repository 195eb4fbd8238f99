#include "apsis/ops/sort.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "apsis/ops/complex.hpp"
#include "ops/arguments.hpp"
#include "ops/each_matrix.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/sort_lines.hpp"
#include "ops/sort_order.hpp"

namespace apsis {
namespace detail {
namespace {

void check_operands(const SortParams& p, std::span<const Aval> in) {
  APSIS_ASSERT(!in.empty() && p.axis >= 0 && p.axis < in[0].rank());
  APSIS_ASSERT(p.num_keys >= 1 && p.num_keys <= static_cast<std::int64_t>(in.size()));
  for (const Aval& a : in) APSIS_ASSERT(a.shape() == in[0].shape());
}

void sort_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  check_operands(params.as<SortParams>(), in);
  out.assign(in.begin(), in.end());
}

void argsort_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<SortParams>();
  check_operands(p, in);
  APSIS_ASSERT(p.num_keys == static_cast<std::int64_t>(in.size()));
  out = {Aval(Dtype::I64, in[0].shape())};
}

/// The lines along an axis.
struct Lines {
  std::int64_t count, stride;  // of the entries of a line
  Lines(const SortParams& p, const Shape& shape)
      : count(shape[static_cast<std::size_t>(p.axis)]),
        stride(View::contiguous(shape).strides[static_cast<std::size_t>(p.axis)]) {}
  std::int64_t first(std::int64_t line) const { return line / stride * stride * count + line % stride; }
};

/// The elements of an array from `first` on.
const char* from(const Array& a, std::int64_t first) {
  return static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(first) * item_size(a.dtype());
}

std::vector<SortKey> keys_of(const SortParams& p, std::span<const Array> in, const Lines& lines,
                             std::int64_t first) {
  std::vector<SortKey> keys;
  for (const Array& a : in.first(static_cast<std::size_t>(p.num_keys)))
    keys.push_back({from(a, first), lines.stride, a.dtype()});
  return keys;
}

/// Calls run(sorter, first_line, end) for all lines, several at once where that is worth it.
void each_lines(const SortParams& p, const Array& a, const auto& run) {
  if (a.size() == 0) return;
  constexpr double operations = 150;  // of an element, about
  const std::int64_t count = Lines(p, a.shape()).count;
  const bool few = count <= std::numeric_limits<std::uint32_t>::max();
  each_range(a.size() / count, 1, operations * static_cast<double>(count),
             [&](std::int64_t first, std::int64_t end) {
               few ? run(LineSorter<std::uint32_t>(), first, end)
                   : run(LineSorter<std::int64_t>(), first, end);
             });
}

void sort_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<SortParams>();
  const Lines lines(p, in[0].shape());
  each_lines(p, in[0], [&](auto order, std::int64_t first_line, std::int64_t end) {
    for (std::int64_t line = first_line; line < end; ++line) {
      const std::int64_t first = lines.first(line);
      const std::vector<SortKey> keys = keys_of(p, in, lines, first);
      if (in.size() == 1 && sort_values(keys[0], lines.count, const_cast<char*>(from(out[0], first))))
        continue;
      order.sort(keys, lines.count);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t item = item_size(in[i].dtype());
        const char* old = from(in[i], first);
        char* sorted = const_cast<char*>(from(out[i], first));
        const auto move = [&](auto word) {
          using Word = decltype(word);
          for (std::int64_t k = 0; k < lines.count; ++k)
            reinterpret_cast<Word*>(sorted)[k * lines.stride] =
                reinterpret_cast<const Word*>(old)[order[k] * lines.stride];
        };
        if (as_words(item, move)) continue;
        for (std::int64_t k = 0; k < lines.count; ++k)
          std::memcpy(sorted + static_cast<std::size_t>(k * lines.stride) * item,
                      old + static_cast<std::size_t>(order[k] * lines.stride) * item, item);
      }
    }
  });
}

void argsort_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<SortParams>();
  const Lines lines(p, in[0].shape());
  auto* places = mutable_data<std::int64_t>(out[0]);
  each_lines(p, in[0], [&](auto order, std::int64_t first_line, std::int64_t end) {
    for (std::int64_t line = first_line; line < end; ++line) {
      const std::int64_t first = lines.first(line);
      order.sort(keys_of(p, in, lines, first), lines.count);
      for (std::int64_t k = 0; k < lines.count; ++k) places[first + k * lines.stride] = order[k];
    }
  });
}

// Exchanges of neighbours where the right one is strictly less, which is stable: bubble sort as a network.
// `values`: of each operand, one after the other.
void emit_exchanges(Emitter& e, const SortParams& p, const Shape& shape, std::span<Value> values) {
  const auto size = static_cast<std::size_t>(shape.product());
  if (size == 0) return;
  const std::size_t operands = values.size() / size;
  const Lines lines(p, shape);
  for (std::int64_t line = 0; line < shape.product() / lines.count; ++line) {
    auto at = [&](std::size_t operand, std::int64_t k) -> Value& {
      return values[operand * size + static_cast<std::size_t>(lines.first(line) + k * lines.stride)];
    };
    for (std::int64_t end = lines.count - 1; end > 0; --end)
      for (std::int64_t k = 0; k < end; ++k) {
        Condition later;
        for (std::size_t key = static_cast<std::size_t>(p.num_keys); key-- > 0;) {
          EmittedOrder o = emit_order(e, at(key, k + 1), at(key, k));
          later = later ? e.bit_or(o.less, e.bit_and(o.equal, *later)) : o.less;
        }
        for (std::size_t i = 0; i < operands; ++i) {
          Value left = at(i, k), right = at(i, k + 1);
          at(i, k) = e.select(*later, right, left);
          at(i, k + 1) = e.select(*later, left, right);
        }
      }
  }
}

void sort_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
               std::span<const Aval>, std::span<Value> out) {
  std::ranges::copy(in, out.begin());
  emit_exchanges(e, params.as<SortParams>(), in_avals[0].shape(), out);
}

void argsort_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                  std::span<const Aval>, std::span<Value> out) {
  const auto& p = params.as<SortParams>();
  const Lines lines(p, in_avals[0].shape());
  std::vector<Value> values(in.begin(), in.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    values.push_back(e.constant(
        Dtype::I64, static_cast<std::uint64_t>(static_cast<std::int64_t>(i) / lines.stride % lines.count)));
  emit_exchanges(e, p, in_avals[0].shape(), values);
  std::ranges::copy(std::span(values).last(out.size()), out.begin());
}

// Tangents follow the permutation.
void sort_jvp(const JvpRule& r) {
  const auto& p = r.params.as<SortParams>();
  const auto keys = r.primals.first(static_cast<std::size_t>(p.num_keys));
  const Array order = bind_all(argsort_op, r.params, keys)[0];
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = lax::entries_at(r.primals[i], order, p.axis);
    if (!r.tangents[i].is_empty()) r.out_tangents[i] = lax::entries_at(r.tangents[i], order, p.axis);
  }
}

template <const Op& op>
void sort_batch(const BatchRule& r) {
  SortParams p = r.params.as<SortParams>();
  ++p.axis;
  r.outs = bind_all(op, make_params(p), batch_operands(r));
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

// Not linear, so there is no transpose rule: its jvp is a gather, which has one.
const Op sort_op = {
    .name = "sort",
    .kind = OpKind::Index,
    .shape = sort_shape,
    .evaluate = sort_evaluate,
    .jvp = sort_jvp,
    .batch = sort_batch<sort_op>,
    .emit_unrolled = sort_emit,
    .parse = parse_params<SortParams>,
};

const Op argsort_op = {
    .name = "argsort",
    .kind = OpKind::Index,
    .shape = argsort_shape,
    .evaluate = argsort_evaluate,
    .jvp = zero_jvp<argsort_op>,
    .batch = sort_batch<argsort_op>,
    .emit_unrolled = argsort_emit,
    .parse = parse_params<SortParams>,
};

}  // namespace detail

namespace lax = detail::lax;

namespace {

/// The axis to sort along.
int checked_sort(const char* where, std::span<const Array> operands, int axis, Loc loc) {
  if (operands.empty()) fail(messages::nothing_to_join, {where}, loc);
  const int along = detail::checked_axis(where, axis, operands[0].shape(), loc);
  for (const Array& a : operands)
    if (a.shape() != operands[0].shape())
      fail(messages::sort_shapes, {where, to_string(a.shape()), to_string(operands[0].shape())}, loc);
  return along;
}

}  // namespace

std::vector<Array> sort(std::span<const Array> operands, int axis, int num_keys, Loc loc) {
  const int along = checked_sort("sort", operands, axis, loc);
  if (num_keys < 1 || num_keys > static_cast<int>(operands.size()))
    fail(messages::sort_keys, {std::to_string(num_keys), std::to_string(operands.size())}, loc);
  return bind_all(detail::sort_op, make_params(detail::SortParams{along, num_keys}), operands, loc);
}

Array sort(const Array& x, int axis, Loc loc) { return sort(std::span(&x, 1), axis, 1, loc)[0]; }

Array argsort(std::span<const Array> keys, int axis, Loc loc) {
  const int along = checked_sort("argsort", keys, axis, loc);
  const detail::SortParams params{along, static_cast<std::int64_t>(keys.size())};
  return bind_all(detail::argsort_op, make_params(params), keys, loc)[0];
}

Array argsort(const Array& x, int axis, Loc loc) { return argsort(std::span(&x, 1), axis, loc); }

namespace {

/// Whether an entry belongs before a value, as `sort` has it: NaN is after all numbers, in the entries and
/// among the values; of complex numbers the real part counts, then the imaginary one.
Array comes_before(const Array& entry, const Array& value, bool right) {
  if (is_complex(entry.dtype())) {
    const Array re[] = {real(entry), real(value)};
    const Array tie = lax::logical_and(lax::logical_not(comes_before(re[1], re[0], false)),
                                       comes_before(imag(entry), imag(value), right));
    return lax::logical_or(comes_before(re[0], re[1], false), tie);
  }
  Array before = right ? lax::le(entry, value) : lax::lt(entry, value);
  if (!is_floating(entry.dtype())) return before;
  Array nan_value = lax::ne(value, value), nan_entry = lax::ne(entry, entry);
  return lax::logical_or(before,
                         right ? nan_value : lax::logical_and(nan_value, lax::logical_not(nan_entry)));
}

/// The number of entries before each value: a comparison with all of them, which vectorises.
Array count_before(const Array& sorted, const Array& values, bool right) {
  Shape shape = values.shape();
  shape.push_back(sorted.size());
  Array entries = lax::broadcast_in_dim(sorted, shape, {values.ndim()});
  Array wanted = lax::broadcast_in_dim(values, shape, Dims::counting(values.shape().size()));
  return lax::reduce_sum(lax::convert(comes_before(entries, wanted, right), i64), {values.ndim()});
}

/// The same, for many entries a value: what concerns the value alone is done once. NaN among the values has
/// the numbers before it that are less than infinity, or equal to it.
class Before {
 public:
  Before(const Array& values, bool right)
      : values_(values), right_(right), simple_(is_floating(values.dtype()) && !is_complex(values.dtype())) {
    if (!simple_) return;
    nan_ = lax::ne(values, values);
    if (right) return;
    const double infinity = std::numeric_limits<double>::infinity();
    const auto all = [&](double v) { return lax::full(values.shape(), values.dtype(), v); };
    values_ = lax::select(nan_, all(infinity), values);
    equal_ = lax::select(nan_, all(infinity), all(std::numeric_limits<double>::quiet_NaN()));
  }

  Array operator()(const Array& entries) const {
    if (!simple_) return comes_before(entries, values_, right_);
    return right_ ? lax::le(entries, values_)
                  : lax::logical_or(lax::lt(entries, values_), lax::eq(entries, equal_));
  }

  /// How many of `n` entries are before each value, if these are by what was asked of them.
  Array count(const Array& known, const Array& n) const {
    const Array most = lax::select(lax::lt(known, n), known, n);
    return simple_ && right_ ? lax::select(nan_, n, most) : most;
  }

 private:
  Array values_, equal_, nan_;
  bool right_, simple_;
};

/// The same by bisection, all values at once: that many entries are known to come before, and the next power
/// of two more if the last of these does. Where there are not so many the last of all is asked, which is
/// before a value if all are. The first three steps are comparisons with at most seven entries: faster than
/// reads, which are one element after the other on most processors.
Array bisect(const Array& sorted, const Array& values, bool right) {
  const std::int64_t n = sorted.size();
  auto number = [&](std::int64_t v) { return lax::full(values.shape(), i64, double(v)); };
  const Before before(values, right);
  Array known = number(0);
  auto step =
      std::max<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))) / 4, 1);
  for (std::int64_t tried = step; tried <= n; tried += step) {
    const Array last = lax::reshape(lax::slice(sorted, {tried - 1}, {tried}), {});
    known = lax::select(before(lax::broadcast_in_dim(last, values.shape(), {})), number(tried), known);
  }
  detail::GatherParams element;
  element.slice_sizes = {1};
  element.start_index_map = element.collapsed_slice_dims = {0};
  for (step /= 2; step > 0; step /= 2) {
    const Array place = lax::expand_axis(lax::add(known, number(step - 1)), values.ndim());
    known = lax::select(before(lax::gather(sorted, place, element)), lax::add(known, number(step)), known);
  }
  return before.count(known, number(n));
}

/// Up to here a comparison with every entry is as fast as the few reads of a bisection.
constexpr std::int64_t few_entries = 32;

}  // namespace

Array searchsorted(const Array& sorted, const Array& values, bool right, Loc loc) {
  if (sorted.ndim() != 1) fail(messages::needs_rank, {"searchsorted", "1", to_string(sorted.shape())}, loc);
  Array operands[] = {lax::stop_gradient(sorted), lax::stop_gradient(values)};
  auto pair = detail::promoted(operands);
  return sorted.size() <= few_entries ? count_before(pair[0], pair[1], right)
                                      : bisect(pair[0], pair[1], right);
}

}  // namespace apsis
