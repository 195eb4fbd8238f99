#pragma once

// A function of the host as a value that programs hold: what callbacks and prints are made of.

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "apsis/base/keep_library.hpp"
#include "apsis/transform/function.hpp"

namespace apsis::detail {

/// A shared function on flat concrete arrays. Two are equal if their type is, and `key`, which holds all that
/// they depend on beside their arguments: so a function traced again is not compiled again.
class HostFunction {
 public:
  HostFunction() = default;
  /// `call(std::span<const Array> in, std::vector<Array>& out) const`.
  template <class Call>
  HostFunction(Call call, StaticKey key) {
    auto* held = new Held<Call>(static_cast<Call&&>(call));
    held->run = [](const Body& body, std::span<const Array> in, std::vector<Array>& out) {
      static_cast<const Held<Call>&>(body).call(in, out);
    };
    held->destroy = [](const Body* body) { delete static_cast<const Held<Call>*>(body); };
    keep_library(reinterpret_cast<const void*>(held->destroy));
    held->type = &identity<Call>;
    held->key = static_cast<StaticKey&&>(key);
    body_ = held;
  }
  HostFunction(const HostFunction& other) noexcept : body_(other.body_) {
    if (body_) body_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  HostFunction(HostFunction&& other) noexcept : body_(other.body_) { other.body_ = nullptr; }
  HostFunction& operator=(HostFunction other) noexcept {
    const Body* b = body_;
    body_ = other.body_;
    other.body_ = b;
    return *this;
  }
  ~HostFunction() {
    if (body_ && body_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) body_->destroy(body_);
  }

  void operator()(std::span<const Array> in, std::vector<Array>& out) const { body_->run(*body_, in, out); }
  std::uint64_t hash() const { return body_ ? body_->key.hash() : 0; }
  friend bool operator==(const HostFunction& a, const HostFunction& b) {
    return a.body_ == b.body_ ||
           (a.body_ && b.body_ && a.body_->type == b.body_->type && a.body_->key == b.body_->key);
  }

 private:
  struct Body {
    void (*run)(const Body&, std::span<const Array>, std::vector<Array>&);
    void (*destroy)(const Body*);
    const void* type;
    StaticKey key;
    mutable std::atomic<std::uint32_t> refs{1};
  };
  template <class Call>
  struct Held : Body {
    Call call;
    explicit Held(Call c) : call(static_cast<Call&&>(c)) {}
  };
  template <class Call>
  static constexpr char identity = 0;
  const Body* body_ = nullptr;
};

/// A number that no other callable has; copies share it.
std::uint64_t fresh_identity();
/// A stateless callable is known by its type.
template <class F>
std::uint64_t identity_of() {
  return std::is_empty_v<F> ? 0 : fresh_identity();
}

/// f(args…) on flat leaves, any number of calls at once. Its results must have the leaves of `like`.
template <class F, class Result, class... A>
struct HostCall {
  F f;
  std::tuple<A...> args;  // structure only: leaves are empty
  std::vector<bool> in_present, out_present;

  void operator()(std::span<const Array> in, std::vector<Array>& out) const {
    std::tuple<A...> filled = args;
    std::size_t next = 0, place = 0;
    auto fill = [&](Array& a) {
      if (in_present[place++]) a = in[next++];
    };
    std::apply([&](A&... a) { (for_each_leaf(a, fill), ...); }, filled);
    if constexpr (std::is_void_v<Result>) {
      std::apply(f, static_cast<const std::tuple<A...>&>(filled));
    } else {
      Result result = std::apply(f, static_cast<const std::tuple<A...>&>(filled));
      place = 0;
      for_each_leaf(result, [&](const Array& a) {
        // What is there is compared with what was declared; a leaf too few or too many ends up empty.
        if (place >= out_present.size() || out_present[place] || !a.is_empty()) out.push_back(a);
        ++place;
      });
    }
  }
};

template <class T>
void mark_present(const T& tree, std::vector<bool>& present) {
  for_each_leaf(tree, [&](const Array& a) { present.push_back(!a.is_empty()); });
}

/// `like`: a tree of the result's type, whose arrays tell shapes and dtypes; ignored for void. `identity`: of
/// `f`.
template <class Result, class F, class Like, class... A>
HostFunction host_function(const F& f, std::uint64_t identity, const Like& like, const A&... args) {
  HostCall<F, Result, A...> call{f, std::tuple<A...>(checked(args)...), {}, {}};
  (mark_present(args, call.in_present), ...);
  std::apply([](A&... a) { (clear_leaves(a), ...); }, call.args);
  if constexpr (!std::is_void_v<Result>) mark_present(like, call.out_present);
  StaticKey key;
  key.append_value(identity);
  (append_static_key(args, key), ...);
  for (bool there : call.in_present) key.append_value(there);
  for (bool there : call.out_present) key.append_value(there);
  return HostFunction(static_cast<HostCall<F, Result, A...>&&>(call), static_cast<StaticKey&&>(key));
}

}  // namespace apsis::detail
