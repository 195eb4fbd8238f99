#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transform/derivatives/guard.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {

/// The shape of the condition of a cotangent of this shape.
Shape first_axes(const Shape& shape, Conditional kind);

/// A slice, and the guard of its result's cotangent.
struct Slice {
  const Eqn* eqn = nullptr;
  Guard guard;
};

/// The cotangents of a graph's values, added up from the last equation to the first, each with the condition
/// under which it counts.
class Cotangents {
 public:
  /// `linear`, by value: whether it depends on linear inputs; it grows known while the graph is walked.
  Cotangents(const Graph& graph, const std::vector<char>& linear);

  /// From now on cotangents may have conditions.
  void expect_conditions() { chooses_ = true; }

  /// The sum so far, empty if it is zero; and where it counts.
  std::span<Array> of_results(const Eqn& e) { return {sums_.data() + e.first_result, e.result_count}; }
  const Array& sum(ValueId v) const { return sums_[v]; }
  bool is_zero(ValueId v) const { return sums_[v].is_empty(); }
  const Guard& guard(ValueId v) const { return guards_[v]; }
  Array take(ValueId v) { return std::exchange(sums_[v], {}); }
  Guard take_guard(ValueId v) { return std::exchange(guards_[v], {}); }
  /// Puts back what a rule did not go on from.
  void put_back(ValueId v, Array sum) { sums_[v] = std::move(sum); }
  /// Forgets those of the results of an equation that was transposed.
  void drop(const Eqn& e);

  /// Adds a cotangent that counts where `guard` holds. `part`: the slice it comes from, if it does.
  void add(ValueId v, Array more, const Guard& guard = {}, const Slice& part = {});
  /// Zeros where the guard does not hold.
  void settle(ValueId v);
  /// Of a value that only slices read: the parts that no chosen branch reads do not count.
  void use_parts(ValueId v);
  /// The condition under which the cotangent counts; empty: it is what it is.
  Array take_condition(ValueId v, Conditional kind);

  /// Where both hold, the same value for the same two, so that their sums stay under one condition; nothing
  /// if that is nowhere.
  std::optional<Guard> meet(const Guard& a, const Guard& b);
  /// Booleans go the way of the cotangents through an equation that only moves elements.
  std::vector<Array> moved(const Eqn& e, const Array& where) const;

 private:
  /// Slices that a cotangent is the sum of; once they count under different conditions, where.
  struct Parts {
    std::vector<Slice> slices;
    Array counts;
  };
  struct Meeting {
    Guard a, b, both;
  };

  Array note_part(ValueId v, const Guard& guard, const Slice& part);
  Array count_parts(Parts& parts);
  Array moved(const Slice& slice) const;
  void add_list(ValueId v, Array more, Guard guard);

  const Graph& graph_;
  const std::vector<char>& linear_;
  std::vector<Array> sums_;    // by value
  std::vector<Guard> guards_;  // the same
  std::unordered_map<ValueId, Parts> parts_;
  std::map<std::pair<const void*, const void*>, std::vector<Meeting>> meetings_;  // by conditions
  bool chooses_ = false;  // whether there may be conditions
};

}  // namespace apsis::detail
