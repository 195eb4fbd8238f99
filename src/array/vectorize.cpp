#include "apsis/array/vectorize.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "apsis/ops/creation.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

using Names = std::vector<std::string>;

/// The axes of each array, by name.
struct AxisNames {
  std::vector<Names> operands, results;
};

/// Reads "(m,n),(n)->(m)", in which spaces do not count.
class SignatureReader {
 public:
  SignatureReader(const std::string& text, Loc loc) : text_(text), loc_(loc) {
    for (char c : text)
      if (c != ' ') rest_ += c;
  }
  AxisNames read() {
    AxisNames out;
    if (!takes("->")) {
      out.operands = list();
      if (!takes("->")) fail_at("`->`");
    }
    if (!rest_.empty()) out.results = list();
    if (!rest_.empty()) fail_at("`,` or the end");
    return out;
  }

 private:
  std::vector<Names> list() {
    std::vector<Names> out;
    do {
      if (!takes("(")) fail_at("`(`");
      Names names;
      while (!takes(")")) {
        if (!names.empty() && !takes(",")) fail_at("`,` or `)`");
        names.push_back(word());
      }
      out.push_back(names);
    } while (takes(","));
    return out;
  }
  std::string word() {
    const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    const auto end = std::ranges::find_if_not(rest_, is_part);
    if (end == rest_.begin()) fail_at("the name of an axis");
    std::string name(rest_.begin(), end);
    rest_.erase(rest_.begin(), end);
    return name;
  }
  bool takes(std::string_view start) {
    if (!rest_.starts_with(start)) return false;
    rest_.erase(0, start.size());
    return true;
  }
  [[noreturn]] void fail_at(const std::string& expected) {
    fail(messages::vectorize_signature,
         {text_, expected, rest_.empty() ? "the end" : "`" + rest_.substr(0, 1) + "`"}, loc_);
  }
  std::string text_, rest_;
  Loc loc_;
};

/// The sizes that names have got.
class Sizes {
 public:
  Sizes(const std::string& signature, Loc loc) : signature_(signature), loc_(loc) {}
  /// `names` are the last axes of `shape`.
  void check(const Names& names, const Shape& shape, const std::string& what) {
    const std::size_t first = shape.size() - names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool fixed = std::isdigit(static_cast<unsigned char>(names[i][0])) != 0;
      const std::int64_t size = shape[first + i];
      const std::int64_t wanted =
          fixed ? std::atoll(names[i].c_str()) : sizes_.emplace(names[i], size).first->second;
      if (wanted != size)
        fail_fit(what + " of shape " + to_string(shape) + " has " + std::to_string(size) + " for " +
                 names[i] + ", which is " + std::to_string(wanted));
    }
  }
  [[noreturn]] void fail_fit(const std::string& why) const {
    fail(messages::vectorize_fit, {signature_, why}, loc_);
  }

 private:
  std::string signature_;
  Loc loc_;
  std::map<std::string, std::int64_t> sizes_;
};

/// A call of `callee` under one vmap for each row of `axes`, which says what axis of each leaf it maps.
struct Nest {
  const detail::Callee& callee;
  const std::vector<std::vector<int>>& axes;
  Loc loc;
  std::size_t depth = 0;
  std::vector<Array> operator()(std::span<const Array> in) const {
    if (depth == axes.size()) return callee(in);
    const Nest inner{callee, axes, loc, depth + 1};
    detail::Callee call = detail::callee_of(inner);
    call.inputs = callee.inputs;
    call.results = callee.results;
    return detail::vmap_call(call, in, axes[depth], VmapOptions(), loc);
  }
};

/// Calls of the callee for all elements of the axes in front of the last ranks[k] of leaf k; -1: of no axis.
/// `loop` becomes the shape of these axes, with which all results begin.
std::vector<Array> call_for_each(const detail::Callee& callee, std::span<const Array> leaves,
                                 std::span<const int> ranks, Shape& loop, Loc loc) {
  std::vector<Shape> fronts(leaves.size());
  for (std::size_t k = 0; k < leaves.size(); ++k)
    for (int i = 0; ranks[k] >= 0 && i < leaves[k].ndim() - ranks[k]; ++i)
      fronts[k].push_back(leaves[k].dim(i));
  loop = common_shape("vectorize", fronts);
  // An axis of size 1 is not mapped.
  std::vector<std::vector<int>> axes;
  for (std::size_t i = 0; i < loop.size(); ++i) {
    if (loop[i] == 1) continue;
    std::vector<int> row;
    for (const Shape& front : fronts) {
      const std::size_t missing = loop.size() - front.size();
      row.push_back(i >= missing && front[i - missing] != 1 ? 0 : detail::not_mapped);
    }
    axes.push_back(row);
  }
  std::vector<Array> squeezed;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    Dims ones;
    for (std::size_t i = 0; i < fronts[k].size(); ++i)
      if (fronts[k][i] == 1) ones.push_back(static_cast<std::int64_t>(i));
    squeezed.push_back(ones.empty() ? leaves[k] : squeeze(leaves[k], ones));
  }
  std::vector<Array> results = Nest{callee, axes, loc}(squeezed);
  for (Array& y : results) {
    Shape shape = loop;
    for (std::size_t i = axes.size(); i < y.shape().size(); ++i) shape.push_back(y.shape()[i]);
    y = reshape(y, shape);
  }
  return results;
}

