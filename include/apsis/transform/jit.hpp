#pragma once

// Compilation.
//
//   auto fast = jit(loss);             // traced once per shapes, dtypes and static values; then machine code
//   Array value = fast(model, data);
//   auto both = wraps(swap_arguments, fast);   // decorated: its stages, cache and name too

#include <new>

#include "apsis/transform/checks.hpp"
#include "apsis/transform/compile_options.hpp"
#include "apsis/transform/declare.hpp"
#include "apsis/transform/jit_call.hpp"
#include "apsis/tree/static_object.hpp"

namespace apsis {

/// Options of `jit`.
struct JitOptions {
  /// Shown in printed programs, in `explain` and in errors.
  const char* name = "jit";
  /// Names of the arguments, in order and with commas between, for `explain` and errors: "model, lr".
  const char* arguments = "";
  /// Met inside another transformation, the function becomes part of that program, equation by equation,
  /// instead of one `call`. Multiply-adds may then be fused across its border.
  bool inline_calls = false;
  /// What the compiled program checks of its own ops: NaN, indices, divisions by zero.
  Checks checks = {};
  /// Signatures that are kept with their programs, at least one; beyond, the least recently used go.
  std::int64_t max_entries = 512;
  /// For the program itself; where it is called in another program, that one's options count.
  CompileOptions compile = {};
};

namespace detail {

class Stages;
class JitTable;
class TraceCounts;
std::int64_t count_of(const TraceCounts& counts);

/// The cache of one jitted function, shared by its copies.
class JitCore {
 public:
  JitCore(const JitOptions& options, Loc loc);
  JitCore(const JitCore& other) noexcept;
  JitCore(JitCore&& other) noexcept : table_(other.table_), owns_(other.owns_) { other.table_ = nullptr; }
  JitCore& operator=(JitCore other) noexcept {
    auto* t = table_;
    table_ = other.table_;
    other.table_ = t;
    const bool owns = owns_;
    owns_ = other.owns_;
    other.owns_ = owns;
    return *this;
  }
  ~JitCore();
  void call(const JitCall& call, JitResults& results) const;
  /// The call traced, from the cache if it is there.
  Stages stages(const JitCall& call) const;
  TraceCounts& counts() const;
  std::int64_t entry_count() const;
  std::string explain() const;
  void clear() const;
  /// Where it was made.
  Loc place() const;
  const JitOptions& options() const;
  /// What tells the function from others in keys.
  StaticObject& identity() const;

 private:
  JitTable* table_;
  bool owns_ = true;
};

}  // namespace detail

/// What `jit` returns; see there. Copies share one cache.
template <class F>
class Jitted : public detail::Transformed<Jitted<F>, F> {
 public:
  Jitted(F function, const JitOptions& options, Loc loc = {})
      : f_(static_cast<F&&>(function)), core_(options, loc) {}
  Jitted(const Jitted&) = default;
  Jitted(Jitted&&) = default;
  /// Lambdas have no assignment, but loops assign what they carry.
  Jitted& operator=(Jitted other) noexcept {
    f_.~F();
    ::new (static_cast<void*>(&f_)) F(static_cast<F&&>(other.f_));
    core_ = static_cast<detail::JitCore&&>(other.core_);
    return *this;
  }

  using detail::Transformed<Jitted<F>, F>::operator();
  /// Arguments moved into the call are given up: their memory may be used for results (a result of the same
  /// shape and dtype, computed element by element, of which nothing else reads the argument afterwards), and
  /// what is left of them says so when it is used. Only once the program is there: a call that fails before
  /// leaves them as they are.
  template <class... A>
  requires(detail::gives_up<F, A...>()) auto operator()(A&&... args) const {
    return detail::with_place_of(*this, [&] {
      return detail::with_given_call(
          f_, [this](const detail::JitCall& call, detail::JitResults& results) { core_.call(call, results); },
          static_cast<A&&>(args)...);
    });
  }
  template <class... A>
  auto call(const A&... args) const {
    return detail::with_call(
        f_, [this](const detail::JitCall& call, detail::JitResults& results) { core_.call(call, results); },
        args...);
  }
  const F& function() const { return f_; }
  const JitOptions& options() const { return core_.options(); }
  /// How often the function was traced: run on tracers to make a program.
  std::int64_t trace_count() const { return detail::count_of(core_.counts()); }
  /// Signatures that are kept now.
  std::int64_t entry_count() const { return core_.entry_count(); }
  /// See `apsis::explain`.
  std::string explain() const { return core_.explain(); }
  /// Forgets all signatures and programs; the next call traces again.
  void clear_cache() const { core_.clear(); }
  const detail::JitCore& core() const { return core_; }

 private:
  friend struct tree_trait<Jitted<F>>;
  F f_;
  detail::JitCore core_;
};

/// A jitted function is a tree if `f` is: its leaves are inputs, its copies share one cache. Options that
/// make it another part of another program are static.
template <detail::TreeFunction F>
struct tree_trait<Jitted<F>> {
  static constexpr const char* names = "function, inline_calls, checks";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) {
    return visit(self.f_, self.options().inline_calls, self.options().checks);
  }
};
/// Otherwise (a lambda that captures) it is static: the same as its copies, another than any other.
template <class F>
requires(!detail::TreeFunction<F>) struct tree_trait<Jitted<F>> {
  static constexpr const char* names = "identity";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) { return visit(self.core_.identity()); }
};

/// `f`, compiled: traced once for each combination of shapes, dtypes, static values and structure of its
/// arguments, then run as machine code. Inside another transformation its trace is reused too. Arrays
/// captured by a lambda are those of the time of tracing. Decisions on traced values throw; see cond, where
/// and while_loop.
template <class F>
Jitted<F> jit(F f, const JitOptions& options = {}, Loc loc = Loc::here()) {
  return Jitted<F>(static_cast<F&&>(f), options, loc);
}

template <class... P>
requires detail::TakesPlace<P...>
auto jit(Array (*f)(P...), const JitOptions& options = {}, Loc loc = Loc::here()) {
  return jit(detail::library_function(f, loc), options, loc);
}

/// A jitted function with a decorator around what it compiles: `decorator` takes a callable and returns one,
/// as `jit` and `grad` do. The result is a jitted function of its own, with the options and the name of
/// `jitted`, whose every stage (trace, lower, compile, call, explain) is that of the decorated function.
template <class Decorator, class F>
auto wraps(const Decorator& decorator, const Jitted<F>& jitted, Loc loc = Loc::here()) {
  return jit(decorator(jitted.function()), jitted.options(), loc);
}

APSIS_REFUSE_ARGUMENTS(jit, JitOptions)

}  // namespace apsis
