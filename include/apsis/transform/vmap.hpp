#pragma once

// Batching.
//
//   auto many = vmap(f);                                            // axis 0 of every array
//   auto some = vmap(f, {.in_axes = {0, {}, 1}});                   // {} = the same for all lanes
//   auto part = vmap(f, {.in_axes = {Model{.alpha = 0, .beta = {}}, {}, 0}});   // leaf by leaf
//   auto same = vmap(f, {0, {}, 1});                                // the axes alone
//   auto slow = vmap(f, {.loops = LaneLoops::Lockstep});            // loops as others batch them

#include <initializer_list>

#include "apsis/transform/declare.hpp"
#include "apsis/transform/lane_loops.hpp"

namespace apsis {

namespace detail {
inline constexpr int not_mapped = -1000000;
/// What braces with nothing in them are, where they could be several things: a number's own `{}` comes before
/// those of classes.
enum class NoChoice : unsigned char {};
}  // namespace detail

/// Which axis of an argument or result is mapped: a number for all its arrays (negative ones count from the
/// end), `{}` for none, or a tree of the argument's own type with a number or `{}` a leaf.
class AxisSpec {
  APSIS_FIELDS(AxisSpec, axes_, whole_)

 public:
  AxisSpec() : axes_{detail::not_mapped} {}
  AxisSpec(detail::NoChoice) : AxisSpec() {}  // {{}}
  template <std::integral I>
  AxisSpec(I axis) : axes_{static_cast<int>(axis)} {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && !std::is_same_v<T, AxisSpec>) AxisSpec(const T& tree) : whole_(false) {
    for_each_leaf(tree, [this](const Array& a) {
      axes_.push_back(a.is_empty() ? detail::not_mapped : a.template item<std::int32_t>());
    });
  }
  /// Of the i-th leaf.
  int of(std::size_t i) const { return whole_ ? axes_[0] : i < axes_.size() ? axes_[i] : detail::not_mapped; }

 private:
  std::vector<int> axes_;
  bool whole_ = true;
};

/// The mapped axes of the arguments: an entry each, as in `{0, {}, 1}`, or one axis of all their arrays.
class InAxes {
  APSIS_FIELDS(InAxes, axes_, one_)

 public:
  /// Axis 0 of every array.
  InAxes() : axes_{AxisSpec(0)} {}
  InAxes(int axis) : axes_{AxisSpec(axis)} {}
  InAxes(std::initializer_list<AxisSpec> axes) : InAxes(std::vector<AxisSpec>(axes)) {}
  InAxes(const std::vector<AxisSpec>& axes) : axes_(axes), one_(axes.empty()) {
    if (one_) axes_.push_back(AxisSpec(0));
  }
  bool fits(std::size_t arguments) const { return one_ || axes_.size() == arguments; }
  std::size_t size() const { return axes_.size(); }
  /// Of argument `i`.
  const AxisSpec& operator[](std::size_t i) const { return axes_[one_ ? 0 : i]; }

 private:
  std::vector<AxisSpec> axes_;
  bool one_ = true;
};

namespace detail {
/// As the first member of options: they are given by name, `{0, {}}` is something else.
class ByName {
 public:
  static constexpr ByName only() { return ByName(nullptr, nullptr); }

 private:
  constexpr ByName(const void*, const void*) {}
};
/// Axes without a name, as in `vmap(f, {0, {}})`. (An aggregate, because names tell aggregates apart.)
struct ListedAxes {
  static constexpr int not_given = not_mapped - 1;
  AxisSpec first, second = not_given, third = not_given, fourth = not_given, fifth = not_given,
                  sixth = not_given, seventh = not_given, eighth = not_given;
  std::vector<AxisSpec> given() const {
    std::vector<AxisSpec> axes;
    for (const AxisSpec* a : {&first, &second, &third, &fourth, &fifth, &sixth, &seventh, &eighth})
      if (a->of(0) != not_given) axes.push_back(*a);
    return axes;
  }
};
}  // namespace detail

/// Options of `vmap`.
struct VmapOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName::only();
  /// One entry an argument, or one axis for all; by default axis 0 of every array.
  InAxes in_axes = {};
  AxisSpec out_axes = 0;
  /// The number of lanes, 0 or more, where no argument tells; -1 = told by the arguments.
  std::int64_t axis_size = -1;
  /// What collectives (psum, all_gather, …) in the function call the axis; empty = it has no name.
  std::string axis_name = {};
  /// How loops run that lanes leave at different times.
  LaneLoops loops = LaneLoops::Automatic;
};

