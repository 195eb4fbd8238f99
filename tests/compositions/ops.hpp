#pragma once

// The ops on arrays that programs are made of, a row each: how to choose one, how Apsis runs it, what it
// means.

#include <random>
#include <span>
#include <string_view>
#include <vector>
#include <apsis/apsis.hpp>

#include "compositions/number.hpp"
#include "compositions/program.hpp"

namespace apsis::compositions {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

/// The oracle's array.
struct Tensor {
  Shape shape;
  std::vector<Number> elements;
  bool index = false;  // integers
};

struct ArrayOp {
  const char* name;
  /// Chooses static numbers and the shapes of further operands for a first one of this shape; false: not for
  /// it.
  bool (*choose)(Random& random, const Shape& first, std::vector<double>& numbers,
                 std::vector<Shape>& others);
  /// `fill` is what stands where no element is.
  Array (*run)(std::span<const Array> in, std::span<const double> numbers, const Array& fill);
  /// The last operand says where: it becomes integers by `as_index`.
  bool indexed = false;
  /// What it means: of elements, or of arrays. With neither it moves elements, and is run on their numbers to
  /// see where.
  Number (*element)(std::span<const Number> in) = nullptr;
  Tensor (*whole)(std::span<const Tensor> in, std::span<const double> numbers) = nullptr;
};

std::span<const ArrayOp> array_ops();
/// Factorisations, Fourier transforms, complex numbers.
std::span<const ArrayOp> algebra_ops();
/// Eigenvalues, singular values, functions and equations of matrices.
std::span<const ArrayOp> spectral_ops();
/// Further functions of elements: those of the gamma family, steps, bits.
std::span<const ArrayOp> function_ops();
/// Windows, convolutions, places of extremes, segments, draws.
std::span<const ArrayOp> fold_ops();
/// Those on long arrays that loops read and write at places.
std::span<const ArrayOp> buffer_ops();
/// Those on counts and places, and on buffers of integers and booleans.
std::span<const ArrayOp> integer_ops();
/// What the factor of `steep_if` is where its condition does not hold. 0, where the derivative is infinite;
/// with another number the values of a program must be the same, else it reads what it did not choose.
double& factor_of_unchosen();
/// Null if there is none of that name.
const ArrayOp* find_array_op(std::string_view name);

Array run(const ArrayOp& op, std::span<const Array> in, std::span<const double> numbers);
Tensor evaluate(const ArrayOp& op, std::span<const Tensor> in, std::span<const double> numbers);

/// Small integers ≥ 0 from real values, constant almost everywhere, so that they have no derivative.
Array places(const Array& x);
std::int64_t place(const Number& x);

/// Integers as they are, others by `places`.
Array as_index(const Array& x);
std::int64_t as_index(const Tensor& x, std::size_t element = 0);

/// Where the elements of the result come from: op.run on the numbers of the elements of its operands, all but
/// the last if that is an index. -1: from nowhere.
Tensor moved(const ArrayOp& op, std::span<const Tensor> in, std::span<const double> numbers);

}  // namespace apsis::compositions
