// What must hold of the coefficients of methods for stiff equations.

#include "apsis/diffeq/implicit.hpp"
#include "diffeq/table_check.hpp"

namespace apsis {
namespace {

using Row = std::vector<double>;

class DirkCheck : private detail::TableRefusals {
 public:
  DirkCheck(const DiagonallyImplicitRungeKutta& method, Loc loc)
      : TableRefusals(method.name ? method.name : "DiagonallyImplicitRungeKutta", loc), m_(method) {}

  void run() const {
    sizes();
    finite("b", m_.b);
    finite("c", m_.c);
    finite("error", m_.error);
    finite("a", m_.a);
    finite("explicit_a", m_.explicit_a);
    finite("explicit_b", m_.explicit_b);
    finite("explicit_error", m_.explicit_error);
    finite("predictor", m_.predictor);
    finite("dense", m_.dense);
    sums();
    if (!m_.dense.empty()) detail::check_dense(*this, m_.dense, m_.b);
    order(m_.a, m_.b);
    if (!m_.explicit_a.empty()) order(m_.explicit_a, m_.explicit_b.empty() ? m_.b : m_.explicit_b);
  }

 private:
  void sizes() const {
    const std::size_t stages = m_.b.size();
    if (stages < 2) wrong_size("b", stages, "2 or more", "a weight a stage, and the first stage is explicit");
    size("c", m_.c.size(), stages, "a time a stage, as b has weights");
    triangle("a", m_.a, stages, 1, "a coefficient for each stage before, and the diagonal");
    triangle("predictor", m_.predictor, stages, 0, "a weight for each stage before");
    if (!m_.explicit_a.empty())
      triangle("explicit_a", m_.explicit_a, stages, 0, "a coefficient for each stage before");
    if (!m_.error.empty()) size("error", m_.error.size(), stages, "a weight a stage, or none at all");
    for (const auto& [name, weights] :
         {std::pair{"explicit_b", &m_.explicit_b}, std::pair{"explicit_error", &m_.explicit_error}})
      if (!weights->empty()) size(name, weights->size(), stages, "a weight a stage, or none at all");
    for (std::size_t d = 0; d < m_.dense.size(); ++d)
      size("dense[" + std::to_string(d) + "]", m_.dense[d].size(), stages, "a weight a stage");
  }

  void sums() const {
    equal("a[0][0]", m_.a[0][0], 0, 0, "the first stage is explicit");
    for (std::size_t i = 0; i < m_.c.size(); ++i) {
      const std::string row = "[" + std::to_string(i) + "]";
      if (i > 0 && !(m_.a[i][i] > 0)) wrong("a" + row + row, m_.a[i][i], "above 0", "stages are implicit");
      equal("the sum of a" + row, sum(m_.a[i]), m_.c[i], size_of(m_.a[i]),
            "c[i] is the time at which stage i is");
      if (!m_.explicit_a.empty())
        equal("the sum of explicit_a" + row, sum(m_.explicit_a[i]), m_.c[i], size_of(m_.explicit_a[i]),
              "both halves are at the same time");
      if (i > 0)
        equal("the sum of predictor" + row, sum(m_.predictor[i]), 1, size_of(m_.predictor[i]),
              "a constant slope is guessed exactly");
    }
    equal("the sum of b", sum(m_.b), 1, size_of(m_.b), "a constant slope is followed exactly");
    if (!m_.explicit_b.empty())
      equal("the sum of explicit_b", sum(m_.explicit_b), 1, size_of(m_.explicit_b),
            "a constant slope is followed exactly");
    if (!m_.error.empty())
      equal("the sum of error", sum(m_.error), 0, size_of(m_.error),
            "it is b minus the weights of the embedded method, and both add up to 1");
    if (!m_.explicit_error.empty())
      equal("the sum of explicit_error", sum(m_.explicit_error), 0, size_of(m_.explicit_error),
            "it is explicit_b minus the weights of the embedded method, and both add up to 1");
    if (!m_.first_same_as_last) return;
    constexpr const char* why =
        "first_same_as_last says that the last stage is the slope at the end of the step";
    for (std::size_t j = 0; j < m_.b.size(); ++j)
      equal("a[" + std::to_string(m_.b.size() - 1) + "][" + std::to_string(j) + "]", m_.a.back()[j], m_.b[j],
            std::abs(m_.b[j]), why);
    if (!m_.explicit_a.empty()) wrong("explicit_a", 1, "empty", why);
  }

