#pragma once

// Small matrices as compiled code: the texts of `small_matrix.hpp`, written out for the lanes of an emitter.

#include <span>
#include <vector>

#include "apsis/core/aval.hpp"
#include "apsis/core/emitter.hpp"
#include "ops/emitter_model.hpp"
#include "ops/small_matrix.hpp"

namespace apsis::detail {

/// Elements of arrays, one array after the other, as numbers that a model over T computes with: real ones, or
/// complex ones, whose parts are arrays of their own, the real ones first. Half floats are computed in f32.
template <class T, bool complex>
class EmittedElements {
 public:
  using M = std::conditional_t<complex, ComplexModel<EmitterModel<T>>, EmitterModel<T>>;
  using F = typename M::F;
  using I = typename M::I;
  static constexpr std::int64_t parts = complex ? 2 : 1;

  EmittedElements(Emitter& e, Dtype dtype, std::span<const Value> in, std::span<Value> out)
      : e_(e), dtype_(dtype), in_(in), out_(out) {}
  M model() const {
    if constexpr (complex)
      return {{&e_}};
    else
      return {&e_};
  }
  /// The next operand, of `count` elements.
  std::vector<F> read(std::int64_t count) {
    const auto first = taken(in_, count);
    std::vector<F> elements;
    if constexpr (complex) {
      const auto second = taken(in_, count);
      for (std::size_t i = 0; i < first.size(); ++i) elements.push_back({{first[i]}, {second[i]}});
    } else {
      for (const Value v : first)
        elements.push_back({dtype_ == dtype_of<T> ? v : e_.convert(v, dtype_of<T>)});
    }
    return elements;
  }
  std::vector<I> read_numbers(std::int64_t count) {
    std::vector<I> numbers;
    for (const Value v : taken(in_, count))
      numbers.push_back({sizeof(T) == 4 ? v : e_.convert(v, dtype_of<typename EmitterModel<T>::Signed>)});
    return numbers;
  }
  /// The next result.
  void write(std::span<const F> elements) {
    if constexpr (complex) {
      for (const F& x : elements) put(x.re.v);
      for (const F& x : elements) put(x.im.v);
    } else {
      for (const F x : elements) put(dtype_ == dtype_of<T> ? x.v : e_.convert(x.v, dtype_));
    }
  }
  void write_numbers(std::span<const I> numbers) {
    for (const auto x : numbers) put(sizeof(T) == 4 ? x.v : e_.convert(x.v, Dtype::I32));
  }

 private:
  static std::span<const Value> taken(std::span<const Value>& from, std::int64_t count) {
    const auto part = from.first(static_cast<std::size_t>(count));
    from = from.subspan(static_cast<std::size_t>(count));
    return part;
  }
  void put(Value v) {
    out_.front() = v;
    out_ = out_.subspan(1);
  }

  Emitter& e_;
  Dtype dtype_;
  std::span<const Value> in_;
  std::span<Value> out_;
};

/// Calls run(elements) with EmittedElements of the type that the dtype is computed in.
template <bool complex, class Run>
void emit_matrices(Emitter& e, Dtype dtype, std::span<const Value> in, std::span<Value> out, const Run& run) {
  if (dtype == Dtype::F64)
    run(EmittedElements<double, complex>(e, dtype, in, out));
  else
    run(EmittedElements<float, complex>(e, dtype, in, out));
}

}  // namespace apsis::detail
