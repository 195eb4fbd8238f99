#pragma once

// Makes the rules of an elementwise op from one text, a struct such as
//
//   struct Add : Binary {
//     static constexpr const char* name = "add";
//     static constexpr DtypeSet dtypes = number_dtypes;
//     static auto compute(const auto& m, auto a, auto b) { return m.add(a, b); }
//   };
//
// `compute` is run on ElementModel by the evaluator and on EmitterModel by the code generator, so both give
// the same bits. Half-width floats are widened to f32, computed and rounded.

#include <optional>
#include <utility>

#include "apsis/core/emitter.hpp"
#include "apsis/core/op.hpp"
#include "ir/graph.hpp"
#include "ops/dtype_set.hpp"
#include "ops/element_model.hpp"
#include "ops/emitter_model.hpp"
#include "ops/lax.hpp"
#include "ops/math/model.hpp"
#include "ops/messages.hpp"
#include "ops/table.hpp"

namespace apsis::detail {

/// What a text is: how many operands, and whether the result is boolean instead of the operands' dtype. The
/// other members are facts of the op (see Op), which a text that differs has as members of its own.
struct Unary {
  static constexpr std::size_t arity = 1;
  static constexpr bool predicate = false;
  static constexpr bool spreads_nan = true;
  static constexpr std::int8_t divisor = -1;
};
struct Binary : Unary {
  static constexpr std::size_t arity = 2;
};
struct Ternary : Unary {
  static constexpr std::size_t arity = 3;
};
struct Quaternary : Unary {
  static constexpr std::size_t arity = 4;
};
struct UnaryPredicate {
  static constexpr std::size_t arity = 1;
  static constexpr bool predicate = true;
};
struct BinaryPredicate {
  static constexpr std::size_t arity = 2;
  static constexpr bool predicate = true;
};

/// Refuses dtypes outside the set, with the message that fits.
void check_dtype(const char* name, DtypeSet allowed, const Aval& aval, Loc loc = {});
/// The result of an op on operands of one dtype and shape; weak if all are.
Aval elementwise_aval(const char* name, std::size_t arity, DtypeSet allowed, bool predicate,
                      std::span<const Aval> in);
/// Moves the mapped axes of all operands to the front, and repeats unmapped operands along it.
std::vector<Array> batch_operands(const BatchRule& rule);

template <class Text>
void elementwise_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  out.push_back(elementwise_aval(Text::name, Text::arity, Text::dtypes, Text::predicate, in));
}

/// Elementary functions are written over the models of ops/math, the rest over ElementModel.
template <class Text>
concept ElementaryText = requires {
  requires Text::elementary;
};
template <class Text, class C>
struct EvaluatorModel : std::type_identity<ElementModel<C>> {};
template <ElementaryText Text, std::floating_point C>
struct EvaluatorModel<Text, C> : std::type_identity<math::ScalarModel<C>> {};

/// Where a text has parameters, `compute` takes them last.
template <class Text, class Model, class... V>
auto compute_text(const Params& params, const Model& m, V... x) {
  if constexpr (requires { Text::compute(m, x..., params); })
    return Text::compute(m, x..., params);
  else
    return Text::compute(m, x...);
}

template <class Text>
void elementwise_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  visit_dtype<Text::dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    using R = std::conditional_t<Text::predicate, bool, T>;
    const typename EvaluatorModel<Text, C>::type m{};
    auto* r = mutable_data<R>(out[0]);
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      const T* const operands[] = {static_cast<const T*>(data_of(in[k]))...};
      for (std::int64_t i = 0, n = out[0].size(); i < n; ++i)
        r[i] = static_cast<R>(compute_text<Text>(params, m, static_cast<C>(operands[k][i])...));
    }
    (std::make_index_sequence<Text::arity>());
  });
}

template <class Text, class T>
Value emit_text(Emitter& e, const Params& params, std::span<const Value> in) {
  using C = ComputeOf<T>;
  const EmitterModel<C> m{&e};
  auto operand = [&](std::size_t i) {
    if constexpr (std::is_same_v<T, C>)
      return Lane<C>{in[i]};
    else
      return Lane<C>{e.convert(in[i], dtype_of<C>)};
  };
  auto result = [&]<std::size_t... k>(std::index_sequence<k...>) {
    const Lane<C> operands[] = {operand(k)...};  // in order
    return compute_text<Text>(params, m, operands[k]...);
  }
  (std::make_index_sequence<Text::arity>());
  if constexpr (Text::predicate || std::is_same_v<T, C>)
    return result.v;
  else
    return e.convert(result.v, dtype_of<T>);
}

