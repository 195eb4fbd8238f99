#pragma once

// What a jitted function hands to the compiled core for one call, and what it gets back.

#include <atomic>
#include <memory>

#include "apsis/transform/transformed.hpp"

namespace apsis::detail {

/// What the core asks of the call site when a call must be traced.
class TraceRequest {
 public:
  /// Runs the function on tracers (or directly, where compilation is off).
  virtual void stage(const Callee& callee, std::span<const Array> leaves) = 0;
  /// Afterwards: the result's structure, what copies (by `new`) and destroys it, and which of its leaves are
  /// there.
  virtual void set_result(const void* prototype, void* (*copy)(const void*), void (*destroy)(void*),
                          const std::vector<bool>& present) = 0;

 protected:
  ~TraceRequest() = default;
};

/// What is known of a call site at compile time. Its address stands for the types of callable and arguments.
struct CallSiteType {
  void (*trace)(void* site, TraceRequest& request);
  /// The callable if it is a tree, then the arguments.
  void (*trees)(const void* site, std::vector<ConstTreeRef>& trees);
  bool function_is_tree;
};

/// One call of a jitted function, flat: nodes of all leaves (null where empty) and the static key.
struct JitCall {
  std::span<Node* const> nodes;
  const StaticKey* key;  // null if nothing is static
  const CallSiteType* type;
  void* site;
  Array* const* given_up = nullptr;  // by node: the caller's Array where it was moved into the call
};

/// What a thread uses without owning it: a stack of addresses, read by those who would free them.
struct InUse {
  static constexpr int capacity = 15;
  int depth = 0;
  std::atomic<const void*> slots[capacity] = {};
};

/// Results, in the caller's place if they fit there.
struct JitResults {
  std::size_t count = 0;
  const void* prototype = nullptr;
  const std::vector<bool>* present = nullptr;
  explicit JitResults(std::span<Array> place) : place_(place) {}
  JitResults(const JitResults&) = delete;
  JitResults& operator=(const JitResults&) = delete;
  ~JitResults() {
    if (in_use_) in_use_->slots[--in_use_->depth].store(nullptr, std::memory_order_release);
    if (release_) release_(owner_);
  }
  /// Keeps what `prototype` and `present` belong to until the result is rebuilt.
  void keep(void* owner, void (*release)(void*)) {
    owner_ = owner;
    release_ = release;
  }
  /// The same without a reference: pushes a slot, freed with this object.
  std::atomic<const void*>& borrow(InUse& in_use) {
    in_use_ = &in_use;
    return in_use.slots[in_use.depth++];
  }
  void give_back() {
    in_use_->slots[--in_use_->depth].store(nullptr, std::memory_order_release);
    in_use_ = nullptr;
  }
  Array* slots(std::size_t n) {
    count = n;
    if (n > place_.size()) {
      many_ = std::make_unique<Array[]>(n);
      place_ = {many_.get(), n};
    }
    return place_.data();
  }
  Array* arrays() { return place_.data(); }

 private:
  std::span<Array> place_;
  std::unique_ptr<Array[]> many_;
  InUse* in_use_ = nullptr;
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
};

/// The leaves of callable and arguments as borrowed nodes, on the stack where their number is known.
template <int count, class T = Node>
struct NodeList {
  T* nodes[count > 0 ? count : 1];
  std::size_t size = 0;
  void push(T* n) { nodes[size++] = n; }
  std::span<T* const> span() const { return {nodes, size}; }
};
template <class T>
struct NodeList<dynamic_count, T> {
  std::vector<T*> nodes;
  void push(T* n) { nodes.push_back(n); }
  std::span<T* const> span() const { return nodes; }
};

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
  /// Results that a call has a place for.
  static constexpr int result_place() {
    constexpr int most = 8, leaves = count_leaves<Result>();
    return leaves == dynamic_count || leaves > most ? most : leaves > 0 ? leaves : 1;
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
              &flat.prototype(),
              [](const void* p) -> void* { return new Result(*static_cast<const Result*>(p)); },
              [](void* p) { delete static_cast<Result*>(p); }, flat.present());
        },
        site.args);
  }
  static void trees(const void* context, std::vector<ConstTreeRef>& out) {
    auto& site = *static_cast<const CallSite*>(context);
    if constexpr (is_tree_callable<F>) out.push_back(tree_ref(site.f));
    std::apply([&](const A&... a) { (out.push_back(tree_ref(a)), ...); }, site.args);
  }
  /// Moves the results out.
  static Result rebuild(JitResults& r) {
    Array* arrays = r.arrays();
    if constexpr (std::is_same_v<Result, Array>) {
      return r.count ? static_cast<Array&&>(arrays[0]) : Array();
    } else {
      Result out = *static_cast<const Result*>(r.prototype);
      std::size_t next = 0, place = 0;
      for_each_leaf(out, [&](Array& a) {
        if ((*r.present)[place++]) a = static_cast<Array&&>(arrays[next++]);
      });
      return out;
    }
  }
  static constexpr CallSiteType type{&CallSite::trace, &CallSite::trees, is_tree_callable<F>};
};

