#pragma once

// The sums of products inside the loop nest of a contraction: one chain, or those of ops/dot_order.hpp.

#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {

/// sum + u v, rounded once.
Value multiply_add(Builder& b, Value u, Value v, Value sum);

/// Places from one product to the next along k, and from one result of a group to the next.
struct ProductSteps {
  std::int64_t a, b, shift_a = 0, shift_b = 0, shift = 0;
  std::int64_t bytes_a = 0, bytes_b = 0;  // along k, in bytes
  std::size_t access_a = 0, access_b = 1;
  bool is_tile = false;  // a group and its columns, as below
};

/// How much of a product is summed in registers at a time: rows of a that meet the same columns of b.
struct ProductTile {
  std::int64_t rows = 1;
  int columns = 1;
  bool asks_for_rows = false;  // which come from memory, one after the other
};

/// For the current elements of a nest whose accesses are operand a, operand b, and the result: `group`
/// results.
class Products {
 public:
  using Sums = std::vector<Value>;

  Products(Builder& b, LoopNest& nest, const ProductSteps& steps, Dtype dtype, Dtype compute,
           std::int64_t group)
      : b_(b),
        nest_(nest),
        steps_(steps),
        dtype_(dtype),
        compute_(compute),
        group_(static_cast<std::size_t>(group)) {}

  /// One chain of `count` products.
  Sums in_order(std::int64_t count) const;
  /// The chains of dot_order.hpp, from dot_sequential_below products on.
  Sums in_chains(std::int64_t count) const;
  /// Of a result with so many columns, which are made from `column` on: asks for its share of the rows of the
  /// left operand that are so many further on. The processor itself fetches what follows in a row, not those.
  void ask_for_rows(std::int64_t count, std::int64_t columns, Value column, std::int64_t rows_ahead) const;

 private:
  Sums constants(std::uint64_t bits, std::size_t times = 1) const;
  template <class Make>
  Sums added_up(const Make& make) const;
  void along(Sums& sums, Value first, std::int64_t step, std::int64_t terms, std::int64_t apart) const;
  void add_last(Sums& sums, std::int64_t chain, Value first, std::int64_t whole, std::int64_t rest) const;
  void accumulate(Sums& sums, Value k, std::int64_t shift, std::size_t at = 0) const;
  Value load(std::size_t access, std::int64_t at, Value bytes) const;
  Value widened(Value v) const;

  Builder& b_;
  LoopNest& nest_;
  const ProductSteps steps_;
  Dtype dtype_, compute_;
  std::size_t group_;
};

}  // namespace apsis::detail
