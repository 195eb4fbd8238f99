// Images and boards: filters, registration, cellular automata. Known answers: plain C++ beside them.

#include <algorithm>
#include <cmath>
#include <string>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

TEST(Images, ConvolutionOfAnImage) {
  Array image = reshape(sin(arange(21. * 33.) * 0.37), {21, 33}),
        kernel = array({{1., 2., 1.}, {0., 0.5, 0.}, {-1., -2., -1.}});
  auto by_slices = [](const Array& x, const Array& k) {
    const std::int64_t h = x.dim(0) - 2, w = x.dim(1) - 2;
    Array out = zeros({h, w}, x.dtype());
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) out = out + k(i, j) * x(range(i, i + h), range(j, j + w));
    return out;
  };
  auto by_windows = [](const Array& x, const Array& k) {  // a patch for every pixel, by computed places
    const std::int64_t h = x.dim(0) - 2, w = x.dim(1) - 2;
    auto pixel = [&](const Array& i, const Array& j) {
      Array rows = take(x, i + arange(3), 0);
      return sum(take(rows, j + arange(3), 1) * k);
    };
    return vmap(vmap(pixel, {.in_axes = {{}, 0}}), {.in_axes = {0, {}}})(arange(h), arange(w));
  };
  std::vector<double> x = image.to_vector<double>(), k = kernel.to_vector<double>(), out;
  for (int i = 0; i < 19; ++i)
    for (int j = 0; j < 31; ++j) {
      double total = 0;
      for (int a = 0; a < 9; ++a) total += k[a] * x[(i + a / 3) * 33 + j + a % 3];
      out.push_back(total);
    }
  expect_close(jit(by_slices)(image, kernel), array(out, {19, 31}), 1e-14);
  expect_close(jit(by_windows)(image, kernel), array(out, {19, 31}), 1e-14);
  auto energy = [&](auto filter) {
    return [=](const Array& q) { return sum(square(filter(image, reshape(q, {3, 3})))); };
  };
  expect_close(jit(grad(energy(by_slices)))(ravel(kernel)), jit(grad(energy(by_windows)))(ravel(kernel)),
               1e-12);
  expect_close(jit(grad<0>([&](const Array& im, const Array& q) { return sum(square(by_slices(im, q))); }))(
                   image, kernel),
               jit(grad<0>([&](const Array& im, const Array& q) { return sum(square(by_windows(im, q))); }))(
                   image, kernel),
               1e-12);
  expect_all_ways(energy(by_slices), ravel(kernel), {.second = true, .lanes = {3}});
}

TEST(Images, RegistrationByBilinearInterpolation) {
  // The shift between two pictures of one smooth scene, by gradients through the interpolation.
  auto sample = [](const Array& image, const Array& r, const Array& c) {
    Array i = floor(r), j = floor(c), u = r - i, v = c - j;
    auto at = [&](const Array& a, const Array& b) {
      return image(clip(astype(a, i64), 0, 39), clip(astype(b, i64), 0, 39));
    };
    return (1. - u) * (1. - v) * at(i, j) + (1. - u) * v * at(i, j + 1.) + u * (1. - v) * at(i + 1., j) +
           u * v * at(i + 1., j + 1.);
  };
  Array rows = expand_dims(arange(40.), 1), columns = arange(40.);
  auto scene = [&](double dr, double dc) { return sin(0.2 * (rows + dr)) + cos(0.15 * (columns + dc)); };
  Array reference = scene(0, 0), moved = scene(1.25, -0.75);
  auto mismatch = [&](const Array& shift) {
    Array r = rows(range(5, 35), range()) + shift[0] + zeros({30}),
          c = columns[range(5, 35)] + shift[1] + zeros({30, 1});
    return mean(square(sample(reference, r, c) - moved(range(5, 35), range(5, 35))));
  };
  auto found = jit([&](const Array& s) { return minimize(mismatch, BFGS{.gtol = 1e-9}, s); })(zeros({2}));
  expect_close(found.value, array({1.25, -0.75}),
               2e-3);  // h² / 8 times the curvature, 0.04, over the slope
  expect_all_ways(mismatch, array({0.3, 0.4}), {.second = true});
}

TEST(Images, GameOfLife) {
  auto generation = [](const Array& board) {
    Array around = zeros_like(board);
    for (int i = -1; i <= 1; ++i)
      for (int j = -1; j <= 1; ++j)
        if (i || j) around = around + roll(roll(board, i, 0), j, 1);
    return astype(around == 3 || (board == 1 && around == 2), board.dtype());
  };
  // A glider on a torus of 12 is where it was after 48 generations, one cell further each four.
  Array board = zeros({12, 12}, i8);
  for (auto [i, j] : {std::pair{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}) board = board.at(i, j).set(1);
  auto run = jit([&](const Array& b, const Array& n) {
    return fori_loop(
        0, n, [&](const Array&, const Array& x) { return generation(x); }, b);
  });
  EXPECT_TRUE(tree_equal(run(board, 48), board));
  EXPECT_TRUE(tree_equal(run(board, 4), roll(roll(board, 1, 0), 1, 1)));
  auto many = jit(vmap([&](const Array& n) { return run(board, n); }))(arange(0, 13, 4));
  EXPECT_TRUE(tree_equal(many[3], roll(roll(board, 3, 0), 3, 1)));
  // How long until a random board repeats one of two before: lanes end at very different times.
  struct Life {
    Array now, before, older, age;
  };
  auto settle = [&](const Array& key) {
    Array start = astype(random::bernoulli(key, 0.35, {8, 8}), i8);
    auto moves = [](const Life& l) { return any(l.now != l.older) && l.age < 400; };
    return while_loop(
               moves,
               [&](const Life& l) {
                 return Life{generation(l.now), l.now, l.before, l.age + 1};
               },
               Life{generation(start), start, zeros({8, 8}, i8) - 1, 1})
        .age;
  };
  Array keys = random::split(random::key(77), 40), ages = jit(vmap(settle))(keys);
  for (int i = 0; i < 40; i += 7) EXPECT_EQ(ages[i].item<int>(), settle(keys[i]).item<int>()) << i;
  EXPECT_TRUE(tree_equal(jit(vmap(settle, {.loops = LaneLoops::Lockstep}))(keys), ages));
}

}  // namespace
}  // namespace apsis::scenarios
