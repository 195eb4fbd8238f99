#pragma once

// The carried values of a loop while it is written: variables for registers; for arrays in memory a home, or
// two that take turns when an iteration makes the array anew. Where the loop's result is to be is one of the
// two: the one that has the last value, where the number of iterations is known. A large one that is made
// element by element lies where it was, if nothing reads what was there later: two would leave less of the
// cache for other arrays.

#include "codegen/emit/region.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {

class LoopCarries {
 public:
  /// `first_input`: the body's input that is the first carry. `varying`: which carries differ from lane to
  /// lane. `trips`: the iterations; -1: unknown.
  LoopCarries(Region& outer, const Graph& body, std::size_t first_input, std::vector<char> varying,
              std::int64_t trips = -1);

  /// Takes the initial value of the next carry, whose last value will be `result`; called once for each,
  /// before the loop. `last`: nobody else will read the initial value, so that an array in memory may be
  /// updated where it is.
  void start(Place initial, bool last, ValueId result);
  /// What the loop carries for that.
  void add_variables(std::vector<Variable>& carried) const;
  /// At the start of an iteration.
  void open();
  /// Where carry i is during an iteration.
  Place place(std::size_t i) const { return carries_[i].home ? carries_[i].home.value() : carries_[i].now; }
  bool unchanged(std::size_t i) const { return carries_[i].use == CarryUse::Unchanged; }
  /// Tells the body where to make its outputs.
  void hint(Region& body);
  /// At the end of an iteration: takes the body's outputs. Lanes outside `mask` keep their values.
  void close(Region& body, Value mask);
  /// After the loop: where the last value of carry i is.
  Place last(std::size_t i);

 private:
  struct Carry {
    Aval aval;
    CarryUse use;
    int lanes;
    Place now, next;
    std::vector<Variable> elements;  // in registers
    Variable now_at, next_at;        // of what takes turns
    BufferOwner either;              // stands for the memory of `now` and `next`
    Home home;                       // in place of `now`: an array that is updated where it is
    Home destined;                   // `now` or `next` at the start: where the result is to be
    bool ends_there = false;         // in `destined`, the last value
    bool in_registers() const { return now.kind == Place::Kind::Registers; }
  };
  bool lies_where_it_was(std::size_t i);
  bool is_destined(ValueId result, int lanes) const;
  Region& outer_;
  Builder& b_;
  const Graph& body_;
  std::size_t first_input_;
  std::vector<char> varying_;
  std::int64_t trips_;
  std::vector<Carry> carries_;
  std::vector<char> in_place_;  // by carry: whether it may be made where it was; found when asked for
};

}  // namespace apsis::detail
