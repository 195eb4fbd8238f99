// Tables of methods: a damaged one is refused before a step reads it, and the methods here have their orders.

#include <cmath>
#include <random>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const RungeKutta* const methods[] = {&Euler::method(), &Heun::method(), &Bosh3::method(), &Tsit5::method(),
                                     &Dopri5::method()};

struct Own {
  static RungeKutta& method() {
    static RungeKutta table;
    return table;
  }
};

std::string error_of_table(const RungeKutta& table) {
  return error_of_call([&] { check_table(table); });
}

/// A row of the table, any.
std::vector<double>& row_of(RungeKutta& t, std::mt19937& random) {
  std::vector<std::vector<double>*> rows{&t.c, &t.b};
  if (!t.error.empty()) rows.push_back(&t.error);
  for (auto& row : t.a) rows.push_back(&row);
  for (auto& row : t.dense) rows.push_back(&row);
  return *rows[random() % rows.size()];
}

/// One damage; false if this one is none to this table.
bool damage(RungeKutta& t, std::mt19937& random) {
  auto& row = row_of(t, random);
  switch (random() % 9) {
    case 0:
      row.push_back(0.5);
      return true;
    case 1:
      if (row.empty() || (&row == &t.error && row.size() == 1)) return false;
      row.pop_back();
      return true;
    case 2:
    case 3: {
      if (row.empty()) return false;
      const double by[] = {1e-6, -1e-3, 0.5, -1., 1e6};
      row[random() % row.size()] += by[random() % 5];
      return true;
    }
    case 4:
      if (row.empty()) return false;
      row[random() % row.size()] = random() % 2 ? NAN : INFINITY;
      return true;
    case 5:
      if (t.a.empty()) return false;
      t.a.pop_back();
      return true;
    case 6:
      t.a.emplace_back();
      return true;
    case 7:
      if (t.first_same_as_last) return false;
      t.first_same_as_last = true;
      return true;
    default:
      if (random() % 2) {
        t.dense.clear();
      } else {
        t.order = random() % 2 ? 0 : t.order + 1;
        if (t.order > 4) return false;  // conditions are looked at up to order 4
      }
      return true;
  }
}

TEST(Tables, OneDamageIsRefused) {
  for (const RungeKutta* m : methods) EXPECT_EQ(error_of_table(*m), "") << m->name;
  int damaged = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    RungeKutta table = *methods[random() % 5];
    if (!damage(table, random)) continue;
    ++damaged;
    const std::string id = error_of_table(table);
    EXPECT_TRUE(id == "table_size" || id == "table_value") << "seed " << seed << " of " << table.name;
  }
  EXPECT_GT(damaged, 3000);
}

// Whatever is damaged, a solve ends in a result or an error.
TEST(Tables, NoDamageEndsTheProcess) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Own::method() = *methods[random() % 5];
    for (unsigned n = 1 + random() % 4; n > 0; --n) damage(Own::method(), random);
    if (random() % 20 == 0) Own::method() = RungeKutta{};
    (void)error_of_call([] {
      diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Own{}, 0., 1., 0.5, array({1.}),
                  {.saveat = {.ts = {0.3}}, .throw_ = false});
    });
  }
}

/// An own method beside those of the library, as its comment has it.
struct Midpoint {
  static const RungeKutta& method() {
    static const RungeKutta table{.name = "Midpoint",
                                  .order = 2,
                                  .c = {0, 0.5},
                                  .a = {{}, {0.5}},
                                  .b = {0, 1},
                                  .dense = linear_output({0, 1})};
    return table;
  }
};

/// y' = y cos t, y(0) = 1: y = exp(sin t).
template <class Method>
double error_at(double t1, std::int64_t steps, bool inside) {
  const auto field = [](const Array& t, const Array& y) { return y * cos(t); };
  SaveAt save;
  if (inside) save.ts = linspace(0., t1, 8 * steps + 1);  // the same parts of each step, however long
  const auto sol = diffeqsolve(ODETerm{field}, Method{}, 0., t1, t1 / static_cast<double>(steps), array(1.),
                               {.saveat = save});
  return max(abs(sol.ys - exp(sin(sol.ts)))).template item<double>();
}

/// The order that errors at steps h, h/2 and h/4 show. With the error C h^p (1 + D h + …) the slope between
/// two of them is p + O(h); the combination of both slopes takes that term out, which leaves O(h²).
template <class Method>
double order_of(bool inside) {
  // h = 1/32; 1/8 for order 5, whose errors are then still far above rounding at h / 4.
  const std::int64_t steps = Method::method().order < 5 ? 96 : 24;
  const double coarse = error_at<Method>(3., steps, inside), middle = error_at<Method>(3., 2 * steps, inside),
               fine = error_at<Method>(3., 4 * steps, inside);
  return 2 * std::log2(middle / fine) - std::log2(coarse / middle);
}

/// `output`: the order of what is saved between the ends; a quartic is off by the fifth power of a step,
/// once.
template <class Method>
void expect_order(int output) {
  SCOPED_TRACE(Method::method().name);
  // What is left is of the order of h², at most 1/64.
  EXPECT_NEAR(order_of<Method>(false), Method::method().order, 0.05);
  EXPECT_NEAR(order_of<Method>(true), output, 0.05);
}

TEST(Tables, SolversHaveTheirOrders) {
  expect_order<Euler>(1);
  expect_order<Heun>(2);
  expect_order<Bosh3>(3);
  expect_order<Tsit5>(5);
  expect_order<Dopri5>(5);
  expect_order<Midpoint>(2);
}

}  // namespace
}  // namespace apsis::testing
