#pragma once

// Compilation.
//
//   auto fast = jit(loss);                       // traced once per shapes, dtypes and static values; then
//   machine code Array value = fast(model, data); auto ready = lower(loss, model, data).compile();   // ahead
//   of time, for any callable Array same = ready(model, data);                   // refuses other shapes,
//   saying what differs

#include "apsis/transform/compile_options.hpp"
#include "apsis/transform/function.hpp"
#include "apsis/tree/path.hpp"

namespace apsis {

struct JitOptions {
  /// Shown in printed programs.
  const char* name = "jit";
  /// For the program itself; where it is called in another program, that one's options count.
  CompileOptions compile = {};
};

namespace detail {

/// What the core asks of the call site when a call must be traced.
class TraceRequest {
 public:
  /// Runs the function on tracers (or, for a thread that is tracing this very call already, directly).
  virtual void stage(const Callee& callee, std::span<const Array> leaves) = 0;
  /// Afterwards: the result's structure, by `new`, and which of its leaves are there.
  virtual void set_result(void* prototype, void (*destroy)(void*), const std::vector<bool>& present) = 0;

 protected:
  ~TraceRequest() = default;
};

/// One call of a jitted function, flat: nodes of all leaves (null where empty) and the static key.
struct JitCall {
  std::span<Node* const> nodes;
  const StaticKey* key;  // null if nothing is static
  const void* types;     // identifies the types of callable and arguments
  void* context;
  void (*trace)(void* context, TraceRequest& request);
  std::string (*describe)(void* context, std::size_t leaf);  // argument path of a leaf
};
/// Results: up to `small` in place.
struct JitResults {
  static constexpr std::size_t small = 8;
  Array in_place[small];
  std::vector<Array> many;
  std::size_t count = 0;
  const void* prototype = nullptr;
  const std::vector<bool>* present = nullptr;
  JitResults() = default;
  JitResults(const JitResults&) = delete;
  JitResults& operator=(const JitResults&) = delete;
  ~JitResults() {
    if (release_) release_(owner_);
  }
  /// Keeps what `prototype` and `present` belong to until the result is rebuilt.
  void keep(void* owner, void (*release)(void*)) {
    owner_ = owner;
    release_ = release;
  }
  std::span<const Array> arrays() const { return {count <= small ? in_place : many.data(), count}; }

 private:
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
};

/// The cache of one jitted function, shared by its copies.
class JitCore {
 public:
  explicit JitCore(const JitOptions& options, Loc loc = {});
  JitCore(const JitCore& other) noexcept;
  JitCore(JitCore&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
  JitCore& operator=(JitCore other) noexcept {
    auto* s = shared_;
    shared_ = other.shared_;
    other.shared_ = s;
    return *this;
  }
  ~JitCore();
  void call(const JitCall& call, JitResults& results) const;
  std::int64_t trace_count() const;

 private:
  struct Shared;
  Shared* shared_;
};

/// The leaves of callable and arguments as borrowed nodes, on the stack where their number is known.
template <int count>
struct NodeList {
  Node* nodes[count > 0 ? count : 1];
  std::size_t size = 0;
  void push(Node* n) { nodes[size++] = n; }
  std::span<Node* const> span() const { return {nodes, size}; }
};
template <>
struct NodeList<dynamic_count> {
  std::vector<Node*> nodes;
  void push(Node* n) { nodes.push_back(n); }
  std::span<Node* const> span() const { return nodes; }
};

template <class... T>
inline constexpr char type_list_identity = 0;

template <class F, class... A>
struct CallSite {
  using Flat = FlatFunction<F, A...>;
  using Result = typename Flat::Result;
  const F& f;
  const std::tuple<const A&...> args;

  static constexpr int leaf_total() {
    int total = is_tree_callable<F> ? count_leaves<F>() : 0;
    for (int n : {0, count_leaves<A>()...})
      total = total == dynamic_count || n == dynamic_count ? dynamic_count : total + n;
    return total;
  }
  static constexpr bool has_static = (has_key<A>() || ... || (is_tree_callable<F> && has_key<F>()));

  template <class Nodes>
  void collect(Nodes& nodes) const {
    auto push = [&nodes](const Array& a) { nodes.push(a.node()); };
    if constexpr (is_tree_callable<F>) for_each_leaf(f, push);
    std::apply([&](const A&... a) { (for_each_leaf(a, push), ...); }, args);
  }
  void append_key(StaticKey& key) const {
    if constexpr (is_tree_callable<F>) append_static_key(f, key);
    std::apply([&](const A&... a) { (append_static_key(a, key), ...); }, args);
  }
  static void trace(void* context, TraceRequest& request) {
    auto& site = *static_cast<CallSite*>(context);
    std::apply(
        [&](const A&... a) {
          Flat flat(site.f, a...);
          request.stage(callee_of(flat), flat.leaves());
          request.set_result(
              new Result(flat.prototype()), [](void* p) { delete static_cast<Result*>(p); }, flat.present());
        },
        site.args);
  }
  static std::string describe(void* context, std::size_t leaf) {
    auto& site = *static_cast<CallSite*>(context);
    if constexpr (is_tree_callable<F>) {
      if (std::size_t n = leaf_count(site.f); leaf < n)
        return leaf_path(tree_ref(site.f), leaf, "function");
      else
        leaf -= n;
    }
    std::string path;
    std::size_t number = 0;
    auto look = [&](const auto& a) {
      std::size_t n = leaf_count(a);
      if (path.empty() && leaf < n) path = leaf_path(tree_ref(a), leaf, "argument " + std::to_string(number));
      leaf -= path.empty() ? n : 0;
      ++number;
    };
    std::apply([&](const A&... a) { (look(a), ...); }, site.args);
    return path;
  }
  static Result rebuild(const JitResults& r) {
    if constexpr (std::is_same_v<Result, Array>) {
      return r.count ? r.arrays()[0] : Array();
    } else {
      Result out = *static_cast<const Result*>(r.prototype);
      std::size_t next = 0, place = 0;
      for_each_leaf(out, [&](Array& a) {
        if ((*r.present)[place++]) a = r.arrays()[next++];
      });
      return out;
    }
  }
};

}  // namespace detail

/// What `jit` returns; see there. Copies share one cache.
template <class F>
class Jitted : public detail::Transformed<Jitted<F>, F> {
 public:
  Jitted(F function, const JitOptions& options, Loc loc = {})
      : f_(static_cast<F&&>(function)), core_(options, loc) {}

