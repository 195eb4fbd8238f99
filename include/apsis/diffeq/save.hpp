#pragma once

// What is kept of a solve.
//
//   diffeqsolve(term, Tsit5{}, 0., 1., {}, y0, {.controller = …, .saveat = {.ts = ts}}).ys;   // states
//   // what a function makes of them, of its type
//   const SubSaveAt energy([](const Array& t, const State& y) { return 0.5 * y.v * y.v; }, {.steps = 1});
//   diffeqsolve(term, Tsit5{}, 0., 1., {}, y0, {.controller = …}, energy).ys;
//   // several requests at once: a tuple of what each asks for
//   auto sol = diffeqsolve(…, {.controller = …}, std::tuple{SubSaveAt({.ts = ts}), energy});
//   auto [states, energies] = sol.ys;

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "apsis/diffeq/state_function.hpp"
#include "apsis/diffeq/times.hpp"

namespace apsis {

/// What to keep of a solve: t0 in the first row, then save times and steps in the order of the solve, then t1
/// in the last row (or the time at which an event ended the solve). With nothing asked for, t1. Rows that are
/// not used are +inf, their times too; where steps are saved and their number is known when the call
/// returns (outside of jit and vmap), there are none. At the time of a change by an event it is the state
/// before.
struct SaveAt {
  bool t0 = false;
  /// Times from t0 to t1, in the order of the solve, as an Array or a list in braces; by dense output
  /// inside the steps. A time within rounding (100 ULP) beyond t0 or t1 is t0 or t1.
  Times ts = {};
  /// Every n-th accepted step, 0 = none; there is room for max_steps / n of them.
  std::int64_t steps = 0;
  bool t1 = false;
  /// Room for so many occurrences of events: Solution::events.
  std::int64_t events = 0;
  /// All steps, so that the state is known at every time: `dense_interpolation`. There is room for max_steps.
  bool dense = false;
  /// What the solver and the step size controller keep, so that another solve goes on from the end of this
  /// one: Solution::solver_state and Solution::controller_state.
  bool solver_state = false;
  bool controller_state = false;
};

/// What a solver kept at the end of a solve: the slope there, differences of the last states, a Jacobian, how
/// many increments of a path were drawn.
struct SolverMemory {
  Array direction = {};  ///< of that solve, 1 or -1
  std::vector<Array> own = {};
  std::vector<std::vector<Array>> paths = {};
};
/// What a step size controller kept: errors of the last steps, and where the next step would have ended if
/// the solve had not.
struct ControllerMemory {
  Array t = {}, end = {};
  std::vector<Array> own = {};
};

/// When a SubSaveAt saves; as in SaveAt.
struct SaveTimes {
  bool t0 = false;
  Times ts = {};
  std::int64_t steps = 0;
  bool t1 = false;
};

/// Stands for the state as it is.
struct WholeState {};

/// Saves what a function of the time, an Array, and the state returns, a tree of Arrays of any shape and
/// dtype (unused rows: +inf, of integers the greatest number, of booleans false); without a function the
/// state. Given behind the options of `diffeqsolve`, alone or several in a tuple, pair, array or vector (of
/// such), each with its own times: `ts`, `ys` and `rows` of the solution are then as these are. What the
/// function captures, or its fields, are parameters of the solve. It is called where something is saved, and
/// nowhere else. (Diffrax: SubSaveAt, and SaveAt.fn.)
template <class F = WholeState>
struct SubSaveAt {
  F fn;
  SaveTimes at;
  explicit SubSaveAt(F fn_, SaveTimes at_ = {})
      : fn(static_cast<F&&>(fn_)), at(static_cast<SaveTimes&&>(at_)) {}
  explicit SubSaveAt(SaveTimes at_) requires std::is_same_v<F, WholeState>
      : fn(), at(static_cast<SaveTimes&&>(at_)) {}
};
SubSaveAt(SaveTimes)->SubSaveAt<WholeState>;

namespace detail {

/// A request without its type.
struct FlatSave {
  std::string name;  ///< what errors call it
  SaveTimes at;
  StateFunction fn;  ///< not set: the state
};
/// What was saved for it.
struct FlatSaved {
  Array ts, rows;
  std::vector<Array> ys;
};

template <class S>
inline constexpr bool is_save_request = false;
template <class F>
inline constexpr bool is_save_request<SubSaveAt<F>> = true;
template <class... S>
inline constexpr bool is_save_request<std::tuple<S...>> = (is_save_request<S> && ...);
template <class A, class B>
inline constexpr bool is_save_request<std::pair<A, B>> = is_save_request<A>&& is_save_request<B>;
template <class S>
inline constexpr bool is_save_request<std::vector<S>> = is_save_request<S>;
template <class S, std::size_t n>
inline constexpr bool is_save_request<std::array<S, n>> = is_save_request<S>;

/// What is wrong with the functions of requests.
enum class SaveFault : std::uint8_t { None, Arguments, Result };
template <class F, class State>
struct SavedValue {
  static constexpr SaveFault fault = SaveFault::Arguments;
};
template <class F, class State>
requires(is_function_object<F>&&
             std::is_invocable_v<const F&, const Array&, const State&>) struct SavedValue<F, State> {
  using type = argument_t<std::invoke_result_t<const F&, const Array&, const State&>>;
  static constexpr bool is_tree =
      !is_refused(tree_kind<type>) && tree_kind<type> != TreeKind::Static && !NumberContainer<type>;
  static constexpr SaveFault fault = is_tree ? SaveFault::None : SaveFault::Result;
};
template <class State>
struct SavedValue<WholeState, State> {
  using type = State;
  static constexpr SaveFault fault = SaveFault::None;
};
constexpr SaveFault first_fault(std::initializer_list<SaveFault> faults) {
  for (SaveFault f : faults)
    if (f != SaveFault::None) return f;
  return SaveFault::None;
}
template <class S, class State>
inline constexpr SaveFault save_fault = SaveFault::None;
template <class F, class State>
inline constexpr SaveFault save_fault<SubSaveAt<F>, State> = SavedValue<F, State>::fault;
template <class... S, class State>
inline constexpr SaveFault save_fault<std::tuple<S...>, State> = first_fault({save_fault<S, State>...});
template <class A, class B, class State>
inline constexpr SaveFault save_fault<std::pair<A, B>, State> = save_fault<std::tuple<A, B>, State>;
template <class S, class State>
inline constexpr SaveFault save_fault<std::vector<S>, State> = save_fault<S, State>;
template <class S, std::size_t n, class State>
inline constexpr SaveFault save_fault<std::array<S, n>, State> = save_fault<S, State>;

/// A request whose types are known: appends itself to the flat ones, and makes trees of what was saved.
template <class S, class State>
class SavePlan;

template <class F, class State>
class SavePlan<SubSaveAt<F>, State> {
 public:
  using Value = typename SavedValue<F, State>::type;
  SavePlan(const SubSaveAt<F>& save, std::string name, std::vector<FlatSave>& all) : index_(all.size()) {
    all.push_back({std::move(name), save.at, {}});
    if constexpr (!std::is_same_v<F, WholeState>) {
      // The tree whose leaves are replaced: what the function returned last.
      auto call = [fn = save.fn, like = like_](const Array& t, const State& y) {
        like->emplace(fn(t, y));
        return **like;
      };
      all.back().fn = StateFunction::of<State>(std::move(call));
    }
  }
  /// `f(what was saved, a tree to put it in)`.
  template <class Function>
  auto map(const std::vector<FlatSaved>& saved, const State& state, const Function& f) const {
    if constexpr (std::is_same_v<F, WholeState>)
      return f(saved[index_], state);
    else
      return f(saved[index_], **like_);
  }

