// Tables satisfy the order conditions of all rooted trees (Hairer, Nørsett, Wanner, Solving Ordinary
// Differential Equations I, II.2): for each tree τ Σ b φ(τ) = 1 / γ(τ), and of dense output Σ b(θ) φ(τ) =
// θ^order(τ) / γ(τ).

#include <cmath>

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// A rooted tree of a method: its order, γ, and the vector φ over the stages.
struct Tree {
  int order;
  double gamma;
  std::vector<double> phi;
};

/// All trees of the orders up to `order`: a tree is a root with a multiset of smaller trees above it, taken
/// in the order in which they were made.
class Trees {
 public:
  Trees(const RungeKutta& method, int order) : method_(method) {
    for (int n = 1; n <= order; ++n) {
      grow({1, 1, std::vector<double>(method.stages(), 1.)}, n - 1, 0);
      for (Tree& t : grown_) {
        t.gamma *= n;
        above_.push_back(times_a(t.phi));
        trees_.push_back(std::move(t));
      }
      grown_.clear();
    }
  }
  const std::vector<Tree>& all() const { return trees_; }

 private:
  std::vector<double> times_a(const std::vector<double>& phi) const {
    std::vector<double> out;
    for (const std::vector<double>& row : method_.a) {
      double sum = 0;
      for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * phi[j];
      out.push_back(sum);
    }
    return out;
  }
  /// Adds trees from number `first` on to the root until it has `left` more vertices.
  void grow(const Tree& root, int left, std::size_t first) {
    if (left == 0) grown_.push_back(root);
    for (std::size_t i = first; i < trees_.size() && trees_[i].order <= left; ++i) {
      Tree more{root.order + trees_[i].order, root.gamma * trees_[i].gamma, root.phi};
      for (std::size_t s = 0; s < more.phi.size(); ++s) more.phi[s] *= above_[i][s];
      grow(more, left - trees_[i].order, i);
    }
  }

  const RungeKutta& method_;
  std::vector<Tree> trees_, grown_;
  std::vector<std::vector<double>> above_;  // A φ of each tree
};

double dot(const std::vector<double>& b, const std::vector<double>& phi) {
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) sum += b[i] * phi[i];
  return sum;
}

/// `embedded` and `dense`: the orders of the embedded method, and of the conditions that dense output meets.
struct Expected {
  const RungeKutta& method;
  int embedded, dense;
  double rounding;  ///< of dense output, whose coefficients are much larger than what they add up to
};

TEST(Conditions, OfExplicitMethods) {
  const Expected methods[] = {{Bosh3::method(), 2, 3, 1e-14},  {Tsit5::method(), 4, 4, 1e-13},
                              {Dopri5::method(), 4, 4, 1e-13}, {Dopri8::method(), 7, 5, 1e-12},
                              {Vern7::method(), 6, 6, 1e-12},  {Vern9::method(), 8, 9, 1e-11}};
  const std::size_t counts[] = {0, 1, 2, 4, 8, 17, 37, 85, 200, 486};  // of trees up to each order
  for (const Expected& m : methods) {
    SCOPED_TRACE(m.method.name);
    const Trees trees(m.method, m.method.order);
    ASSERT_EQ(trees.all().size(), counts[m.method.order]);
    std::vector<double> embedded = m.method.b;
    for (std::size_t i = 0; i < embedded.size(); ++i) embedded[i] -= m.method.error[i];
    for (const Tree& t : trees.all()) {
      // Coefficients are printed to 16 digits, the elder ones to 10 or less as fractions.
      EXPECT_NEAR(dot(m.method.b, t.phi), 1 / t.gamma, 2e-14) << t.order;
      if (t.order <= m.embedded) {
        EXPECT_NEAR(dot(embedded, t.phi), 1 / t.gamma, 2e-14) << t.order;
      }
      if (t.order > m.dense) continue;
      for (double theta : {0.13, 0.5, 0.8}) {
        std::vector<double> weights(m.method.stages());
        for (std::size_t d = 0; d < m.method.dense.size(); ++d)
          for (std::size_t i = 0; i < weights.size(); ++i)
            weights[i] += m.method.dense[d][i] * std::pow(theta, static_cast<double>(d + 1));
        EXPECT_NEAR(dot(weights, t.phi), std::pow(theta, t.order) / t.gamma, m.rounding) << t.order;
      }
    }
  }
}

}  // namespace
}  // namespace apsis::testing