/// Flattens a call and hands it to `use`, which takes a JitCall and the JitResults it fills in; returns the
/// result.
template <class F, class... A, class Use>
[[gnu::always_inline]] inline auto with_call(const F& f, const Use& use, const A&... args) {
  using Site = CallSite<F, A...>;
  Site site{f, {args...}};
  NodeList<Site::leaf_total()> nodes;
  site.collect(nodes);
  Array place[Site::result_place()];
  JitResults results(place);
  if constexpr (Site::has_static) {
    StaticKey key;
    site.append_key(key);
    use(JitCall{nodes.span(), &key, &Site::type, &site}, results);
  } else {
    use(JitCall{nodes.span(), nullptr, &Site::type, &site}, results);
  }
  return Site::rebuild(results);
}

template <class A>
inline constexpr bool is_given_up =
    !std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>> &&
    count_leaves<std::decay_t<A>>() != 0;

/// Whether a call with arguments of these types (`A` for an rvalue, `A&` for others) gives some of them up,
/// and needs no conversion that would make it a copy.
template <class F, class... A>
constexpr bool gives_up() {
  if constexpr (!(is_admitted_tree<std::decay_t<A>> && ...) || !is_transformable<F>() || returns_nothing<F>) {
    return false;  // the other call says why
  } else if constexpr (!(is_given_up<A> || ...)) {
    return false;
  } else if constexpr (std::is_void_v<parameters_of<F>>) {
    return (std::is_same_v<argument_t<A>, std::decay_t<A>> && ...);
  } else {
    return []<class... P>(TypeList<P...>) {
      if constexpr (sizeof...(P) == sizeof...(A))
        return (std::is_same_v<std::decay_t<P>, std::decay_t<A>> && ...);
      return false;
    }(parameters_of<F>{});
  }
}

/// The same for a call whose rvalue arguments are given up.
template <class F, class Use, class... A>
auto with_given_call(const F& f, const Use& use, A&&... args) {
  using Site = CallSite<F, std::decay_t<A>...>;
  Site site{f, {args...}};
  NodeList<Site::leaf_total()> nodes;
  site.collect(nodes);
  NodeList<Site::leaf_total(), Array> given;
  auto keep = [&given](const auto& tree) {
    for_each_leaf(tree, [&given](const Array&) { given.push(nullptr); });
  };
  if constexpr (is_tree_callable<F>) keep(f);
  auto collect = [&]<class Argument>(std::remove_reference_t<Argument>& argument,
                                     std::type_identity<Argument>) {
    if constexpr (is_given_up<Argument>)
      for_each_leaf(argument, [&given](Array& a) { given.push(&a); });
    else
      keep(argument);
  };
  (collect(args, std::type_identity<A>{}), ...);
  StaticKey key;
  site.append_key(key);
  Array place[Site::result_place()];
  JitResults results(place);
  use(JitCall{nodes.span(), Site::has_static ? &key : nullptr, &Site::type, &site, given.span().data()},
      results);
  return Site::rebuild(results);
}

}  // namespace apsis::detail
