#pragma once

// How often functions are traced, and why. A trace of a function is a run of its code on tracers, to make a
// program; a call that finds its program is none.
//
//   auto step = jit(assert_max_traces(train_step, 2));   // or assert_max_traces(jit(train_step), 2): the
//   same answer trace_count(step);                                   // 0 so far
//   std::puts(explain(step).c_str());                    // each trace, and what changed since an earlier
//   call { TraceLimit warm(step, 0); serve(step); }           // from here to there no trace

#include "apsis/transform/jit.hpp"

namespace apsis {

/// Options of `assert_max_traces`.
struct TraceOptions {
  /// What errors and `explain` call the function.
  const char* name = "function";
  /// Names of the arguments, in order and with commas between: "model, lr".
  const char* arguments = "";
};

namespace detail {

void reset(TraceCounts& counts);
std::int64_t tighten(TraceCounts& counts, std::int64_t more);
void restore(TraceCounts& counts, std::int64_t limit);

/// The counter of a counted function, shared by its copies.
class TraceCounter {
 public:
  /// limit < 0: none.
  TraceCounter(std::int64_t limit, const TraceOptions& options, Loc loc);
  TraceCounter(const TraceCounter& other) noexcept;
  TraceCounter(TraceCounter&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
  TraceCounter& operator=(TraceCounter other) noexcept {
    auto* s = shared_;
    shared_ = other.shared_;
    other.shared_ = s;
    return *this;
  }
  ~TraceCounter();
  /// Calls `body(context)`, watching for traces.
  void run(const CallSiteType& type, const void* site, bool has_own_code, void* context,
           void (*body)(void*)) const;
  TraceCounts& counts() const;
  std::string explain() const;

 private:
  struct Shared;
  Shared* shared_;
};

/// What a transformation wraps.
template <class F>
const auto& wrapped_function(const F& f) {
  if constexpr (requires { f.function(); })
    return f.function();
  else if constexpr (requires { f.inner; })
    return wrapped_function(f.inner);
  else
    return f.f;
}

/// Whether code of its own runs whenever it is called: not so for a jitted function, nor for what transforms
/// one.
template <class F>
inline constexpr bool has_own_code = true;
template <class F>
requires requires { typename F::apsis_callee; }
inline constexpr bool has_own_code<F> = has_own_code<typename F::apsis_callee>;
template <class F>
inline constexpr bool has_own_code<Jitted<F>> = false;

}  // namespace detail

/// What `assert_max_traces` and `count_traces` return; see there. Copies share one counter.
template <class F>
class Counted : public detail::Transformed<Counted<F>, F> {
 public:
  Counted(F function, detail::TraceCounter counter)
      : f_(static_cast<F&&>(function)), counter_(static_cast<detail::TraceCounter&&>(counter)) {}

  template <class... A>
  auto call(const A&... args) const {
    using Site = detail::CallSite<F, A...>;
    Site site{f_, {args...}};
    std::optional<typename Site::Result> result;
    auto body = [&] { result.emplace(f_(args...)); };
    counter_.run(Site::type, &site, detail::has_own_code<F>, &body,
                 [](void* b) { (*static_cast<decltype(body)*>(b))(); });
    return typename Site::Result(static_cast<typename Site::Result&&>(*result));
  }
  const F& function() const { return f_; }
  std::string explain() const { return counter_.explain(); }
  const detail::TraceCounter& counter() const { return counter_; }

 private:
  F f_;
  detail::TraceCounter counter_;
};

/// `f`, which may be traced `n` times: one more throws, before it is traced, and says which leaf of which
/// argument changed from what to what. Stands anywhere among jit, grad, vmap, wraps and decorators of your
/// own, with the same answer. A call counts once if `f` itself is run on tracers or something jitted in it is
/// traced for it. Counts over all threads.
template <class F>
Counted<F> assert_max_traces(F f, std::int64_t n, const TraceOptions& options = {}, Loc loc = Loc::here()) {
  return {static_cast<F&&>(f), detail::TraceCounter(n < 0 ? 0 : n, options, loc)};
}

/// `f` with a counter of how often it is staged and no limit, for `trace_count` and `explain`.
template <class F>
Counted<F> count_traces(F f, const TraceOptions& options = {}, Loc loc = Loc::here()) {
  return {static_cast<F&&>(f), detail::TraceCounter(-1, options, loc)};
}

/// Decorates a counted jitted function; the counter stays.
template <class Decorator, class F>
auto wraps(const Decorator& decorator, const Counted<F>& counted, Loc loc = Loc::here()) {
  auto decorated = wraps(decorator, counted.function(), loc);
  return Counted<decltype(decorated)>(decorated, counted.counter());
}

namespace detail {

/// The counts of the outermost jitted or counted function.
template <class F>
TraceCounts& counts_of(const F& f) {
  if constexpr (requires { f.counter(); }) {
    return f.counter().counts();
  } else if constexpr (requires { f.core(); }) {
    return f.core().counts();
  } else {
    static_assert(
        requires { typename F::apsis_callee; },
        "traces are counted for jitted functions and those in assert_max_traces or count_traces, or a "
        "transformation of one: wrap this one in count_traces");
    return counts_of(wrapped_function(f));
  }
}

}  // namespace detail

/// How often `f` was traced, in all threads: of a function made by jit, assert_max_traces or count_traces, or
/// a transformation of one (then of the outermost).
template <class F>
std::int64_t trace_count(const F& f) {
  return detail::count_of(detail::counts_of(f));
}

/// Counts from zero again.
template <class F>
void reset_trace_count(const F& f) {
  detail::reset(detail::counts_of(f));
}

/// Each trace of `f` with its signature and the reason: which leaf of which argument changed since the
/// earlier call that is nearest, from what to what, and what to do about it. Of a jitted function also how
/// loops under vmap run, and why so. `f` as for trace_count.
template <class F>
std::string explain(const F& f) {
  if constexpr (requires { f.explain(); })
    return f.explain();
  else
    return (void)detail::counts_of(f), explain(detail::wrapped_function(f));
}

/// While it lives, `f` may be traced at most `n` times more, in any thread.
class TraceLimit {
 public:
  template <class F>
  TraceLimit(const F& f, std::int64_t n) : TraceLimit(detail::counts_of(f), n) {}
  ~TraceLimit() { detail::restore(counts_, before_); }
  TraceLimit(const TraceLimit&) = delete;
  TraceLimit& operator=(const TraceLimit&) = delete;
  /// Traces since it was made.
  std::int64_t traces() const { return detail::count_of(counts_) - first_; }

 private:
  TraceLimit(detail::TraceCounts& counts, std::int64_t n)
      : counts_(counts), first_(detail::count_of(counts)), before_(detail::tighten(counts, n)) {}
  detail::TraceCounts& counts_;
  std::int64_t first_, before_;
};

}  // namespace apsis
