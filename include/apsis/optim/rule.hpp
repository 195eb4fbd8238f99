#pragma once

// How the transformations of this room are written. Each is an aggregate of options with two functions over
// trees, which hand the leaves to compiled code:
//
//   struct ScaleBySign {
//     APSIS_TRANSFORMATION(EmptyState<P>)            // the state, and what it holds before `start` fills it
//   };
//   void ScaleBySign::start(detail::Start& s) const { … }    // makes the state, checks the options
//   void ScaleBySign::step(detail::Step& s) const { … }      // replaces gradient and state
//
// A transformation of one's own needs none of this: any struct with `init(params)` and `update(gradient,
// state, params)` is one (chain.hpp).

#include <optional>
#include <span>
#include <utility>

#include "apsis/core/array.hpp"
#include "apsis/tree/map.hpp"

/// Gradient transformations, schedules, losses and projections, with Optax's names.
namespace apsis::optim {

/// What some transformations need beyond gradient, state and parameters.
struct Extra {
  Array value = {};  ///< of the loss at the parameters: for `PolyakSgd`, `ReduceOnPlateau`
};

/// The state of what keeps nothing.
template <class P>
struct EmptyState {};
/// A state that is the number of updates so far.
template <class P>
struct CountState {
  Array count;  ///< i64
};

class ScalarOrSchedule;

namespace detail {

using apsis::detail::leaf_paths;
using apsis::detail::require_same_structure;

enum class OptionRange : std::uint8_t { Finite, Rate, NotNegative, Positive, Fraction };

/// A state while it is made, leaf by leaf in the order of the state's fields.
class Start {
 public:
  Start(std::vector<Array> params_, std::vector<Array> state_, ConstTreeRef tree, Loc loc_);
  /// The next leaf of the state.
  void scalar(const Array& value);
  /// The number of updates so far: 0.
  void count();
  /// The next leaves of the state, one for each parameter that is floating; the others stay empty.
  template <class F>
  void each(const F& leaf) {
    for (const Array& p : params) scalar(is_trained(p) ? Array(leaf(p)) : Array());
  }
  void zeros(std::optional<Dtype> dtype = {});
  void empty();
  void params_themselves();
  /// Throws if an option whose value is known is out of its range, or is no scalar; a schedule is asked for
  /// its first value.
  void check(const char* rule, const char* name, const Array& value, OptionRange range) const;
  void check(const char* rule, const char* name, const ScalarOrSchedule& value, OptionRange range) const;
  /// The same of a dtype that is not floating.
  void check(const char* rule, const char* name, std::optional<Dtype> dtype) const;
  static bool is_trained(const Array& p) { return !p.is_empty() && is_floating(p.dtype()); }
  /// What errors call the parameter of a leaf.
  std::string path(std::size_t i) const { return leaf_paths(tree_, "params")[i]; }

  std::vector<Array> params, state;
  Loc loc;

 private:
  ConstTreeRef tree_;
  std::size_t next_ = 0;
};

/// A step while it is made. `updates` are the gradient at first and the change in the end.
class Step {
 public:
  /// Throws where the gradient's shape is not the parameter's, or a gradient is complex.
  Step(std::vector<Array> gradient, std::vector<Array> params_, std::vector<Array> state_, ConstTreeRef tree,
       const Extra& extra_, Loc loc_);
  /// The next leaf of the state.
  Array& scalar();
  /// The same, which stays the next one.
  Array next_scalar() const;
  /// The next leaves of the state, one for each parameter, of the parameter's shape.
  std::span<Array> tree();
  /// The same, of any shape.
  std::span<Array> leaves(std::size_t count);
  /// Calls f(i) for each leaf that has a gradient.
  template <class F>
  void each(const F& f) const {
    for (std::size_t i = 0; i < updates.size(); ++i)
      if (!updates[i].is_empty()) f(i);
  }
  /// Replaces the updates by f(i).
  template <class F>
  void map(const F& f) {
    each([&](std::size_t i) { updates[i] = f(i); });
  }
  std::vector<std::string> paths() const { return leaf_paths(tree_, {}); }
  std::string path(std::size_t i) const { return leaf_paths(tree_, "params")[i]; }
  /// Throws if the state is longer than what was read.
  void finish() const;

  std::vector<Array> updates, params, state;
  const Extra& extra;
  Loc loc;

 private:
  [[noreturn]] void fail_state() const;
  ConstTreeRef tree_;
  std::size_t next_ = 0;
};

template <class Rule, class P, class S>
S start(const Rule& rule, const P& params, S state, Loc loc) {
  const LocScope place(loc);
  Start s(tree_leaves(params), tree_leaves(state), tree_ref(params), loc);
  rule.start(s);
  assign_leaves(state, s.state, loc);
  return state;
}
template <class Rule, class P, class S>
std::pair<P, S> step(const Rule& rule, const P& gradient, const S& state, const P& params, const Extra& extra,
                     Loc loc) {
  const LocScope place(loc);
  if constexpr (!is_static_shape<P>)
    require_same_structure("update", tree_ref(gradient), tree_ref(params), 3);
  Step s(tree_leaves(gradient), tree_leaves(params), tree_leaves(state), tree_ref(params), extra, loc);
  rule.step(s);
  s.finish();
  return {unflatten_like(gradient, s.updates, loc), unflatten_like(state, s.state, loc)};
}

/// For each leaf as many arrays as it has axes, one at least; none for those that are not trained.
std::vector<std::vector<Array>> axes_of(std::vector<Array> params);

}  // namespace detail
}  // namespace apsis::optim

/// The functions of a transformation whose state over parameters of type P is `StateType`, an aggregate that
/// begins as the values that follow, in which `params` are the parameters.
#define APSIS_TRANSFORMATION(StateType, ...)                                               \
  template <class P>                                                                       \
  using State = StateType;                                                                 \
  template <class P>                                                                       \
  State<P> init(const P& params, ::apsis::Loc loc = ::apsis::Loc::here()) const {          \
    return ::apsis::optim::detail::start(*this, params, State<P>{__VA_ARGS__}, loc);       \
  }                                                                                        \
  template <class P>                                                                       \
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params, \
                                const ::apsis::optim::Extra& extra = {},                   \
                                ::apsis::Loc loc = ::apsis::Loc::here()) const {           \
    return ::apsis::optim::detail::step(*this, gradient, state, params, extra, loc);       \
  }                                                                                        \
  void start(::apsis::optim::detail::Start& s) const;                                      \
  void step(::apsis::optim::detail::Step& s) const;