namespace detail {

/// `axes`: the mapped axis of each leaf, in place of the options' in_axes.
std::vector<Array> vmap_call(const Callee& callee, std::span<const Array> leaves, std::span<const int> axes,
                             const VmapOptions& options, Loc loc);
[[noreturn]] void fail_in_axes(std::size_t given, std::size_t arguments, Loc loc);

template <class T>
void collect_axes(const T& tree, const AxisSpec& spec, std::vector<int>& axes) {
  std::size_t place = 0;
  for_each_leaf(tree, [&](const Array& a) {
    if (!a.is_empty()) axes.push_back(spec.of(place));
    ++place;
  });
}

}  // namespace detail

/// What `vmap` returns; see there.
template <class F>
struct Vmap : detail::Transformed<Vmap<F>, F> {
  F f;
  VmapOptions options;
  Loc loc;
  Vmap(F function, VmapOptions o, Loc l)
      : f(static_cast<F&&>(function)), options(static_cast<VmapOptions&&>(o)), loc(l) {}

  template <class... A>
  auto call(const A&... args) const {
    using namespace detail;
    if (!options.in_axes.fits(sizeof...(A))) fail_in_axes(options.in_axes.size(), sizeof...(A), loc);
    FlatFunction<F, A...> flat(f, args...);
    std::vector<int> axes(flat.begin(0), not_mapped);  // the callable's own leaves are shared
    std::size_t i = 0;
    ((collect_axes(args, options.in_axes[i], axes), ++i), ...);
    return flat.rebuild(vmap_call(callee_of(flat), flat.leaves(), axes, options, loc));
  }
};

/// A mapped function is a tree if `f` is; which axes are mapped, and how, is static.
template <detail::TreeFunction F>
struct tree_trait<Vmap<F>> {
  static constexpr const char* names = "function, in_axes, out_axes, axis_size, axis_name, loops";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) {
    return visit(self.f, self.options.in_axes, self.options.out_axes, self.options.axis_size,
                 self.options.axis_name, self.options.loops);
  }
};

/// Runs `f` for every lane at once: written for one lane, it gets arrays with an axis more and returns them
/// so. A loop that lanes leave after different numbers of iterations runs each at its own pace, unless
/// products of more than 2^20 multiply-adds with an array that all lanes share make up most of an iteration:
/// these are faster as one product for all lanes, in lockstep. `.loops` chooses instead; loops with effects,
/// and those that keep a tape because the gradient is inside of the vmap, always run in lanes. The results
/// are the same, bit for bit where products are of at most 4096 multiply-adds. Throws where mapped axes
/// differ in length or are out of range.
template <class F>
Vmap<F> vmap(F f, VmapOptions options = {}, Loc loc = Loc::here()) {
  return Vmap<F>(static_cast<F&&>(f), static_cast<VmapOptions&&>(options), loc);
}
template <class F>
Vmap<F> vmap(F f, const detail::ListedAxes& in_axes, Loc loc = Loc::here()) {
  return Vmap<F>(static_cast<F&&>(f), {.in_axes = in_axes.given()}, loc);
}
template <class F>
Vmap<F> vmap(F f, detail::NoChoice, Loc loc = Loc::here()) {
  return Vmap<F>(static_cast<F&&>(f), {}, loc);
}
template <class... P>
requires detail::TakesPlace<P...>
auto vmap(Array (*f)(P...), VmapOptions options = {}, Loc loc = Loc::here()) {
  return vmap(detail::library_function(f, loc), static_cast<VmapOptions&&>(options), loc);
}
template <class... P>
requires detail::TakesPlace<P...>
auto vmap(Array (*f)(P...), const detail::ListedAxes& in_axes, Loc loc = Loc::here()) {
  return vmap(detail::library_function(f, loc), in_axes, loc);
}

template <class... P>
requires detail::TakesPlace<P...>
auto vmap(Array (*f)(P...), detail::NoChoice, Loc loc = Loc::here()) {
  return vmap(detail::library_function(f, loc), VmapOptions(), loc);
}

APSIS_REFUSE_ARGUMENTS(vmap, VmapOptions)

}  // namespace apsis
