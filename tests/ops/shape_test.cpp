// Public functions on shapes, creation and products whose results golden data does not cover.

#include "ops/move_checks.hpp"

namespace apsis {
namespace {

using checks::numbers;
using Numbers = std::vector<double>;

void expect_array(const Array& a, const Shape& shape, const Numbers& values) {
  EXPECT_EQ(a.shape(), shape) << to_string(a.shape());
  EXPECT_EQ(numbers(a), values);
}

Array matrix() { return array({{0., 1., 2.}, {3., 4., 5.}}); }

TEST(Shapes, AxesMove) {
  Array x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(moveaxis(x, 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(x, 2, 0)(3, 1, 2).item<int>(), x(1, 2, 3).item<int>());
  EXPECT_EQ(swapaxes(x, 0, -1)(3, 2, 1).item<int>(), x(1, 2, 3).item<int>());
  EXPECT_EQ(transpose(x).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(transpose(x, {1, 0, 2})(2, 1, 3).item<int>(), x(1, 2, 3).item<int>());
  EXPECT_EQ(squeeze(zeros({1, 3, 1})).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(zeros({1, 3, 1}), 0).shape(), (Shape{3, 1}));
  EXPECT_EQ(squeeze(zeros({1, 3, 1}), {0, -1}).shape(), (Shape{3}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(reshape(x, {4, -1}).shape(), (Shape{4, 6}));
  EXPECT_EQ(reshape(zeros({0, 3}), {0, 5}).shape(), (Shape{0, 5}));
  EXPECT_EQ(ravel(x).shape(), (Shape{24}));
  EXPECT_EQ(broadcast_to(arange(3), {2, 3})(1, 2).item<int>(), 2);
}

TEST(Shapes, JoinAndPart) {
  expect_array(stack({array({1., 2.}), array({3., 4.})}, -1), {2, 2}, {1, 3, 2, 4});
  Array mixed = stack({array(2.f), 1.5});
  EXPECT_EQ(mixed.dtype(), f32);  // the C++ scalar is weak
  EXPECT_EQ(stack({1, 2.}).dtype(), f64);
  auto [u, v] = unstack<2>(matrix());
  expect_array(v, {3}, {3, 4, 5});
  EXPECT_EQ(unstack(matrix(), 1).size(), 3u);
  expect_array(unstack(matrix(), -1)[2], {2}, {2, 5});
  auto parts = split(matrix(), 3, 1);
  expect_array(parts[1], {2, 1}, {1, 4});
  auto uneven = split_at(arange(5), {1, 1, 4});
  ASSERT_EQ(uneven.size(), 4u);
  EXPECT_EQ(uneven[1].size(), 0);
  expect_array(uneven[2], {3}, {1, 2, 3});
  Array both[] = {arange(2), array({0.5})};
  expect_array(concatenate(both), {3}, {0, 1, 0.5});
}

TEST(Shapes, Rearranged) {
  expect_array(flip(matrix()), {2, 3}, {5, 4, 3, 2, 1, 0});
  expect_array(flip(matrix(), {0}), {2, 3}, {3, 4, 5, 0, 1, 2});
  expect_array(roll(arange(5), -7, 0), {5}, {2, 3, 4, 0, 1});
  expect_array(roll(matrix(), 1), {2, 3}, {5, 0, 1, 2, 3, 4});
  expect_array(roll(array(1.), 3), {}, {1});
  expect_array(roll(zeros({2, 0}), 1), {2, 0}, {});
  expect_array(repeat(matrix(), 2), {12}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect_array(repeat(zeros({2, 0}), 2), {0}, {});
  expect_array(take(matrix(), array({{5, 0}, {-1, 2}})), {2, 2}, {5, 0, 5, 2});
  expect_array(take(array(3.), array({0, 0})), {2}, {3, 3});
  expect_array(diff(array({1., 4., 9.})), {2}, {3, 5});
  expect_array(diff(array({true, true, false})), {2}, {0, 1});
  expect_array(diff(zeros({0})), {0}, {});
  expect_array(pad(arange(3), {1}, {-1}, 7), {3}, {7, 0, 1});
  expect_array(diag(matrix()), {2}, {0, 4});
  expect_array(diag(array({1., 2.})), {2, 2}, {1, 0, 0, 2});
  expect_array(tril(ones({2, 2, 3}), -1)[1], {2, 3}, {0, 0, 0, 1, 0, 0});
  expect_array(tile(array({1., 2.}), {2}), {4}, {1, 2, 1, 2});
  expect_array(repeat(array({1., 2.}), 2, 0), {4}, {1, 1, 2, 2});
}

TEST(Creation, Numbers) {
  expect_array(arange(3), {3}, {0, 1, 2});
  EXPECT_EQ(arange(3).dtype(), i64);
  expect_array(arange(5, 0, -2), {3}, {5, 3, 1});
  expect_array(arange(2, 2), {0}, {});
  expect_array(arange(0., 1., 0.25), {4}, {0, 0.25, 0.5, 0.75});
  EXPECT_EQ(arange(2.).dtype(), f64);
  EXPECT_EQ(linspace(0.f, 1, 3).dtype(), f32);
  expect_array(linspace(0, 1, 3), {3}, {0, 0.5, 1});
  expect_array(linspace(2., 5., 1), {1}, {2});
  EXPECT_EQ(linspace(2., 5., 0).size(), 0);
  expect_array(eye(2, 3, 1), {2, 3}, {0, 1, 0, 0, 0, 1});
  expect_array(iota({2, 2}, 0, f32), {2, 2}, {0, 0, 1, 1});
  EXPECT_EQ(full({2}, 3).dtype(), i64);
  EXPECT_FALSE(full({2}, 3).weak());
  EXPECT_EQ(full({2}, 3, f32).dtype(), f32);
  EXPECT_EQ(zeros_like(matrix()).shape(), (Shape{2, 3}));
  EXPECT_EQ(full_like(arange(2), 2.5)[0].item<double>(), 2);
  EXPECT_EQ(zeros({2, 0}).size(), 0);
}

TEST(Products, SmallForms) {
  Array a = matrix(), v = array({1., 2., 3.});
  expect_array(dot(a, v), {2}, {8, 26});
  expect_array(dot(v, 2.), {3}, {2, 4, 6});
  expect_array(matmul(v, transpose(a)), {2}, {8, 26});
  EXPECT_EQ(vdot(v, v).item<double>(), 14);
  expect_array(inner(a, a), {2, 2}, {5, 14, 14, 50});
  expect_array(outer(array({1., 2.}), v), {2, 3}, {1, 2, 3, 2, 4, 6});
  EXPECT_EQ(tensordot(a, a).item<double>(), 55);
  expect_array(tensordot(a, a, {0}, {0}), {3, 3}, {9, 12, 15, 12, 17, 22, 15, 22, 29});
  EXPECT_EQ(tensordot(a, v, 0).shape(), (Shape{2, 3, 3}));
}

TEST(Products, Einsum) {
  Array a = matrix(), b = reshape(astype(arange(12), f64), {3, 4}), v = array({1., 2., 3.});
  EXPECT_EQ(numbers(einsum("ij,jk->ik", {a, b})), numbers(matmul(a, b)));
  EXPECT_EQ(numbers(einsum("ij,jk", {a, b})), numbers(matmul(a, b)));
  EXPECT_EQ(numbers(einsum("ij,jk->ki", {a, b})), numbers(transpose(matmul(a, b))));
  EXPECT_EQ(numbers(einsum("ij->ji", {a})), numbers(transpose(a)));
  EXPECT_EQ(numbers(einsum("ij->", {a})), Numbers{15});
  EXPECT_EQ(numbers(einsum("i,i", {v, v})), Numbers{14});
  EXPECT_EQ(numbers(einsum("ii->i", {b(range(), range(0, 3))})), (Numbers{0, 5, 10}));
  EXPECT_EQ(numbers(einsum("ii", {b(range(), range(0, 3))})), Numbers{15});
  EXPECT_EQ(numbers(einsum("i,j->ij", {v, v})), numbers(outer(v, v)));
  EXPECT_EQ(numbers(einsum("ij,jk,k->i", {a, b, ones({4})})), numbers(matmul(matmul(a, b), ones({4}))));
  EXPECT_EQ(numbers(einsum("ij, j -> ij", {a, v})), numbers(a * v));
}

// Above the inline limit; halves are added up in f32 and rounded once.
TEST(Products, LargeAndHalf) {
  const int n = 40;
  Array a = reshape(astype(arange(n * n) % 7, f64), {n, n}),
        b = reshape(astype(arange(n * n) % 5, f64), {n, n});
  Array product = matmul(a, b);
  double want = 0;
  for (int k = 0; k < n; ++k) want += (3 * n + k) % 7 * ((k * n + 4) % 5);
  EXPECT_EQ(product(3, 4).item<double>(), want);
  EXPECT_EQ(numbers(matmul(astype(a, f32), astype(b, f32))), numbers(product));
  EXPECT_EQ(numbers(matmul(astype(a, c128), astype(b, c128))), numbers(astype(product, c128)));
  EXPECT_EQ(numbers(matmul(astype(a, i32), astype(b, i32))), numbers(product));
  // 2048 + 1 + 1 in f16 alone would stay at 2048.
  Array wide = array({2048., 1., 1.}), ones_of = ones({3});
  EXPECT_EQ(vdot(astype(wide, f16), astype(ones_of, f16)).item<double>(), 2050);
}

}  // namespace
}  // namespace apsis
