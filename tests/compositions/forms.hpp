#pragma once

// The forms of programs that hold blocks: loops, branches, and transformations of functions. A row each: how
// to choose one, how Apsis runs it, what it means. A transformation that changes nothing but how a function
// is run or differentiated is one line (`wrapped`).

#include <functional>

#include "compositions/ops.hpp"

namespace apsis::compositions {

template <class V>
using Function = std::function<std::vector<V>(std::vector<V>)>;

/// One step of a form: its operands, and its blocks as functions.
template <class V>
struct Call {
  const Step& step;
  std::vector<V> in;
  std::vector<Function<V>> blocks;
};

/// The shapes of a step, chosen before its blocks are made.
struct Plan {
  struct Signature {
    std::vector<Shape> parameters, results;
  };
  std::vector<Shape> others;  // operands after the first
  std::vector<double> numbers;
  std::vector<Signature> blocks;
  Shape result;
};

struct Form {
  const char* name;
  /// False if it is not for a first operand of this shape.
  bool (*choose)(Random& random, const Shape& first, Plan& plan);
  Array (*run)(const Call<Array>& call);
  Tensor (*oracle)(const Call<Tensor>& call);
  int transformations = 0;      // that it nests
  int derivatives = 0;          // the order it differentiates its block
  bool loop = false;            // its blocks run again and again, so their results must not grow
  bool forward = false;         // it differentiates its block in forward mode
  bool closed = false;          // its blocks see their parameters alone: what rules capture has no derivative
  bool reverse_only = false;    // its blocks must not be differentiated in forward mode
  bool moves_captures = false;  // it differentiates by what its blocks capture, constant arrays included
  // In place of `run` and `oracle`, for forms of several results.
  std::vector<Array> (*run_all)(const Call<Array>& call) = nullptr;
  std::vector<Tensor> (*oracle_all)(const Call<Tensor>& call) = nullptr;
};

/// All forms of small programs; of these, those that mean the block itself.
std::span<const Form* const> forms();
std::span<const Form> wrapped_forms();
/// Loops, branches and solves that carry several values: what generate_nest makes its programs of.
std::span<const Form> nest_forms();
/// Of all of them.
const Form* find_form(std::string_view name);

/// The kind of a while loop that keeps so many states; of those that keep all, the ones whose first number,
/// their trips, is even go by sensitivities.
inline Loop loop_kind(const Step& step, std::int64_t checkpoints) {
  const bool even = static_cast<std::int64_t>(step.numbers[0]) % 2 == 0;
  return even && checkpoints == 0 ? Loop::Sensitivities : Loop::Checkpointed;
}

/// A block as Apsis wants it.
inline auto unary(const Call<Array>& call, std::size_t block = 0) {
  return [f = call.blocks[block]](const Array& x) { return f({x})[0]; };
}

// Choices that several forms share.

/// Any shape for the result of a block of one parameter.
bool choose_function(Random& random, const Shape& first, Plan& plan);
/// A scalar for the result of a block that is differentiated.
bool choose_gradient(Random& random, const Shape& first, Plan& plan);

/// What the oracle has no answer for: how an adaptive solve chooses its steps.
struct NoOracle {};

/// The oracle's derivatives: one more e while the object lives.
class Unit {
 public:
  Unit();
  ~Unit() { account.order = bit_; }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  std::size_t mask() const { return std::size_t{1} << bit_; }
  /// x + e·direction.
  Tensor along(Tensor x, const Tensor& direction) const;
  Tensor along(Tensor x, std::size_t element) const;
  /// The coefficient of e.
  Number slope(const Number& x) const;
  Tensor slope(Tensor x) const;

 private:
  int bit_;
};

/// The derivative of a block of the oracle's, whose result is a scalar.
Tensor gradient(const Function<Tensor>& f, const Tensor& x);
/// Entry i of an axis, without it; and entries along a new axis.
Tensor entry_of(const Tensor& x, std::size_t axis, std::int64_t i);
Tensor stacked(const std::vector<Tensor>& entries, std::size_t axis);

/// The program, run by Apsis and by the oracle.
Array run(const Block& program, const Array& x);
Tensor evaluate(const Block& program, const Tensor& x);

/// A shape for a new value, mostly small.
Shape any_shape(Random& random);

}  // namespace apsis::compositions
