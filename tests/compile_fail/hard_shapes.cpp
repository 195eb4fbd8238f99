// compiles
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <variant>

#include "apsis/core/array.hpp"
#include "apsis/tree/at.hpp"
#include "apsis/tree/filter.hpp"
#include "apsis/tree/print.hpp"

using apsis::Array;

namespace {

template <class F>
struct Term {
  F field;
  Array operator()(const Array& t, const Array& y) const { return field(t, y); }
  template <class T>
  T operator()(T x) const {
    return x;
  }
};
struct Inner {
  Array x;
  struct Deeper {
    std::array<std::array<Array, 2>, 2> grid;
    std::optional<std::optional<Array>> maybe;
  } deeper;
};
struct Recursive {
  Array value;
  std::vector<Recursive> children;
  std::unique_ptr<Recursive> next;
};
template <class T>
void exercise(T tree) {
  apsis::StaticKey key;
  apsis::append_static_key(tree, key);
  apsis::for_each_leaf(tree, [](Array&) {});
  (void)apsis::to_string(tree);
  if constexpr (std::is_copy_constructible_v<T>) {
    auto [leaves, def] = apsis::flatten(tree);
    tree = apsis::unflatten<T>(def, leaves);
    tree = apsis::filter(tree, [](const Array& x) { return !x.is_empty(); });
  }
}

}  // namespace

void use() {
  auto stateless = [](const Array&, const Array& y) { return y; };
  struct Local {
    Array a;
    Array operator()() const { return a; }
    int n;
  };
  exercise(Term<decltype(stateless)>{});
  exercise(Term<Array (*)(const Array&, const Array&)>{});
  exercise(Inner{});
  exercise(Recursive{});
  exercise(Local{});
  exercise(Term<Local>{});
  exercise(std::variant<Inner, Local, std::monostate>{});
  exercise(std::map<std::string, std::pair<Array, Local>>{});
  exercise(std::tuple<Array, std::vector<Local>, std::shared_ptr<const Inner>>{});
  (void)[](auto x) {
    struct InGeneric {
      decltype(x) member;
      Array a;
    };
    exercise(InGeneric{});
  }
  (1);
}
