// Tables of methods: a damaged one is refused before a step reads it.

#include <cmath>
#include <random>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const RungeKutta* const methods[] = {&Euler::method(), &Heun::method(),   &Bosh3::method(),
                                     &Tsit5::method(), &Dopri5::method(), &Dopri8::method(),
                                     &Vern7::method(), &Vern9::method()};

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
    RungeKutta table = *methods[random() % 6];
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
    Own::method() = *methods[random() % 6];
    for (unsigned n = 1 + random() % 4; n > 0; --n) damage(Own::method(), random);
    if (random() % 20 == 0) Own::method() = RungeKutta{};
    (void)error_of_call([] {
      diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Own{}, 0., 1., 0.5, array({1.}),
                  {.saveat = {.ts = {0.3}}, .throw_ = false});
    });
  }
}

std::string error_of_implicit(const DiagonallyImplicitRungeKutta& table) {
  return error_of_call([&] { check_table(table); });
}

// Each way a table of an implicit method can be wrong.
TEST(Tables, ImplicitOnesAreChecked) {
  using Table = DiagonallyImplicitRungeKutta;
  for (const Table* m :
       {&ImplicitEuler::method(), &Kvaerno3::method(), &Kvaerno4::method(), &Kvaerno5::method(),
        &KenCarp3::method(), &KenCarp4::method(), &KenCarp5::method(), &Sil3::method()})
    EXPECT_EQ(error_of_implicit(*m), "") << m->name;
  const auto damaged = [](void (*damage)(Table&)) {
    Table t = KenCarp4::method();
    damage(t);
    return error_of_implicit(t);
  };
  EXPECT_EQ(damaged([](Table& t) { t.a[2].pop_back(); }), "table_size");
  EXPECT_EQ(damaged([](Table& t) { t.predictor.pop_back(); }), "table_size");
  EXPECT_EQ(damaged([](Table& t) { t.dense.clear(); }), "");  // then it is the cubic through both ends
  EXPECT_EQ(damaged([](Table& t) { t.dense[0].pop_back(); }), "table_size");
  EXPECT_EQ(damaged([](Table& t) { t.explicit_b = {1}; }), "table_size");
  EXPECT_EQ(damaged([](Table& t) { t.b = {1}; }), "table_size");
  EXPECT_EQ(damaged([](Table& t) { t.explicit_a[3][1] += 1e-6; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { (t.explicit_b = t.b)[0] += 1e-6; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.a[3][3] += 1e-6; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.a[0][0] = 0.1; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.predictor[4][0] = 0; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.error[0] = 0; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.dense[1][0] = NAN; }), "table_value");
  EXPECT_EQ(damaged([](Table& t) { t.first_same_as_last = true; }), "table_value");
  Table raised = Kvaerno3::method();
  raised.order = 0;
  EXPECT_EQ(error_of_implicit(raised), "table_value");
}

TEST(Tables, RosenbrockAndSymplecticOnesAreChecked) {
  const auto rosenbrock = [](void (*damage)(Rosenbrock&)) {
    Rosenbrock t = Rodas5P::method();
    damage(t);
    return error_of_call([&] { check_table(t); });
  };
  EXPECT_EQ(rosenbrock([](Rosenbrock&) {}), "");
  EXPECT_EQ(rosenbrock([](Rosenbrock& t) { t.coupling[3].pop_back(); }), "table_size");
  EXPECT_EQ(rosenbrock([](Rosenbrock& t) { t.coupling[3][0] += 1e-6; }), "table_value");
  EXPECT_EQ(rosenbrock([](Rosenbrock& t) { t.c[2] += 1e-6; }), "table_value");
  EXPECT_EQ(rosenbrock([](Rosenbrock& t) { t.gamma = -1; }), "table_value");
  const auto composition = [](void (*damage)(SymplecticComposition&)) {
    SymplecticComposition t = Yoshida4::method();
    damage(t);
    return error_of_call([&] { check_table(t); });
  };
  EXPECT_EQ(composition([](SymplecticComposition&) {}), "");
  EXPECT_EQ(composition([](SymplecticComposition& t) { t.kick_time.pop_back(); }), "table_size");
  EXPECT_EQ(composition([](SymplecticComposition& t) { t.kick[0] += 1e-6; }), "table_value");
  EXPECT_EQ(composition([](SymplecticComposition& t) { std::swap(t.kick[0], t.kick[1]); }), "table_value");
  EXPECT_EQ(composition([](SymplecticComposition& t) { t.drift[1] = NAN; }), "table_value");
}

}  // namespace
}  // namespace apsis::testing
