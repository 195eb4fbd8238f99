#pragma once

// The stages of compilation ahead of time, as free functions on any callable.
//
//   auto ready = compile(grad(loss), model, data);   // = lower(grad(loss), model, data).compile()
//   Model slope = ready(model, data);                // refuses other shapes and static values, saying what
//   differs

#include "apsis/transform/jit.hpp"

namespace apsis {

namespace detail {

/// A traced call, and its program once compiled, shared.
class Stages {
 public:
  Stages() = default;
  explicit Stages(void* shared) : shared_(shared) {}
  Stages(const Stages& other) noexcept;
  Stages(Stages&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
  Stages& operator=(Stages other) noexcept {
    void* s = shared_;
    shared_ = other.shared_;
    other.shared_ = s;
    return *this;
  }
  ~Stages();

  static Stages trace(const JitCall& call, const JitOptions& options, Loc loc);
  Stages compile(const CompileOptions& options) const;
  void run(const JitCall& call, JitResults& results, Loc loc) const;
  std::string graph_text() const;
  std::string code_text() const;

 private:
  void* shared_ = nullptr;
};

}  // namespace detail

/// A function compiled for one signature. Refuses arguments of another structure, shape, dtype or static
/// value, saying what differs; weakly typed numbers are taken for strong ones.
template <class F, class... A>
class Compiled {
 public:
  Compiled(F f, detail::Stages stages)
      : f_(static_cast<F&&>(f)), stages_(static_cast<detail::Stages&&>(stages)) {}
  auto operator()(const A&... args, Loc loc = Loc::here()) const {
    return detail::with_call(
        f_,
        [this, loc](const detail::JitCall& call, detail::JitResults& results) {
          stages_.run(call, results, loc);
        },
        args...);
  }
  /// The same for a call whose arguments are all moved or temporary: these are given up.
  auto operator()(A&&... args, Loc loc = Loc::here()) const requires((detail::is_given_up<A> || ...)) {
    return detail::with_given_call(
        f_,
        [this, loc](const detail::JitCall& call, detail::JitResults& results) {
          stages_.run(call, results, loc);
        },
        static_cast<A&&>(args)...);
  }
  /// Arguments moved into the call are given up, as in a call of a jitted function.
  template <class... B>
  requires((detail::is_given_up<B> || ...) && (std::is_same_v<std::decay_t<B>, A> && ...)) auto operator()(
      B&&... args) const {
    return detail::with_given_call(
        f_,
        [this](const detail::JitCall& call, detail::JitResults& results) { stages_.run(call, results, {}); },
        static_cast<B&&>(args)...);
  }
  /// Refuses other arguments.
  template <class... B>
  requires(!detail::FitOf<detail::TypeList<A...>, B...>::fits) Array operator()(const B&...) const {
    (void)sizeof(detail::CheckArguments<detail::FitOf<detail::TypeList<A...>, B...>, B...>);
    return {};
  }
  /// The machine code as text.
  std::string code_text() const { return stages_.code_text(); }

 private:
  F f_;
  detail::Stages stages_;
};

/// A traced function, ready to compile.
template <class F, class... A>
class Lowered {
 public:
  Lowered(F f, detail::Stages stages)
      : f_(static_cast<F&&>(f)), stages_(static_cast<detail::Stages&&>(stages)) {}
  /// Throws for options out of range, and for a function that uses traced values from outside.
  Compiled<F, A...> compile(const CompileOptions& options = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    return {f_, stages_.compile(options)};
  }
  /// The program, as it reads back.
  std::string text() const { return stages_.graph_text(); }
  template <detail::TextStream Stream>
  friend Stream& operator<<(Stream& stream, const Lowered& program) {
    stream << program.text().c_str();
    return stream;
  }

 private:
  F f_;
  detail::Stages stages_;
};

/// A function traced on arguments.
template <class F, class... A>
class Traced {
 public:
  Traced(F f, detail::Stages stages)
      : f_(static_cast<F&&>(f)), stages_(static_cast<detail::Stages&&>(stages)) {}
  Lowered<F, A...> lower() const { return {f_, stages_}; }
  std::string text() const { return stages_.graph_text(); }
  template <detail::TextStream Stream>
  friend Stream& operator<<(Stream& stream, const Traced& program) {
    stream << program.text().c_str();
    return stream;
  }

 private:
  F f_;
  detail::Stages stages_;
};

namespace detail {

/// The types that a call passes: those of the parameters where they are known, as when the function is
/// called.
template <class F, class... Args>
constexpr auto call_types() {
  if constexpr (std::is_void_v<parameters_of<F>>) {
    return TypeList<argument_t<Args>...>{};
  } else {
    return []<class... P>(TypeList<P...>) {
      static_assert(sizeof...(P) == sizeof...(Args), "trace, lower and compile take the arguments of a call");
      return TypeList<std::decay_t<P>...>{};
    }(parameters_of<F>{});
  }
}

template <class F, class Use, class... A>
Stages stages_of_call(const F& f, const Use& use, const A&... args) {
  using Site = CallSite<F, A...>;
  Site site{f, {args...}};
  NodeList<Site::leaf_total()> nodes;
  site.collect(nodes);
  StaticKey key;
  site.append_key(key);
  return use(JitCall{nodes.span(), Site::has_static ? &key : nullptr, &Site::type, &site});
}

template <class... A, class F>
Traced<F, A...> trace_call(TypeList<A...>, const F& f, Loc loc, const std::type_identity_t<A>&... args) {
  auto use = [loc](const JitCall& call) { return Stages::trace(call, {.name = "trace"}, loc); };
  return {f, stages_of_call(f, use, args...)};
}
/// A jitted function is traced by its own cache, and stands for the function it compiles.
template <class... A, class F>
Traced<F, A...> trace_call(TypeList<A...>, const Jitted<F>& f, Loc, const std::type_identity_t<A>&... args) {
  auto use = [&f](const JitCall& call) { return f.core().stages(call); };
  return {f.function(), stages_of_call(f.function(), use, args...)};
}

template <class F, class... Args>
auto trace_at(Loc loc, const F& f, const Args&... args) {
  using Function = std::decay_t<F>;  // a plain function is kept as a pointer
  return trace_call(call_types<Function, Args...>(), static_cast<const Function&>(f), loc, args...);
}
template <class F, class... Args>
auto lower_at(Loc loc, const F& f, const Args&... args) {
  return trace_at(loc, f, args...).lower();
}
template <class F, class... Args>
auto compile_at(Loc loc, const F& f, const Args&... args) {
  return trace_at(loc, f, args...).lower().compile({}, loc);
}
template <class F, class... Args>
std::string make_graph_at(Loc loc, const F& f, const Args&... args) {
  return trace_at(loc, f, args...).text();
}

}  // namespace detail

/// `trace(f, args…)`: traces any callable on these arguments, ahead of time: whatever calling it would
/// compute, decorators and transformations around a jitted function included.
APSIS_TRANSFORM_CALL(trace)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto trace(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}
/// Traces and lowers; `.compile()` follows.
APSIS_TRANSFORM_CALL(lower)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto lower(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}
/// Traces, lowers and compiles for the signature of these arguments.
APSIS_TRANSFORM_CALL(compile)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto compile(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}
/// The program that `f` is on these arguments, as text.
APSIS_TRANSFORM_CALL(make_graph)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto make_graph(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return std::string();
}

}  // namespace apsis