std::string counted(std::size_t count, const char* what) { return std::to_string(count) + " " + what; }

}  // namespace

std::vector<Array> detail::vectorize_call(const Callee& callee, std::span<const Array> leaves,
                                          const std::vector<bool>& mapped, const VectorizeOptions& options,
                                          Loc loc) {
  const LocScope place(loc);
  const bool is_signed = !options.signature.empty();
  const AxisNames signature = is_signed ? SignatureReader(options.signature, loc).read() : AxisNames();
  Sizes sizes(options.signature, loc);
  const auto operands = static_cast<std::size_t>(std::ranges::count(mapped, true));
  if (is_signed && operands != signature.operands.size())
    sizes.fail_fit("it has " + counted(signature.operands.size(), "operands") + ", the call " +
                   std::to_string(operands));
  std::vector<int> ranks(leaves.size(), -1);
  for (std::size_t k = 0, next = 0; k < leaves.size(); ++k) {
    if (!mapped[k]) continue;
    ranks[k] = 0;
    if (!is_signed) continue;
    const Names& names = signature.operands[next++];
    ranks[k] = static_cast<int>(names.size());
    if (leaves[k].ndim() < ranks[k])
      sizes.fail_fit(callee.inputs(k) + " has shape " + to_string(leaves[k].shape()) + ", which lacks axes");
    sizes.check(names, leaves[k].shape(), callee.inputs(k));
  }
  Shape loop;
  const std::vector<Array> results = call_for_each(callee, leaves, ranks, loop, loc);
  if (!is_signed) return results;
  if (results.size() != signature.results.size())
    sizes.fail_fit("it has " + counted(signature.results.size(), "results") + ", the function " +
                   std::to_string(results.size()));
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Names& names = signature.results[k];
    const std::string what = "result " + std::to_string(k);
    if (results[k].shape().size() != loop.size() + names.size())
      sizes.fail_fit(what + " of the function has " +
                     counted(results[k].shape().size() - loop.size(), "axes"));
    sizes.check(names, results[k].shape(), what);
  }
  return results;
}

std::vector<Array> detail::along_axis_call(const Callee& callee, std::span<const Array> leaves, int axis,
                                           Loc loc) {
  const LocScope place(loc);
  const Array& x = leaves.back();
  const int along = checked_axis("apply_along_axis", axis, x);
  std::vector<Array> moved(leaves.begin(), leaves.end());
  moved.back() = moveaxis(x, along, -1);
  std::vector<int> ranks(leaves.size(), -1);
  ranks.back() = 1;
  Shape loop;
  std::vector<Array> results = call_for_each(callee, moved, ranks, loop, loc);
  for (Array& y : results) {
    const auto front = static_cast<std::int64_t>(loop.size());
    Dims order;
    for (std::int64_t i = 0; i < along; ++i) order.push_back(i);
    for (std::int64_t i = front; i < y.ndim(); ++i) order.push_back(i);
    for (std::int64_t i = along; i < front; ++i) order.push_back(i);
    if (y.ndim() > 0) y = transpose(y, order);
  }
  return results;
}

Array detail::with_axis_kept(const Array& reduced, const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  if (reduced.ndim() == x.ndim()) return reduced;
  check_rank("apply_over_axes", reduced.ndim() == x.ndim() - 1,
             "as many axes as the function was given, or one fewer", reduced);
  return expand_dims(reduced, axis);
}

Dims detail::axes_in_order(const Array& x, const Axes& axes, Loc loc) {
  const LocScope place(loc);
  if (axes.all) return Dims::counting(x.shape().size());
  Dims out;
  for (std::int64_t axis : axes.list) out.push_back(checked_axis("apply_over_axes", axis, x));
  return out;
}

Array detail::index_along(const Dims& sizes, std::size_t axis, Loc loc) {
  const LocScope place(loc);
  for (std::int64_t size : sizes) check_count("fromfunction", size);
  const Shape ones = Dims::filled(sizes.size(), 1);
  return iota(with_size_at(ones, static_cast<int>(axis), sizes[axis]), static_cast<int>(axis));
}

}  // namespace apsis
