// Matrices of Eigen, where it is installed.

#include "apsis/eigen.hpp"

#include <gtest/gtest.h>

#if __has_include(<Eigen/Core>)

#include "apsis/ops/linalg.hpp"

namespace apsis::testing {
namespace {

TEST(Eigen, MapsAndCopies) {
  const Array a = array({{1., 2., 3.}, {4., 5., 6.}}), b = array({1., -1., 2.});
  const auto m = as_eigen<double>(a);
  EXPECT_EQ(m.data(), a.span<double>().data());
  const Eigen::VectorXd product = m * as_eigen_vector<double>(b);
  const Array own = array_of(product);
  EXPECT_EQ(own.shape(), (Shape{2}));
  EXPECT_EQ(own.to_vector<double>(), matmul(a, b).to_vector<double>());
  const Eigen::MatrixXf columns = m.cast<float>();
  EXPECT_EQ(array_of(columns).to_vector<float>(), (std::vector{1.f, 2.f, 3.f, 4.f, 5.f, 6.f}));
  EXPECT_EQ(array_of(m.transpose()).shape(), (Shape{3, 2}));
  EXPECT_EQ(array_of(m.row(1)).to_vector<double>(), (std::vector{4., 5., 6.}));
  EXPECT_EQ(view_of(product).span<double>().data(), product.data());
  const EigenMatrix<std::complex<double>> z{{{1., 2.}, {3., -4.}}};
  EXPECT_EQ(view_of(z).dtype(), c128);
  EXPECT_EQ(as_eigen<std::complex<double>>(static_cast<const Array&>(view_of(z)))(0, 1),
            std::complex(3., -4.));
}

TEST(Eigen, OtherShapesAndDtypesAreRefused) {
  const Array a = array({{1., 2.}});
  EXPECT_THROW(as_eigen<float>(a), Error);
  EXPECT_THROW(as_eigen_vector<double>(a), Error);
}

}  // namespace
}  // namespace apsis::testing

#endif
