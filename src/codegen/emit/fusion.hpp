#pragma once

#include <array>
#include <unordered_map>

#include "codegen/emit/contraction.hpp"
#include "codegen/emit/fused_loop.hpp"
#include "codegen/emit/region.hpp"

namespace apsis::detail {

/// Makes a fused loop of equations. No memory is taken for what it stores before the order of the elements is
/// chosen.
class Fusion {
 public:
  /// `product`: a leaf that the loop is to make as it goes.
  struct ProductLeaf {
    ValueId value;
    const Contraction& contraction;
  };
  Fusion(Region& region, std::span<const std::uint32_t> eqns, const ProductLeaf* product = nullptr);

  /// Before `in_any_order`: whether it can make the product, in tiles of rows and columns.
  bool can_make_product() const;

  /// Before `in_order`: whether the sums can be part of the loop without loads or stores of single elements.
  bool can_sum() const;
  /// The same: whether the axes that disappear are one walk through every array.
  bool walks_one_axis() const;
  /// Chooses the order: that of the sums, over one axis or two.
  void in_order();
  /// Any: there are no sums.
  void in_any_order();
  /// After one of them.
  void write();

 private:
  static constexpr std::int64_t short_wait = 12;  // instructions
  struct SumAxes;
  void number_leaves(const ProductLeaf* product);
  void add_leaf(ValueId v);
  void add_product(const ProductLeaf& product);
  std::uint32_t add_table(ValueId v);
  void add_filling(ValueId v);
  std::uint32_t add_padded(const Eqn& e);
  std::pair<FusedLoop::Step, bool> step_of(const Eqn& e) const;
  void add_reduction(const Eqn& e);
  void add_elementwise(const Eqn& e);
  void add_put(const Eqn& e);
  std::optional<Destination> over_operand(ValueId v) const;
  void place_results();
  std::vector<View> views() const;
  const Dims& axes() const;
  int chained_reads() const;
  std::size_t usual_width() const;
  int vectors_side_by_side() const;
  bool can_cross_lines(const SumAxes& axes) const;
  bool can_walk_along(const SumAxes& axes) const;
  bool can_turn(const SumAxes& axes) const;
  bool has_lines_side_by_side(const SumAxes& axes) const;

  Region& region_;
  const Graph& graph_;
  FusedLoop loop_;
  std::vector<std::pair<ValueId, Place>> results_;  // what is stored
  std::vector<ValueId> reduced_;                    // by total
  Shape shape_;
  std::vector<const Eqn*> eqns_;
  std::vector<Place> read_;  // alive until the loop is written
  std::unordered_map<ValueId, std::uint32_t> numbers_, inner_uses_;
  std::vector<char> varying_;  // by number: whether lanes differ
  struct Stored {
    ValueId value;
    int lanes;
  };
  std::vector<Stored> stored_;
  bool may_overwrite_ = false;  // what it reads for the last time, by what it stores
  std::size_t widest_ = 1;
  std::int64_t cost_ = 0;
  std::array<std::int64_t, 5> cost_of_size_{};  // by the logarithm of the widest operand's or result's bytes
};

}  // namespace apsis::detail
