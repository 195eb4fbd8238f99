#pragma once

// Factorisations and solves of many small matrices, each of which reads what the one before it left: they are
// called for a block of matrices at a time, so that what nobody else reads is in the cache when it is read,
// and never leaves it.

#include <unordered_map>

#include "codegen/emit/region.hpp"

namespace apsis::detail {

class BlocksOfMatrices {
 public:
  explicit BlocksOfMatrices(Region& region) : region_(region) {}

  /// How many of the items, the first ones, are such calls, and views that stand between them; 0: none, or
  /// too few matrices.
  std::size_t find(std::span<const Item> items);
  /// Writes them.
  void emit();

 private:
  bool add(const Eqn& e);
  bool fits(const Eqn& e);
  bool is_worth_it() const;
  bool is_kept(ValueId result) const;
  bool packs(const Eqn& e) const;
  bool is_packed(ValueId result) const;
  std::int64_t entries_of_block() const;
  Aval part_aval(ValueId v, std::int64_t entries) const;
  void call_all(std::int64_t entries, Value first);
  Place part(const Place& whole, ValueId v, Value first);

  Region& region_;
  bool packs_ = true;
  std::int64_t count_ = 0;                            // entries of the first axis, which all have
  std::vector<const Eqn*> calls_, inside_, before_;   // the views: of what is made here, and of other values
  std::unordered_map<ValueId, ValueId> made_;         // the results, and reshapes of them: the result
  std::unordered_map<ValueId, std::uint32_t> reads_;  // of these, in the block
  std::unordered_map<ValueId, Place> places_;         // of operands from outside, and of results
};

}  // namespace apsis::detail
