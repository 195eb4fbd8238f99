#pragma once

// Large batches in the memory of small ones.
//
//   auto [value, gradient] = train::microbatch(
//       [&](const Batch& part) { return value_and_grad(loss)(model, part); }, batch, {.size = 16});

#include <string>
#include <utility>
#include <vector>

#include "apsis/control/scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "apsis/tree/map.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::train {

/// How the results of parts become that of a batch.
enum class Accumulate : std::uint8_t {
  Mean,        ///< their mean, as of losses that are means, and of their gradients
  Sum,         ///< their sum
  Concatenate  ///< their rows one after the other
};
/// Options of `microbatch`.
struct MicrobatchOptions {
  std::int64_t size = 1;  ///< rows of a part, which divide those of the batch
  Accumulate accumulate = Accumulate::Mean;
};

namespace detail {
/// The leaves [rows, …] as [parts, size, …].
std::vector<Array> cut_rows(std::span<const Array> leaves, const std::vector<std::string>& paths,
                            std::int64_t size);
/// Leaves [parts, size, …] as [rows, …]. Throws for leaves without rows.
std::vector<Array> join_rows(std::span<const Array> leaves, const std::vector<std::string>& paths,
                             std::int64_t size);
/// Zeros of their shapes and dtypes. Throws for a mean of what is no number with a fraction.
std::vector<Array> zero_sums(std::span<const Array> leaves, const std::vector<std::string>& paths,
                             Accumulate accumulate);
/// The leaves of one part, abstract.
std::vector<Array> part_shapes(std::span<const Array> parts);
/// Divided by the number of parts.
std::vector<Array> divided(std::span<const Array> sums, std::int64_t parts);
inline std::int64_t parts_of(std::span<const Array> cut) {
  for (const Array& x : cut)
    if (!x.is_empty()) return x.dim(0);
  return 0;
}
}  // namespace detail

/// f(batch), computed part by part: f is called with some rows of the batch, a tree of arrays, at a time, in
/// a loop that is one program, and its results (any tree) are averaged, summed or put one after the other.
/// For gradients of batches that are too large for the memory that reverse mode takes. Throws if the arrays
/// have no rows, not as many, or no multiple of `size`. (Optax: microbatch.)
template <class F, class Tree>
auto microbatch(const F& f, const Tree& batch, const MicrobatchOptions& options, Loc loc = Loc::here()) {
  using Result = std::decay_t<std::invoke_result_t<const F&, const Tree&>>;
  const LocScope place(loc);
  const std::vector<Array> cut =
      detail::cut_rows(tree_leaves(batch), tree_paths(batch, "batch"), options.size);
  const Tree parts = unflatten_like(batch, cut, loc);
  if (options.accumulate == Accumulate::Concatenate) {
    const auto each = [&f](const Nothing&, const Tree& part) {
      return std::pair(Nothing{}, Result(f(part)));
    };
    const Result rows = scan(each, Nothing{}, parts, {}, loc).second;
    return unflatten_like(
        rows, detail::join_rows(tree_leaves(rows), tree_paths(rows, "result"), options.size), loc);
  }
  const Result shapes = eval_shape([&f](const Tree& part) { return Result(f(part)); },
                                   unflatten_like(batch, detail::part_shapes(cut), loc));
  const Result zero = unflatten_like(
      shapes, detail::zero_sums(tree_leaves(shapes), tree_paths(shapes, "result"), options.accumulate), loc);
  const auto add = [&f](const Result& total, const Tree& part) {
    return std::pair(tree_map([](const Array& a, const Array& b) { return a.is_empty() ? a : a + b; }, total,
                              Result(f(part))),
                     Nothing{});
  };
  const Result total = scan(add, zero, parts, {}, loc).first;
  if (options.accumulate == Accumulate::Sum) return total;
  return unflatten_like(total, detail::divided(tree_leaves(total), detail::parts_of(cut)), loc);
}

}  // namespace apsis::train
