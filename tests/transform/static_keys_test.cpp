// Every static value is part of the key: two values are two programs, whichever way they enter.

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>

#include "transform/checks.hpp"

namespace foreign {
struct Grid {
  int rows, columns;
  apsis::Array values;
};
}  // namespace foreign
template <>
struct apsis::tree_trait<foreign::Grid> {
  static constexpr const char* names = "rows, columns, values";
  static constexpr auto fields(auto& self, auto&& visit) {
    return visit(self.rows, self.columns, self.values);
  }
};

namespace apsis::testing {
namespace {

const Array x = array({1., 2., 3.});

/// Calls a jitted function, and one compiled ahead of time, with two values of a static argument.
template <class T>
void expect_two_programs(const T& a, const T& b) {
  auto f = jit([](const Array& y, const T&) { return 2. * y; });
  f(x, a);
  f(x, T(a));
  EXPECT_EQ(f.trace_count(), 1) << "equal values are one program";
  f(x, b);
  EXPECT_EQ(f.trace_count(), 2) << "another value is another program";
  f(x, a);
  EXPECT_EQ(f.trace_count(), 2);
  auto ready = compile([](const Array& y, const T&) { return 2. * y; }, x, a);
  ready(x, a);
  EXPECT_THROW(ready(x, b), Error);
}

enum class Mode { Fast, Exact };
struct Options {
  int steps = 1;
  bool exact = false;
  Mode mode = Mode::Fast;
  std::string name = "a";
  friend bool operator==(const Options&, const Options&) = default;
};
class Limits {
  APSIS_FIELDS(Limits, low_, high_)

 public:
  Limits(int low, int high) : low_(low), high_(high) {}

 private:
  int low_, high_;
};
int plus(int a) { return a + 1; }
int minus(int a) { return a - 1; }
struct Axis {
  int first(int) const { return 0; }
  int second(int) const { return 1; }
  int a = 0, b = 0;
};

TEST(StaticKeys, HoldPlainValues) {
  expect_two_programs(1, 2);
  expect_two_programs(true, false);
  expect_two_programs('a', 'b');
  expect_two_programs(std::uint64_t{1}, std::uint64_t{1} << 63);
  expect_two_programs(Mode::Fast, Mode::Exact);
  expect_two_programs(std::string("a"), std::string("b"));
  expect_two_programs(std::string("a"), std::string("a\0", 2));
  expect_two_programs(std::u16string(u"a"), std::u16string(u"b"));
  expect_two_programs(&plus, &minus);
  expect_two_programs(&Axis::first, &Axis::second);
  expect_two_programs(&Axis::a, &Axis::b);
}

TEST(StaticKeys, HoldStatics) {
  expect_two_programs(Static(1.), Static(2.));
  expect_two_programs(Static(0.), Static(-0.));
  expect_two_programs(Static(1.f), Static(2.f));
  expect_two_programs(Static(1.L), Static(2.L));
  expect_two_programs(Static(std::string("a")), Static(std::string("b")));
  expect_two_programs(Static(std::vector{1., 2.}), Static(std::vector{1., 3.}));
  expect_two_programs(Static(std::vector{1., 2.}), Static(std::vector{1., 2., 3.}));
  expect_two_programs(Static(std::vector{true, false}), Static(std::vector{true, true}));
  expect_two_programs(Static(Options{}), Static(Options{.steps = 2}));
  expect_two_programs(Static(Options{}), Static(Options{.name = "b"}));
  expect_two_programs(Static(std::map<std::string, double>{{"a", 1.}}),
                      Static(std::map<std::string, double>{{"a", 2.}}));
  expect_two_programs(Static(std::map<std::string, double>{{"a", 1.}}),
                      Static(std::map<std::string, double>{{"b", 1.}}));
  expect_two_programs(Static(std::optional<double>()), Static(std::optional<double>(0.)));
  expect_two_programs(Static(std::variant<int, double>(1)), Static(std::variant<int, double>(1.)));
  expect_two_programs(Static(std::pair(1, 2.)), Static(std::pair(1, 3.)));
  expect_two_programs(Static(Limits(1, 2)), Static(Limits(1, 3)));
  expect_two_programs(Static(&plus), Static(&minus));
}

TEST(StaticKeys, HoldMembersAndContainers) {
  expect_two_programs(Options{}, Options{.exact = true});
  expect_two_programs(Options{}, Options{.mode = Mode::Exact});
  expect_two_programs(Limits(1, 2), Limits(2, 2));
  expect_two_programs(foreign::Grid{1, 2, x}, foreign::Grid{2, 1, x});
  expect_two_programs(std::vector{1, 2}, std::vector{1, 3});
  expect_two_programs(std::vector<std::vector<int>>{{1}, {2, 3}}, std::vector<std::vector<int>>{{1, 2}, {3}});
  expect_two_programs(std::vector<std::string>{"a", "bc"}, std::vector<std::string>{"ab", "c"});
  expect_two_programs(std::deque{1, 2}, std::deque{1, 3});
  expect_two_programs(std::list{1, 2}, std::list{2, 1});
  expect_two_programs(std::array{1, 2}, std::array{1, 3});
  expect_two_programs(std::tuple(1, Options{}), std::tuple(1, Options{.steps = 3}));
  expect_two_programs(std::optional<int>(), std::optional<int>(0));
  expect_two_programs(std::variant<int, bool>(1), std::variant<int, bool>(true));
  expect_two_programs(std::map<int, Array>{{1, x}}, std::map<int, Array>{{2, x}});
  expect_two_programs(std::map<std::string, int>{{"a", 1}}, std::map<std::string, int>{{"a", 2}});
  expect_two_programs(std::unordered_map<std::string, Array>{{"a", x}},
                      std::unordered_map<std::string, Array>{{"b", x}});
  expect_two_programs(std::make_shared<const Options>(),
                      std::make_shared<const Options>(Options{.steps = 9}));
}

TEST(StaticKeys, HoldErasedTreesAndFunctions) {
  expect_two_programs(AnyTree(1), AnyTree(2));
  expect_two_programs(AnyTree(1), AnyTree(true));
  expect_two_programs(AnyTree(), AnyTree(Options{}));
  auto f = [](const Array& a) { return a * 2.; };
  expect_two_programs(vmap(f, {.in_axes = 0}), vmap(f, {.in_axes = 1}));
  expect_two_programs(vmap(f, {.axis_name = "i"}), vmap(f, {.axis_name = "j"}));
  auto scaled = [](int n, const Array& a) { return n * a; };
  expect_two_programs(Partial{scaled, 1}, Partial{scaled, 2});
  auto first = [k = 1.](const Array& a) { return k * a; };
  expect_two_programs(jit(first), jit(first));  // what they capture is theirs
  expect_two_programs(closure_convert([](const Array& a) { return 2. * a; }, x),
                      closure_convert([](const Array& a) { return 3. * a; }, x));
}

}  // namespace
}  // namespace apsis::testing