  template <class... A>
  auto call(const A&... args) const {
    using Site = detail::CallSite<F, A...>;
    Site site{f_, {args...}};
    detail::NodeList<Site::leaf_total()> nodes;
    site.collect(nodes);
    detail::JitResults results;
    if constexpr (Site::has_static) {
      StaticKey key;
      site.append_key(key);
      core_.call(
          {nodes.span(), &key, &detail::type_list_identity<F, A...>, &site, Site::trace, Site::describe},
          results);
    } else {
      core_.call(
          {nodes.span(), nullptr, &detail::type_list_identity<F, A...>, &site, Site::trace, Site::describe},
          results);
    }
    return Site::rebuild(results);
  }
  const F& function() const { return f_; }
  /// How often the function was traced.
  std::int64_t trace_count() const { return core_.trace_count(); }

 private:
  F f_;
  detail::JitCore core_;
};

/// `f`, compiled: traced once for each combination of shapes, dtypes, static values and structure of its
/// arguments, then run as machine code. Arrays captured by a lambda are those of the time of tracing.
/// Decisions on traced values throw; see cond, where and while_loop.
template <class F>
Jitted<F> jit(F f, const JitOptions& options = {}, Loc loc = Loc::here()) {
  return Jitted<F>(static_cast<F&&>(f), options, loc);
}

namespace detail {

/// A traced call and its program, shared by the stages of ahead-of-time compilation.
class Stages {
 public:
  Stages() = default;
  explicit Stages(void* shared) : shared_(shared) {}
  Stages(const Stages& other) noexcept;
  Stages(Stages&& other) noexcept : shared_(other.shared_), build_(other.build_) { other.shared_ = nullptr; }
  Stages& operator=(Stages other) noexcept {
    void* s = shared_;
    shared_ = other.shared_;
    other.shared_ = s;
    build_ = other.build_;
    return *this;
  }
  ~Stages();

  static Stages trace(const JitCall& call, const char* name);
  Stages compile(const CompileOptions& options) const;
  void run(const JitCall& call, JitResults& results) const;
  std::string graph_text() const;
  std::string code_text() const;

 private:
  void* shared_ = nullptr;
  const void* build_ = nullptr;  // of `shared_`: the program compiled with some options
};

template <class F, class... A, class Use>
decltype(auto) with_call(const F& f, const Use& use, const A&... args) {
  using Site = CallSite<F, A...>;
  Site site{f, {args...}};
  NodeList<Site::leaf_total()> nodes;
  site.collect(nodes);
  StaticKey key;
  site.append_key(key);
  return use(JitCall{nodes.span(), &key, &type_list_identity<F, A...>, &site, Site::trace, Site::describe});
}

}  // namespace detail

/// A function compiled for one signature. Refuses arguments of another structure, shape, dtype or static
/// value, saying what differs.
template <class F, class... A>
class Compiled {
 public:
  Compiled(F f, detail::Stages stages)
      : f_(static_cast<F&&>(f)), stages_(static_cast<detail::Stages&&>(stages)) {}
  auto operator()(const A&... args) const {
    detail::JitResults results;
    detail::with_call(
        f_, [&](const detail::JitCall& call) { stages_.run(call, results); }, args...);
    return detail::CallSite<F, A...>::rebuild(results);
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
  Compiled<F, A...> compile(const CompileOptions& options = {}) const {
    return {f_, stages_.compile(options)};
  }
  /// The program, as it reads back.
  std::string text() const { return stages_.graph_text(); }

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

 private:
  F f_;
  detail::Stages stages_;
};

namespace detail {
template <class F, class... A>
Traced<F, A...> trace_call(const F& f, const A&... args) {
  return {f, with_call(
                 f, [](const JitCall& call) { return Stages::trace(call, "trace"); }, args...)};
}
}  // namespace detail

/// Traces any callable on these arguments, ahead of time. What wraps a jitted function is traced with its
/// wrapping.
template <class F, class... Args>
auto trace(const F& f, const Args&... args) {
  return detail::trace_call<std::decay_t<F>, detail::argument_t<Args>...>(f, args...);
}
/// Traces and lowers; `.compile()` follows.
template <class F, class... Args>
auto lower(const F& f, const Args&... args) {
  return trace(f, args...).lower();
}
/// The program that `f` is on these arguments, as text.
template <class F, class... Args>
std::string make_graph(const F& f, const Args&... args) {
  return trace(f, args...).text();
}

}  // namespace apsis
