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

std::size_t axis_of(const Params& params) { return static_cast<std::size_t>(params.as<SortParams>().axis); }

void sort_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<SortParams>();
  APSIS_ASSERT(!in.empty() && p.axis >= 0 && p.axis < in[0].rank());
  APSIS_ASSERT(p.num_keys >= 1 && p.num_keys <= static_cast<std::int64_t>(in.size()));
  for (const Aval& a : in) APSIS_ASSERT(a.shape() == in[0].shape());
  out.assign(in.begin(), in.end());
}

/// Lines first_line, …, end - 1.
template <class Number>
void sort_lines(const SortParams& p, std::span<const Array> in, std::span<Array> out, std::int64_t first_line,
                std::int64_t end) {
  const Shape& shape = in[0].shape();
  const auto axis = static_cast<std::size_t>(p.axis);
  const std::int64_t count = shape[axis], stride = View::contiguous(shape).strides[axis];
  LineSorter<Number> order;
  std::vector<SortKey> keys(static_cast<std::size_t>(p.num_keys));
  for (std::int64_t line = first_line; line < end; ++line) {
    const std::int64_t first = line / stride * stride * count + line % stride;
    const auto at_first = [&](const Array& a, const void* data) {
      return static_cast<const char*>(data) + static_cast<std::size_t>(first) * item_size(a.dtype());
    };
    for (std::size_t k = 0; k < keys.size(); ++k)
      keys[k] = {at_first(in[k], data_of(in[k])), stride, in[k].dtype()};
    if (in.size() == 1 && sort_values(keys[0], count, const_cast<char*>(at_first(out[0], data_of(out[0])))))
      continue;
    order.sort(keys, count);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t item = item_size(in[i].dtype());
      const auto* from = at_first(in[i], data_of(in[i]));
      auto* to = const_cast<char*>(at_first(out[i], data_of(out[i])));
      const auto move = [&](auto word) {
        using Word = decltype(word);
        for (std::int64_t k = 0; k < count; ++k)
          reinterpret_cast<Word*>(to)[k * stride] = reinterpret_cast<const Word*>(from)[order[k] * stride];
      };
      if (as_words(item, move)) continue;
      for (std::int64_t k = 0; k < count; ++k)
        std::memcpy(to + static_cast<std::size_t>(k * stride) * item,
                    from + static_cast<std::size_t>(order[k] * stride) * item, item);
    }
  }
}

void sort_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (in[0].size() == 0) return;
  constexpr double operations = 150;  // of an element, about
  const auto& p = params.as<SortParams>();
  const std::int64_t count = in[0].shape()[axis_of(params)];
  const bool few = count <= std::numeric_limits<std::uint32_t>::max();
  each_range(in[0].size() / count, 1, operations * static_cast<double>(count),
             [&](std::int64_t first, std::int64_t end) {
               few ? sort_lines<std::uint32_t>(p, in, out, first, end)
                   : sort_lines<std::int64_t>(p, in, out, first, end);
             });
}

// Exchanges of neighbours where the right one is strictly less, which is stable: bubble sort as a network.
void sort_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
               std::span<const Aval>, std::span<Value> out) {
  const auto& p = params.as<SortParams>();
  const Shape& shape = in_avals[0].shape();
  std::size_t axis = axis_of(params), operands = in_avals.size(), size = out.size() / operands;
  std::ranges::copy(in, out.begin());
  if (size == 0) return;
  std::int64_t count = shape[axis], stride = View::contiguous(shape).strides[axis];
  for (std::int64_t line = 0, lines = static_cast<std::int64_t>(size) / count; line < lines; ++line) {
    std::int64_t first = line / stride * stride * count + line % stride;
    auto at = [&](std::size_t operand, std::int64_t k) -> Value& {
      return out[operand * size + static_cast<std::size_t>(first + k * stride)];
    };
    for (std::int64_t end = count - 1; end > 0; --end)
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

// Tangents follow the permutation, which is sorted along as one more operand.
void sort_jvp(const JvpRule& r) {
  const auto& p = r.params.as<SortParams>();
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  operands.push_back(lax::iota(Dtype::I64, r.primals[0].shape(), static_cast<int>(p.axis)));
  std::vector<Array> sorted(operands.size());
  bind(sort_op, r.params, operands, sorted);
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = sorted[i];
    if (!r.tangents[i].is_empty()) r.out_tangents[i] = lax::entries_at(r.tangents[i], sorted.back(), p.axis);
  }
}

void sort_batch(const BatchRule& r) {
  SortParams p = r.params.as<SortParams>();
  ++p.axis;
  r.outs = bind_all(sort_op, make_params(p), batch_operands(r));
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
    .batch = sort_batch,
    .emit_unrolled = sort_emit,
    .parse = parse_params<SortParams>,
};

}  // namespace detail

namespace lax = detail::lax;

std::vector<Array> sort(std::span<const Array> operands, int axis, int num_keys, Loc loc) {
  if (operands.empty()) fail(messages::nothing_to_join, {"sort"}, loc);
  int along = detail::checked_axis("sort", axis, operands[0].shape(), loc);
  for (const Array& a : operands)
    if (a.shape() != operands[0].shape())
      fail(messages::sort_shapes, {to_string(a.shape()), to_string(operands[0].shape())}, loc);
  if (num_keys < 1 || num_keys > static_cast<int>(operands.size()))
    fail(messages::sort_keys, {std::to_string(num_keys), std::to_string(operands.size())}, loc);
  return bind_all(detail::sort_op, make_params(detail::SortParams{along, num_keys}), operands, loc);
}

Array sort(const Array& x, int axis, Loc loc) { return sort(std::span<const Array>(&x, 1), axis, 1, loc)[0]; }

Array argsort(const Array& x, int axis, Loc loc) {
  int along = detail::checked_axis("argsort", axis, x.shape(), loc);
  Array operands[] = {lax::stop_gradient(x), lax::iota(i64, x.shape(), along)};
  return sort(operands, along, 1, loc)[1];
}

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
