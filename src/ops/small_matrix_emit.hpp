#pragma once

// Small matrices as compiled code: the texts of `small_matrix.hpp`, written out for the lanes of an emitter.

#include <span>
#include <vector>

#include "apsis/core/aval.hpp"
#include "apsis/core/emitter.hpp"
#include "ops/emitter_model.hpp"
#include "ops/small_matrix.hpp"

namespace apsis::detail {

/// Elements of arrays, one array after the other, as numbers that T computes with. Half floats are computed
/// in f32.
template <class T>
class EmittedElements {
 public:
  using M = EmitterModel<T>;

  EmittedElements(Emitter& e, Dtype dtype, std::span<const Value> in, std::span<Value> out)
      : e_(e), dtype_(dtype), in_(in), out_(out) {}
  M model() const { return {&e_}; }
  /// The next `count` operands.
  std::vector<Lane<T>> read(std::int64_t count) {
    std::vector<Lane<T>> elements;
    for (const Value v : taken(in_, count))
      elements.push_back({dtype_ == dtype_of<T> ? v : e_.convert(v, dtype_of<T>)});
    return elements;
  }
  std::vector<typename M::I> read_numbers(std::int64_t count) {
    std::vector<typename M::I> numbers;
    for (const Value v : taken(in_, count))
      numbers.push_back({sizeof(T) == 4 ? v : e_.convert(v, dtype_of<typename M::Signed>)});
    return numbers;
  }
  /// Matrix `at` of those in the results from `first` on.
  void write(std::size_t first, std::int64_t at, std::span<const Lane<T>> elements) {
    auto to = out_.begin() + static_cast<std::ptrdiff_t>(first) + at * std::ssize(elements);
    for (const Lane<T> x : elements) *to++ = dtype_ == dtype_of<T> ? x.v : e_.convert(x.v, dtype_);
  }
  void write_numbers(std::size_t first, std::int64_t at, std::span<const typename M::I> numbers) {
    auto to = out_.begin() + static_cast<std::ptrdiff_t>(first) + at * std::ssize(numbers);
    for (const auto x : numbers) *to++ = sizeof(T) == 4 ? x.v : e_.convert(x.v, Dtype::I32);
  }

 private:
  static std::span<const Value> taken(std::span<const Value>& from, std::int64_t count) {
    const auto part = from.first(static_cast<std::size_t>(count));
    from = from.subspan(static_cast<std::size_t>(count));
    return part;
  }

  Emitter& e_;
  Dtype dtype_;
  std::span<const Value> in_;
  std::span<Value> out_;
};

/// Calls run(elements) with EmittedElements of the type that the dtype is computed in.
template <class Run>
void emit_matrices(Emitter& e, Dtype dtype, std::span<const Value> in, std::span<Value> out, const Run& run) {
  if (dtype == Dtype::F64)
    run(EmittedElements<double>(e, dtype, in, out));
  else
    run(EmittedElements<float>(e, dtype, in, out));
}

}  // namespace apsis::detail
