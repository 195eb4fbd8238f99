#pragma once

// A function made into a value: its captures are leaves, its program is static.
//
//   struct Model { Closure<Array(Array)> act; Array scale; };           // storable, unlike a lambda that
//   captures Model m{closure_convert([w](const Array& x) { return tanh(w * x); }, x), array(2.)}; Model slope
//   = grad(loss)(m, x);                                     // slope.act.captures[0] is d loss / d w

#include <initializer_list>
#include <string>
#include <string_view>

#include "apsis/transform/declare.hpp"
#include "apsis/tree/path.hpp"
#include "apsis/tree/static_object.hpp"

namespace apsis {

namespace detail {

/// A structure with the marks of the leaves that are there.
struct Structure {
  TreeDef def;
  std::vector<bool> present;
};
template <class T>
Structure structure_of(T tree) {
  Structure s;
  s.present = take_structure(tree);
  s.def = TreeDef(&tree_type<T>, new T(static_cast<T&&>(tree)), s.present.size());
  return s;
}

/// A Closure without its types. `program` holds what it does, and the structures of the arguments and the
/// result it was made for: static, so that no transformation turns the shapes in it into arrays.
struct ConvertedClosure {
  StaticObject program;
  std::vector<Array> captures;
};
/// Stages a function whose first `own` leaves are the callable's; they become captures. `result` is asked for
/// the structure of the result afterwards.
ConvertedClosure convert_closure(const Callee& callee, std::span<const Array> leaves, std::size_t own,
                                 Structure arguments, Structure (*result)(const void*), const void* context);
/// From the text of a program. Throws unless it takes the leaves of the arguments and these captures.
StaticObject parse_closure(std::string_view text, std::span<const Array> captures, Structure arguments,
                           Structure result);

/// The result's structure, its leaves empty; which of them are there; the program.
const Structure& closure_result(const StaticObject& program);
std::string closure_text(const StaticObject& program);

/// One call: all leaves of the arguments, empty ones included, and their structure.
struct ClosureCall {
  std::span<const Array> leaves;
  ConstTreeRef arguments;  // a tuple
  LeafNames names;
  Loc loc = {};
};
std::vector<Array> call_closure(const StaticObject& program, std::span<const Array> captures,
                                const ClosureCall& call);

}  // namespace detail

/// A function as data: see the specialisation for signatures `R(A...)`.
template <class Signature>
class Closure;

/// What `closure_convert` returns; see there. A tree: `captures` are leaves, the program is static. Closures
/// of one signature are of one type, whatever they were made from. Default-constructed it is empty; a call of
/// it throws.
template <class R, class... A>
class Closure<R(A...)> {
  APSIS_FIELDS(Closure, captures, program_)

 public:
  /// What the function used from outside, and the leaves of the callable itself.
  std::vector<Array> captures;

  Closure() = default;
  explicit Closure(detail::ConvertedClosure parts)
      : captures(static_cast<std::vector<Array>&&>(parts.captures)),
        program_(static_cast<detail::StaticObject&&>(parts.program)) {}

  /// Throws where an argument differs in structure, static value, shape or dtype from what the closure was
  /// made for, saying what differs.
  R operator()(const A&... args, Loc loc = Loc::here()) const {
    using namespace detail;
    struct Arguments {
      std::tuple<A...> tree;
      std::vector<Array> leaves;
    } given{{args...}, {}};
    for_each_leaf(given.tree, [&](const Array& a) { given.leaves.push_back(a); });
    LeafNames names{&given, [](const void* context, std::size_t place) {
                      auto& g = *static_cast<const Arguments*>(context);
                      return std::apply(
                          [&](const A&... a) {
                            const NamedTree trees[] = {{tree_ref(a), nullptr}..., {{nullptr, nullptr}, ""}};
                            std::vector<bool> all(g.leaves.size(), true);
                            return path_among(trees, place, &all);
                          },
                          g.tree);
                    }};
    std::vector<Array> found =
        call_closure(program_, captures, {given.leaves, tree_ref(given.tree), names, loc});
    const Structure& made = closure_result(program_);
    R result = *static_cast<const R*>(made.def.prototype().tree);
    std::size_t next = 0, place = 0;
    for_each_leaf(result, [&](Array& a) {
      if (made.present[place++]) a = found[next++];
    });
    return result;
  }
  /// Whether nothing was converted yet.
  bool is_empty() const { return program_.is_empty(); }
  /// The program as it reads back by `from_text`: inputs are the leaves of the arguments, then the captures.
  std::string text() const { return detail::closure_text(program_); }
  /// Whether two closures differ in their captures only.
  bool same_program(const Closure& other) const { return program_ == other.program_; }

  /// The closure whose `text()` and `captures` these are: `save` and `load` keep captures, this the program.
  /// For arguments and results of fixed structure, all their leaves there. Throws if the text is no program
  /// of this signature.
  static Closure from_text(std::string_view text, std::vector<Array> captures, Loc loc = Loc::here()) {
    const LocScope place(loc);
    using T = std::tuple<A...>;
    static_assert(
        is_static_shape<T> && is_static_shape<R> && static_leaf_count<T> >= 0 && static_leaf_count<R> >= 0,
        "Closure::from_text: the structure of the arguments or of the result depends on values; "
        "convert the function again instead");
    detail::Structure arguments = detail::structure_of(T{}), result = detail::structure_of(R{});
    arguments.present.assign(arguments.present.size(), true);
    result.present.assign(result.present.size(), true);
    Closure closure;
    closure.program_ = detail::parse_closure(text, captures, arguments, result);
    closure.captures = static_cast<std::vector<Array>&&>(captures);
    return closure;
  }

 private:
  detail::StaticObject program_;
};

namespace detail {

template <class F, class... A>
auto closure_of(Loc loc, const F& f, const A&... args) {
  const LocScope place(loc);
  using Flat = FlatFunction<F, A...>;
  Flat flat(f, args...);
  auto result = [](const void* context) {
    auto& flat = *static_cast<const Flat*>(context);
    Structure s{{}, flat.present()};
    using R = typename Flat::Result;
    s.def = TreeDef(&tree_type<R>, new R(flat.prototype()), s.present.size());
    return s;
  };
  return Closure<typename Flat::Result(A...)>(convert_closure(
      callee_of(flat), flat.leaves(), flat.begin(0), structure_of(std::tuple<A...>(args...)), result, &flat));
}

template <class F, class... Args>
auto closure_convert_at(Loc loc, const F& f, const Args&... args) {
  return closure_of<std::decay_t<F>, argument_t<Args>...>(loc, f, args...);
}

}  // namespace detail

/// `closure_convert(f, args…)`: `f`, traced on these arguments, as a value: the arrays that it uses from
/// outside (captured by a lambda, traced ones included, or fields of a struct) are its leaves, and what it
/// does with them is its program. It may cross any transformation and be stored in any tree; it serves
/// arguments of these structures, shapes and dtypes only. Scalars written as numbers are part of the program;
/// `array(2.)` makes a leaf. (JAX: closure_convert; Equinox: filter_closure_convert.)
APSIS_TRANSFORM_CALL(closure_convert)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto closure_convert(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}

}  // namespace apsis