  /// The conditions up to order 3, and those that couple the halves, as both have c.
  void order(const std::vector<Row>& a, const Row& b) const {
    if (m_.order < 1) wrong("order", m_.order, "1 or more", "it is that of the method b");
    if (!m_.error.empty() && m_.error_order < 1)
      wrong("error_order", m_.error_order, "1 or more", "step size controllers go by it");
    Row c2, ac;
    for (double x : m_.c) c2.push_back(x * x);
    for (const Row& row : a) ac.push_back(dot(row, m_.c));
    const struct {
      int order;
      const char* name;
      const Row& values;
      double want;
    } conditions[] = {{2, "Σ b c", m_.c, 1. / 2}, {3, "Σ b c²", c2, 1. / 3}, {3, "Σ b a c", ac, 1. / 6}};
    for (const auto& condition : conditions)
      if (condition.order <= m_.order)
        equal(condition.name, dot(b, condition.values), condition.want, size_of(b),
              "a method of the order given has it so; give the order that the table has");
  }

  const DiagonallyImplicitRungeKutta& m_;
};

}  // namespace

void check_table(const DiagonallyImplicitRungeKutta& method, Loc loc) { DirkCheck(method, loc).run(); }

void check_table(const Rosenbrock& m, Loc loc) {
  const detail::TableRefusals refuse(m.name ? m.name : "Rosenbrock", loc);
  const std::size_t stages = m.b.size();
  if (stages == 0) refuse.wrong_size("b", 0, "1 or more", "a weight a stage");
  refuse.size("c", m.c.size(), stages, "a time a stage, as b has weights");
  refuse.size("d", m.d.size(), stages, "a weight of the time derivative a stage");
  refuse.triangle("a", m.a, stages, 0, "a coefficient for each stage before");
  refuse.triangle("coupling", m.coupling, stages, 0, "a coefficient for each stage before");
  if (!m.error.empty()) refuse.size("error", m.error.size(), stages, "a weight a stage, or none at all");
  for (std::size_t r = 0; r < m.dense.size(); ++r)
    refuse.size("dense[" + std::to_string(r) + "]", m.dense[r].size(), stages, "a weight a stage");
  refuse.finite("gamma", Row{m.gamma});
  refuse.finite("b", m.b);
  refuse.finite("c", m.c);
  refuse.finite("d", m.d);
  refuse.finite("error", m.error);
  refuse.finite("a", m.a);
  refuse.finite("coupling", m.coupling);
  refuse.finite("dense", m.dense);
  if (!(m.gamma > 0)) refuse.wrong("gamma", m.gamma, "above 0", "stages are implicit");
  if (m.order < 1) refuse.wrong("order", m.order, "1 or more", "it is that of the method b");
  if (!m.error.empty() && m.error_order < 1)
    refuse.wrong("error_order", m.error_order, "1 or more", "step size controllers go by it");
  // With y' = 1 all u are known, and the step must be h: (I - γ C) u = γ (1 + 0), y1 - y0 = Σ b u.
  Row u;
  for (std::size_t i = 0; i < stages; ++i) u.push_back(m.gamma * (1 + refuse.dot(m.coupling[i], u)));
  refuse.equal("Σ b u for y' = 1", refuse.dot(m.b, u), 1, refuse.size_of(m.b),
               "a constant slope is followed exactly");
  for (std::size_t i = 0; i < stages; ++i)
    refuse.equal("Σ a[" + std::to_string(i) + "] u for y' = 1", refuse.dot(m.a[i], u), m.c[i],
                 refuse.size_of(m.a[i]), "c[i] is the time at which stage i is");
}

}  // namespace apsis
