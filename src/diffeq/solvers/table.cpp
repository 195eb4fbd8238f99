// What must hold of the coefficients of an explicit method, so that no step reads beyond a row and each
// converges.

#include <cmath>

#include "apsis/diffeq/runge_kutta.hpp"
#include "diffeq/table_check.hpp"

namespace apsis {
namespace {

using Row = std::vector<double>;

class TableCheck : private detail::TableRefusals {
 public:
  TableCheck(const RungeKutta& method, Loc loc)
      : TableRefusals(method.name ? method.name : "RungeKutta", loc), m_(method) {}

  void run() {
    sizes();
    finite();
    sums();
    if (m_.first_same_as_last) last_stage();
    detail::check_dense(*this, m_.dense, m_.b);
    order();
  }

 private:
  void sizes() const {
    const std::size_t stages = m_.b.size();
    if (stages == 0) wrong_size("b", 0, "1 or more", "a weight a stage");
    size("c", m_.c.size(), stages, "a time a stage, as b has weights");
    triangle("a", m_.a, stages, 0, "a coefficient for each stage before");
    if (!m_.error.empty()) size("error", m_.error.size(), stages, "a weight a stage, or none at all");
    if (m_.dense.empty()) wrong_size("dense", 0, "1 or more", "write linear_output(b), or hermite_output(b)");
    for (std::size_t d = 0; d < m_.dense.size(); ++d)
      size("dense[" + std::to_string(d) + "]", m_.dense[d].size(), stages, "a weight a stage");
  }

  void finite() const {
    TableRefusals::finite("b", m_.b);
    TableRefusals::finite("c", m_.c);
    TableRefusals::finite("error", m_.error);
    TableRefusals::finite("a", m_.a);
    TableRefusals::finite("dense", m_.dense);
  }

  void sums() const {
    for (std::size_t i = 0; i < m_.c.size(); ++i)
      equal("the sum of a[" + std::to_string(i) + "]", sum(m_.a[i]), m_.c[i], size_of(m_.a[i]),
            "c[i] is the time at which stage i is");
    equal("the sum of b", sum(m_.b), 1, size_of(m_.b), "a constant slope is followed exactly");
    if (m_.error.empty()) return;
    equal("the sum of error", sum(m_.error), 0, size_of(m_.error),
          "it is b minus the weights of the embedded method, and both add up to 1");
    if (size_of(m_.error) == 0)
      wrong("every entry of error", 0, "not 0 for some stage", "leave error empty if there is no estimate");
  }

  void last_stage() const {
    constexpr const char* why =
        "first_same_as_last says that the last stage is the slope at the end of the step";
    const std::size_t last = m_.b.size() - 1;
    if (last == 0) wrong("the number of stages", 1, "2 or more", why);
    for (std::size_t j = 0; j < last; ++j)
      equal("a[" + std::to_string(last) + "][" + std::to_string(j) + "]", m_.a[last][j], m_.b[j],
            std::abs(m_.b[j]), why);
    equal("b[" + std::to_string(last) + "]", m_.b[last], 0, 0, why);
  }

  /// a times values.
  Row stages_of(const Row& values) const {
    Row out;
    for (const Row& row : m_.a) out.push_back(dot(row, values));
    return out;
  }

  /// The conditions up to order 4 (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.1).
  void order() const {
    if (m_.order < 1) wrong("order", m_.order, "1 or more", "it is that of the method b");
    const Row& c = m_.c;
    Row c2, c3, ca;
    for (double x : c) {
      c2.push_back(x * x);
      c3.push_back(x * x * x);
    }
    const Row ac = stages_of(c), ac2 = stages_of(c2), aac = stages_of(ac);
    for (std::size_t i = 0; i < c.size(); ++i) ca.push_back(c[i] * ac[i]);
    const struct {
      int order;
      const char* name;
      const Row& values;
      double want;
    } conditions[] = {{2, "Σ b c", c, 1. / 2},       {3, "Σ b c²", c2, 1. / 3},
                      {3, "Σ b a c", ac, 1. / 6},    {4, "Σ b c³", c3, 1. / 4},
                      {4, "Σ b c a c", ca, 1. / 8},  {4, "Σ b a c²", ac2, 1. / 12},
                      {4, "Σ b a a c", aac, 1. / 24}};
    for (const auto& condition : conditions)
      if (condition.order <= m_.order)
        equal(condition.name, dot(m_.b, condition.values), condition.want, size_of(m_.b),
              "a method of the order given has it so; give the order that the table has");
  }

  const RungeKutta& m_;
};

}  // namespace

namespace detail {

void check_dense(const TableRefusals& refuse, const std::vector<Row>& dense, const Row& b) {
  for (std::size_t d = 0; d < dense.size(); ++d)
    refuse.equal("the sum of dense[" + std::to_string(d) + "]", TableRefusals::sum(dense[d]), d == 0 ? 1 : 0,
                 TableRefusals::size_of(dense[d]), "a constant slope is followed exactly at every θ");
  for (std::size_t i = 0; i < b.size(); ++i) {
    double end = 0, size = 0;
    for (const Row& row : dense) {
      end += row[i];
      size += std::abs(row[i]);
    }
    refuse.equal("the sum over d of dense[d][" + std::to_string(i) + "]", end, b[i], size,
                 "at θ = 1 dense output is the end of the step, b");
  }
}

}  // namespace detail

void check_table(const RungeKutta& method, Loc loc) { TableCheck(method, loc).run(); }

}  // namespace apsis
