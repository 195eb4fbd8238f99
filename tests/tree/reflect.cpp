#include "apsis/tree/reflect.hpp"

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "apsis/tree/fields.hpp"
#include "apsis/tree/static.hpp"
#include "leaf.hpp"

namespace {

using apsis::Static;
using apsis::detail::field_count;
using apsis::detail::field_name;

struct Nothing {};
struct One {
  Probe x;
};
struct Pair {
  Probe x, y;
};
struct Deep {
  Pair p;
  One o;
  std::array<Pair, 3> a;
  Probe last;
};
enum class Mode { Fast, Slow };

/// A member of type M between two leaves: is it counted as one?
template <class M>
struct Between {
  Probe before;
  M member;
  Probe after;
};
template <class... M>
constexpr bool all_count_three = ((field_count<Between<M>> == 3) && ...);

TEST(Reflect, CountsEveryKindOfMemberAsOne) {
  auto stateless = [](Probe p) { return p; };
  static_assert(field_count<Nothing> == 0);
  static_assert(field_count<One> == 1);
  static_assert(field_count<Deep> == 4);
  static_assert(
      all_count_three<Probe, Nothing, One, Pair, Deep, int, bool, double, Mode, Static<double>, std::string,
                      std::string_view, std::vector<Probe>, std::vector<Pair>, std::vector<std::vector<One>>,
                      std::vector<int>, std::vector<bool>, std::array<Probe, 1>, std::array<Probe, 4>,
                      std::array<std::array<Pair, 2>, 2>, decltype(stateless), Probe (*)(Probe)>);
  static_assert(
      all_count_three<std::optional<Probe>, std::optional<Pair>, std::optional<std::optional<Probe>>,
                      std::optional<std::string>, std::optional<std::vector<Probe>>, std::tuple<>,
                      std::tuple<Probe>, std::tuple<int>, std::tuple<Probe, Pair>, std::pair<Probe, Probe>,
                      std::variant<Probe, int>, std::variant<Pair>, std::variant<std::monostate, One>,
                      std::map<std::string, Probe>, std::unique_ptr<Pair>, std::shared_ptr<const Pair>,
                      std::any, std::function<void()>, std::vector<std::any>, std::tuple<std::any>>);
}

struct Sixteen {
  Probe a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
template <int>
struct Filler {
  Probe x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21;
  Probe y0, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20, y21;
  Probe z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15, z16, z17, z18;
  Pair last;
};

TEST(Reflect, CountsUpToSixtyFour) {
  static_assert(field_count<Sixteen> == 16);
  static_assert(field_count<Filler<0>> == 64);
  EXPECT_EQ((field_name<Filler<0>, 0>()), "x0");
  EXPECT_EQ((field_name<Filler<0>, 62>()), "z18");
  EXPECT_EQ((field_name<Filler<0>, 63>()), "last");
}

struct NoDefault {
  explicit NoDefault(int) {}
};
struct HoldsNoDefault {
  Probe a;
  NoDefault b;
  Probe c;
};

TEST(Reflect, CountsMembersWithoutDefault) { static_assert(field_count<HoldsNoDefault> == 3); }

struct Greedy {
  template <class T>
  Greedy(T) {}
  Greedy() = default;
};
struct GreedyFirst {
  Greedy a;
  Probe b;
  Greedy c, d;
  Pair e;
};

TEST(Reflect, CountsMembersMadeOfAnything) {
  static_assert(field_count<GreedyFirst> == 5);
  static_assert(field_count<Between<Greedy>> == 3);
  EXPECT_EQ((field_name<GreedyFirst, 4>()), "e");
}

struct Callable {
  Probe gain;
  int order_2;
  std::vector<Probe> _bias;
  Probe operator()(const Probe& x) const { return x.value() * gain.value(); }
};
template <class F>
struct Wrapper {
  F function;
  Probe scale;
  template <class T>
  T operator()(T x) const {
    return x;
  }
};
struct Outer {
  struct Inner {
    Probe weight_10;
    std::string name;
  };
};

template <class T>
std::vector<std::string> names() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return std::vector<std::string>{std::string(field_name<T, i>())...};
  }
  (std::make_index_sequence<field_count<T>>{});
}
using Names = std::vector<std::string>;

TEST(Reflect, NamesMembers) {
  EXPECT_EQ(names<Callable>(), (Names{"gain", "order_2", "_bias"}));
  EXPECT_EQ(names<Outer::Inner>(), (Names{"weight_10", "name"}));
  EXPECT_EQ(names<Wrapper<Callable>>(), (Names{"function", "scale"}));
  EXPECT_EQ((names<Wrapper<std::tuple<int, std::map<int, Probe>>>>()), (Names{"function", "scale"}));
}

TEST(Reflect, NamesMembersOfLocalTypes) {
  struct Local {
    Probe alpha;
    Mode mode;
    Probe operator()() const { return alpha; }
  };
  EXPECT_EQ(names<Local>(), (Names{"alpha", "mode"}));
  EXPECT_EQ(names<Wrapper<Local>>(), (Names{"function", "scale"}));
  auto inside = [](auto x) {
    struct InLambda {
      Probe beta;
      decltype(x) value;
    };
    return names<InLambda>();
  };
  EXPECT_EQ(inside(1), (Names{"beta", "value"}));
}

class Private {
  APSIS_FIELDS(Private, first_, second_)
  Probe first_, second_;

 public:
  Private(double a, double b) : first_(a), second_(b) {}
};
struct Base {
  Probe in_base;
};
struct Derived : Base {
  APSIS_FIELDS(Derived, Base::in_base, own)
  Probe own;
};

TEST(Reflect, ListedFieldsHaveNames) {
  EXPECT_EQ((field_name<Private, 0>()), "first_");
  EXPECT_EQ((field_name<Private, 1>()), "second_");
  EXPECT_EQ((field_name<Derived, 0>()), "in_base");
  EXPECT_EQ((field_name<Derived, 1>()), "own");
}

TEST(Reflect, ShortTypeNames) {
  using apsis::type_name;
  using apsis::detail::short_type_name;
  auto lambda = [](std::vector<int>) {};
  struct Local {};
  EXPECT_EQ(short_type_name(type_name<Outer::Inner>()), "Inner");
  EXPECT_EQ(short_type_name(type_name<Wrapper<Outer::Inner>>()), "Wrapper");
  EXPECT_EQ(short_type_name(type_name<Local>()), "Local");
  EXPECT_EQ(short_type_name(type_name<decltype(lambda)>()), "lambda");
  EXPECT_EQ(short_type_name(type_name<int>()), "int");
  EXPECT_EQ(short_type_name(type_name<std::string>()), "string");
}

}  // namespace