 private:
  std::size_t index_;
  std::shared_ptr<std::optional<Value>> like_ = std::make_shared<std::optional<Value>>();
};

template <class... S, class State>
class SavePlan<std::tuple<S...>, State> {
 public:
  SavePlan(const std::tuple<S...>& saves, const std::string& name, std::vector<FlatSave>& all)
      : SavePlan(saves, name, all, std::index_sequence_for<S...>()) {}
  template <class Function>
  auto map(const std::vector<FlatSaved>& saved, const State& state, const Function& f) const {
    return std::apply([&](const auto&... part) { return std::tuple(part.map(saved, state, f)...); }, parts_);
  }

 private:
  template <std::size_t... i>
  SavePlan(const std::tuple<S...>& saves, const std::string& name, std::vector<FlatSave>& all,
           std::index_sequence<i...>)
      : parts_{SavePlan<S, State>(std::get<i>(saves), name + "[" + std::to_string(i) + "]", all)...} {}
  std::tuple<SavePlan<S, State>...> parts_;
};

template <class A, class B, class State>
class SavePlan<std::pair<A, B>, State> {
 public:
  SavePlan(const std::pair<A, B>& saves, const std::string& name, std::vector<FlatSave>& all)
      : first_(saves.first, name + "[0]", all), second_(saves.second, name + "[1]", all) {}
  template <class Function>
  auto map(const std::vector<FlatSaved>& saved, const State& state, const Function& f) const {
    return std::pair(first_.map(saved, state, f), second_.map(saved, state, f));
  }

 private:
  SavePlan<A, State> first_;
  SavePlan<B, State> second_;
};

/// Several of one type, whose number need not be known to the compiler: an array gives a vector, too.
template <class Saves, class State>
class SavePlanOfMany {
 public:
  SavePlanOfMany(const Saves& saves, const std::string& name, std::vector<FlatSave>& all) {
    for (std::size_t i = 0; i < saves.size(); ++i)
      parts_.push_back({saves[i], name + "[" + std::to_string(i) + "]", all});
  }
  template <class Function>
  auto map(const std::vector<FlatSaved>& saved, const State& state, const Function& f) const {
    std::vector<decltype(parts_[0].map(saved, state, f))> mapped;
    for (const auto& part : parts_) mapped.push_back(part.map(saved, state, f));
    return mapped;
  }

 private:
  std::vector<SavePlan<typename Saves::value_type, State>> parts_;
};
template <class S, class State>
class SavePlan<std::vector<S>, State> : public SavePlanOfMany<std::vector<S>, State> {
  using SavePlanOfMany<std::vector<S>, State>::SavePlanOfMany;
};
template <class S, std::size_t n, class State>
class SavePlan<std::array<S, n>, State> : public SavePlanOfMany<std::array<S, n>, State> {
  using SavePlanOfMany<std::array<S, n>, State>::SavePlanOfMany;
};

}  // namespace detail
}  // namespace apsis
