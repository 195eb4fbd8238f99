#include "apsis/control/associative_scan.hpp"

#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "core/sizes.hpp"
#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

/// Entries start, start + stride, … below limit of each array.
std::vector<Array> entries(std::span<const Array> arrays, std::span<const int> axes, std::int64_t start,
                           std::int64_t limit, std::int64_t stride = 1) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Shape& shape = arrays[i].shape();
    auto axis = static_cast<std::size_t>(axes[i]);
    Dims starts = Dims::filled(shape.size(), 0), limits = shape, strides = Dims::filled(shape.size(), 1);
    starts[axis] = start;
    limits[axis] = limit;
    strides[axis] = stride;
    out.push_back(lax::slice(arrays[i], starts, limits, strides));
  }
  return out;
}

/// e0, o0, e1, o1, …; there is one even entry more, or as many.
Array interleaved(const Array& even, const Array& odd, int axis) {
  auto at = static_cast<std::size_t>(axis);
  std::int64_t pairs = odd.shape()[at];
  const int one[] = {axis};
  Array head = even.shape()[at] == pairs ? even : entries({&even, 1}, one, 0, pairs)[0];
  Array parts[] = {lax::expand_axis(head, axis + 1), lax::expand_axis(odd, axis + 1)};
  Shape shape = odd.shape();
  shape[at] = 2 * pairs;
  Array woven = lax::reshape(lax::concatenate(parts, axis + 1), shape);
  if (even.shape()[at] == pairs) return woven;
  Array all[] = {woven, entries({&even, 1}, one, pairs, pairs + 1)[0]};
  return lax::concatenate(all, axis);
}

struct Combine {
  const Callee& f;
  std::span<const int> axes;
  Loc loc;

  /// a ∘ b for each pair of entries.
  std::vector<Array> operator()(std::vector<Array> a, const std::vector<Array>& b) const {
    std::vector<Array> want = a;
    append(a, b);
    std::vector<Array> out = f(a);
    if (out.size() != want.size())
      fail(messages::combine_structure, {std::to_string(want.size()), std::to_string(out.size())}, loc);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].weak() && out[i].dtype() != want[i].dtype())
        out[i] = lax::convert(out[i], want[i].dtype());  // a scalar of the program takes the entry's dtype
      if (out[i].dtype() != want[i].dtype() || out[i].shape() != want[i].shape())
        fail(messages::combine_mismatch, {f.inputs(i), to_string(want[i].aval()), to_string(out[i].aval())},
             loc);
    }
    return out;
  }

  /// Combines neighbours, scans the half as many results, which are the odd prefixes, and fills in the even
  /// ones.
  std::vector<Array> prefixes(const std::vector<Array>& values) const {
    std::int64_t n = values[0].shape()[static_cast<std::size_t>(axes[0])];
    if (n < 2) return values;
    std::int64_t pairs = n / 2;
    std::vector<Array> odd =
        prefixes((*this)(entries(values, axes, 0, 2 * pairs, 2), entries(values, axes, 1, 2 * pairs, 2)));
    std::vector<Array> first = entries(values, axes, 0, 1), out;
    std::int64_t later = (n - 1) / 2;  // even entries after the first
    std::vector<Array> even = first;
    if (later > 0) {
      std::vector<Array> rest = (*this)(entries(odd, axes, 0, later), entries(values, axes, 2, n, 2));
      for (std::size_t i = 0; i < even.size(); ++i) {
        Array parts[] = {even[i], rest[i]};
        even[i] = lax::concatenate(parts, axes[i]);
      }
    }
    for (std::size_t i = 0; i < even.size(); ++i) out.push_back(interleaved(even[i], odd[i], axes[i]));
    return out;
  }
};

}  // namespace

std::vector<Array> associative_scan_call(const Callee& combine, std::span<const Array> elems,
                                         const AssociativeScanOptions& options, Loc loc) {
  std::vector<Array> values(elems.begin(), elems.end());
  std::vector<int> axes;
  std::int64_t length = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    int rank = values[i].ndim(), axis = options.axis < 0 ? options.axis + rank : options.axis;
    if (axis < 0 || axis >= rank) fail_axis("associative_scan", options.axis, values[i].shape(), loc);
    std::int64_t n = values[i].shape()[static_cast<std::size_t>(axis)];
    if (i > 0 && n != length)
      fail(messages::combine_lengths,
           {combine.inputs(0), std::to_string(length), combine.inputs(i), std::to_string(n)}, loc);
    length = n;
    axes.push_back(axis);
  }
  if (values.empty()) return values;
  auto reverse = [&] {
    if (!options.reverse) return;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = lax::reverse(values[i], {axes[i]});
  };
  reverse();
  values = Combine{combine, axes, loc}.prefixes(values);
  reverse();
  return values;
}

}  // namespace apsis::detail