/// What emitters know a text by: where the library may hold its machine code (ops/math/library.hpp), by that
/// name.
template <class Text>
constexpr const char* emitted_name() {
  if constexpr (requires { Text::library_name; })
    return Text::library_name;
  else
    return Text::name;
}

/// A text of many instructions, which the emitter may keep as a function of its own.
template <ElementaryText Text, class T>
Value emit_elementary(Emitter& e, std::span<const Value> in) {
  using C = ComputeOf<T>;
  Value operands[Text::arity], result;
  for (std::size_t i = 0; i < Text::arity; ++i)
    operands[i] = std::is_same_v<T, C> ? in[i] : e.convert(in[i], dtype_of<C>);
  auto body = [](Emitter& inner, const void*, std::span<const Value> x, std::span<Value> y) {
    y[0] = emit_text<Text, C>(inner, {}, x);
  };
  e.function(emitted_name<Text>(), body, nullptr, operands, {&result, 1});
  return std::is_same_v<T, C> ? result : e.convert(result, dtype_of<T>);
}

template <class Text>
void elementwise_emit(Emitter& e, const Params& params, std::span<const Value> in, std::span<Value> out) {
  visit_dtype<Text::dtypes>(in[0].dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (ElementaryText<Text> && std::floating_point<ComputeOf<T>>)
      out[0] = emit_elementary<Text, T>(e, in);
    else
      out[0] = emit_text<Text, T>(e, params, in);
  });
}

template <const Op& op>
void elementwise_batch(const BatchRule& r) {
  std::vector<Array> operands = batch_operands(r);
  Array out;
  bind(op, r.params, operands, {&out, 1});
  r.outs.push_back(std::move(out));
  r.out_axes.push_back(0);
}

/// The jvp of ops that are locally constant: the result has no tangent.
template <const Op& op>
void zero_jvp(const JvpRule& r) {
  bind(op, r.params, r.primals, r.outs);
}

/// The jvp of ops of one operand: `derivative(x, result)` times the tangent.
template <const Op& op, Array (*derivative)(const Array& x, const Array& result)>
void unary_jvp(const JvpRule& r) {
  bind(op, r.params, r.primals, r.outs);
  r.out_tangents[0] = lax::mul(r.tangents[0], derivative(r.primals[0], r.outs[0]));
}

/// What stands for an op on complex operands (`Op::of_complex`).
using ComplexRule = void (*)(const Params&, std::span<const Array> in, std::span<Array> out);

/// An elementwise op of a text, with the given jvp rule and the one for complex operands.
template <class Text, const Op& op>
constexpr Op elementwise_op(void (*jvp)(const JvpRule&), ComplexRule of_complex = nullptr) {
  return {
      .name = Text::name,
      .kind = OpKind::Elementwise,
      .shape = elementwise_shape<Text>,
      .evaluate = elementwise_evaluate<Text>,
      .of_complex = of_complex,
      .jvp = jvp,
      .batch = elementwise_batch<op>,
      .emit = elementwise_emit<Text>,
      .spreads_nan = Text::spreads_nan,
      .divisor = Text::divisor,
  };
}

/// a + b, where an empty tangent is zero.
inline Array add_tangents(const Array& a, const Array& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return lax::add(a, b);
}

inline Array constant_like(const Array& a, double value) { return lax::full_like(a.aval(), value); }
inline Array scaled(const Array& a, double factor) { return lax::mul(a, constant_like(a, factor)); }

/// Staging: an op on literals alone is a literal. Exact, since the evaluator gives the bits of compiled code.
bool fold_literals(GraphBuilder& builder, const Op& op, const Params& params,
                   std::span<const ValueId> operands, std::span<ValueId> results);
/// The number that `v` is a literal of, possibly broadcast; none for complex ones.
std::optional<double> literal_number(const GraphBuilder& builder, ValueId v);
/// True if `v` is the literal `value`, possibly broadcast.
bool is_literal(const GraphBuilder& builder, ValueId v, double value);

}  // namespace apsis::detail
