// A function of a batch, computed part by part.

#include <gtest/gtest.h>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;
using train::Accumulate;
using train::microbatch;

struct Data {
  Array x, y;
};
Array loss(const nn::MLP& model, const Data& d) { return mean(square(vmap(model)(d.x) - d.y)); }

double furthest(const nn::MLP& a, const nn::MLP& b) {
  double most = 0;
  for_each_leaf(tree_map([](const Array& p, const Array& q) { return max(abs(p - q)); }, a, b),
                [&](const Array& d) { most = std::max(most, d.item<double>()); });
  return most;
}

TEST(Microbatch, MeansAreThoseOfTheBatch) {
  const auto [weights, inputs] = random::split<2>(random::key(0));
  const nn::MLP model = nn::make_mlp({.in = 3, .out = nn::scalar, .width = 8, .depth = 2}, weights);
  const Array x = random::normal(inputs, {24, 3});
  const Data data{x, sin(sum(x, {.axis = 1}))};
  const auto whole = value_and_grad([&](const nn::MLP& m) { return loss(m, data); });
  const auto parts = [&](const nn::MLP& m, const Data& d, std::int64_t size) {
    return microbatch([&](const Data& part) { return value_and_grad(loss)(m, part); }, d, {.size = size});
  };
  const auto [value, slope] = whole(model);
  for (std::int64_t size : {1, 4, 24}) {
    const auto [v, g] = parts(model, data, size);
    EXPECT_NEAR(v.item<double>(), value.item<double>(), 1e-14);
    EXPECT_LE(furthest(g, slope), 1e-14);
    const auto [w, h] = jit(parts)(model, data, size);
    EXPECT_NEAR(w.item<double>(), value.item<double>(), 1e-14);
    EXPECT_LE(furthest(h, slope), 1e-14);
  }
  // The loss may also be what is differentiated, and mapped.
  const auto in_parts = [&](const nn::MLP& m) {
    return microbatch([&](const Data& part) { return loss(m, part); }, data, {.size = 6});
  };
  EXPECT_LE(furthest(jit(grad(in_parts))(model), slope), 1e-14);
  const auto scaled = [&](const Array& by) {
    return microbatch([&](const Data& part) { return by * loss(model, part); }, data, {.size = 6});
  };
  const Array many = jit(vmap(scaled))(array({1., 2.}));
  EXPECT_NEAR(many[1].item<double>(), 2 * value.item<double>(), 1e-14);
}

TEST(Microbatch, SumsAndRows) {
  const Array x = reshape(arange(12.), {6, 2});
  const auto total = [](const Array& part) { return std::pair{sum(part), sum(astype(part, i32))}; };
  const auto [sums, integers] = microbatch(total, x, {.size = 2, .accumulate = Accumulate::Sum});
  EXPECT_EQ(sums.item<double>(), 66);
  EXPECT_EQ(integers.item<int>(), 66);
  EXPECT_EQ(integers.dtype(), i64);
  const auto rows = microbatch(
      [](const Array& part) {
        return std::pair{2. * part, sum(part, {.axis = 1})};
      },
      x, {.size = 3, .accumulate = Accumulate::Concatenate});
  EXPECT_TRUE(tree_equal(rows.first, 2. * x));
  EXPECT_TRUE(tree_equal(rows.second, sum(x, {.axis = 1})));
}

TEST(Microbatch, OfEveryFloatingDtypeAndOfNoRows) {
  for (Dtype t : {f64, f32, bf16, f16, c64}) {
    const Array mean_of =
        microbatch([](const Array& part) { return mean(part); }, ones({4, 2}, t), {.size = 2});
    EXPECT_EQ(mean_of.dtype(), t);
    EXPECT_TRUE(static_cast<bool>(mean_of == ones({}, t)));
  }
  const Array none = microbatch([](const Array& part) { return sum(part); }, zeros({0, 2}),
                                {.size = 2, .accumulate = Accumulate::Sum});
  EXPECT_EQ(none.item<double>(), 0);
}

TEST(Microbatch, RefusesBatchesThatDoNotFit) {
  const auto f = [](const Data& d) { return sum(d.x) + sum(d.y); };
  EXPECT_EQ(error_of([&] {
              microbatch(f, Data{ones({4}), ones({3})}, {.size = 1});
            }),
            "[microbatch] batch.x has 4 rows and batch.y has 3: give as many rows of each");
  EXPECT_NE(error_of([&] { microbatch(f, Data{ones({4}), ones({4})}, {.size = 0}); }), "");
}

}  // namespace
