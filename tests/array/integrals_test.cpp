// Functions that are integrals against mpmath.

#include <set>

#include "apsis/array/special.hpp"
#include "apsis/debug/assert_gradients.hpp"
#include "array/worst_errors.hpp"

namespace apsis::testing {
namespace {

/// Bounds in ULP; of zeta more where s log q is large.
const std::map<std::string, double> bounds{{"i0", 8},     {"i1", 8},    {"i0e", 6},  {"i1e", 6},
                                           {"erfcx", 8},  {"dawsn", 6}, {"exp1", 8}, {"expi", 8},
                                           {"spence", 8}, {"zeta", 8}};

Table integrals() {
  auto near = [](auto f) { return unary(f, 4e-15); };
  return {
      {"i0", near([](const Array& x) { return special::i0(x); })},
      {"i1", near([](const Array& x) { return special::i1(x); })},
      {"i0e", near([](const Array& x) { return special::i0e(x); })},
      {"i1e", near([](const Array& x) { return special::i1e(x); })},
      {"erfcx", near([](const Array& x) { return special::erfcx(x); })},
      {"dawsn", near([](const Array& x) { return special::dawsn(x); })},
      {"exp1", near([](const Array& x) { return special::exp1(x); })},
      {"expi", near([](const Array& x) { return special::expi(x); })},
      {"spence", near([](const Array& x) { return special::spence(x); })},
      {"zeta", binary([](const Array& s, const Array& q) { return special::zeta(s, q); }, 4e-15)},
  };
}

TEST(ArrayRoom, Integrals) { check_file("integrals", integrals()); }

TEST(ArrayRoom, IntegralsToTheLastPlaces) {
  const Table table = integrals();
  std::set<std::string> measured;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_integrals.txt")) {
    if (c["y0"].dtype != "f64" || !c.has("ct0")) continue;
    const Function& f = table.at(c.name);
    const Arrays x = golden::inputs_of(c);
    measured.insert(c.name);
    const std::vector<double> errors = measure(c, f, as_text(bounds.at(c.name)));
    for (std::size_t i = 0; i < errors.size(); ++i)
      EXPECT_LE(errors[i], bounds.at(c.name)) << c.name << " at " << arguments_at(x, i);
    if (c.text.contains("smooth_to"))
      assert_numerical_gradients([&](const Arrays& in) { return f.run(c, in); }, std::tuple{x}, {.order = 2});
  }
  EXPECT_EQ(measured.size(), bounds.size());
}

}  // namespace
}  // namespace apsis::testing
