#pragma once

// Writes the code of one Graph: a program, a loop's body or condition, a branch. equations.hpp has what
// writes each kind of equation.

#include <optional>

#include "codegen/emit/place_access.hpp"
#include "codegen/plan/result_parts.hpp"
#include "codegen/plan/schedule.hpp"

namespace apsis::detail {

class Region : public PlaceAccess {
 public:
  using PlaceAccess::contiguous, PlaceAccess::in_memory, PlaceAccess::registers, PlaceAccess::lanes_of;

  Region(Lowering& lowering, const Graph& graph, int lanes = 1, Value mask = {});
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Before `run`: where the inputs are, and where outputs should be made if that can be (memory only).
  /// An input that the region does not read is not held: its owner may overwrite it.
  void bind_input(ValueId input, Place place) {
    if (uses_[input] > 0) places_[input] = std::move(place);
  }
  void hint_output(std::size_t output, const Place& target);
  /// Loop bodies: writes the equations that depend on the marked inputs only; what they make is kept.
  void run_invariant(std::span<const char> inputs);
  /// Before `run`, of a whole program: loops may compute again what others have computed.
  void allow_recomputing() { recomputes_ = true; }
  void run();
  /// After `run`: output i, where it happens to be.
  const Place& output(std::size_t i) const { return places_[graph_.outputs()[i]]; }
  /// After `run`: puts output i into memory, if it was not made there.
  void write_output(std::size_t i, const Place& target);

  // What equations are written with.
  const Graph& graph() const { return graph_; }
  const Aval& aval(ValueId v) const { return graph_.aval(v); }
  std::span<const ValueId> operands(const Eqn& e) const { return graph_.operands(e); }
  const Place& place(ValueId v) const { return places_[v]; }
  Values registers(ValueId v) { return registers(places_[v], aval(v)); }
  Place in_memory(ValueId v) { return in_memory(places_[v], aval(v)); }
  Place contiguous(ValueId v) { return contiguous(places_[v], aval(v)); }
  int lanes_of(ValueId v) const { return lanes_of(places_[v]); }
  /// The operands and outputs that are still to come.
  std::uint32_t uses(ValueId v) const { return uses_[v]; }
  /// The place of an operand; taken away from it when this is its last use, so that it may be overwritten.
  Place take(ValueId v, bool& last);
  /// Where v should be made, if somebody asked for that.
  const Home& hint(ValueId v) const { return hints_[v]; }
  /// How the elements of v will lie in the memory that `destination` gives.
  View destined_view(ValueId v, int lanes) const;
  /// Where v is to be made: where somebody asked for it, else in new memory.
  Destination destination(ValueId v, int lanes);
  /// The memory of `operand`, an array like v that what is being written reads for the last time, for v;
  /// nothing where somebody else keeps it, or wants v to be elsewhere.
  std::optional<Destination> instead_of(ValueId operand, ValueId v) const;
  /// Where v is from here on; a value of few elements is loaded.
  void define(ValueId v, Place place);
  /// The same for one that calls alone read: it stays in memory.
  void define_between_calls(ValueId v, Place place) { places_[v] = std::move(place); }
  bool is_between_calls(ValueId v);
  /// Which operands differ from lane to lane.
  std::vector<char> varying(const Eqn& e) const;
  /// Whether the part of an array that the equation takes must not be a view of it.
  bool is_copied(const Eqn& e) const;
  /// Whether there are so many fused loops that equal ones become functions.
  bool shares_loops() const { return shares_loops_; }

 private:
  void run_items(std::span<const Item> items);
  void plan_recomputing();
  void hint_early();
  void begin_again(const Item& item);
  std::size_t write_first(std::span<const Item> items);
  void hint_parts(const Eqn& e, const Place& whole);
  std::vector<MadePart> parts_in_own_memory(const Eqn& join) const;
  void find_joined();
  void begin_joined(const Eqn& e);
  void end_joined(const Eqn& e);
  bool makes_all_columns(const Eqn& join) const;
  bool is_lone_column(ValueId v) const;
  bool begins_joined(ValueId v, int lanes) const;
  void release_operands(const Eqn& e);
  void release(Place& place);

  const Graph& graph_;
  std::vector<Place> places_;        // by value
  std::vector<std::uint32_t> uses_;  // by value: operands and outputs that are still to come
  std::vector<Home> hints_;          // by value
  /// By value: the concatenation that it is to be a part of, whose memory is taken when the first part is
  /// made.
  std::vector<const Eqn*> joined_in_;
  /// By value: the concatenation that it is to be a column of, if one loop makes all columns.
  std::vector<const Eqn*> column_of_;
  std::span<const std::uint32_t> loop_;  // the equations of the loop being written
  std::vector<char> between_calls_;      // by value, once somebody asked
  Schedule schedule_;
  bool scheduled_ = false, recomputes_ = false;
  bool before_loop_ = false;  // what is written now lasts through the loop
  bool shares_loops_ = false;
};

}  // namespace apsis::detail
