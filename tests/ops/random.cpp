// Keys, bits and distributions against JAX's (tests/golden/threefry.txt).

#include <gtest/gtest.h>

#include <cmath>

#include "ops/golden_arrays.hpp"
#include "ops/index_params.hpp"
#include "ops/move_checks.hpp"
#include "ops/table.hpp"

namespace apsis {
namespace {

using golden::array_of;
using golden::Case;
namespace lax = detail::lax;

// A value, and how far it may be from JAX's: in units of the dtype's spacing at 1, relative to the greater of
// 1 and it.
struct Draw {
  Array got;
  double units = 0;
};

Shape shape_of(const Case& c) { return array_of(c["out"]).shape(); }
Dtype dtype_of_out(const Case& c) { return golden::dtype_named(c["out"].dtype); }
Array scalar(const Case& c, const char* name) { return array_of(c[name]); }
std::int64_t integer(const Case& c, const char* name) { return c[name].integers[0]; }

// XLA's erf⁻¹ in f64 is itself off by as much: see random.normal_is_more_accurate_than_the_golden_value.
constexpr double normal_units = 32;

using Run = Draw (*)(const Case&, const Array& key);

const std::map<std::string, Run> functions = {
    {"split",
     [](const Case& c, const Array& key) {
       Shape shape = shape_of(c);
       std::int64_t count = shape.product() / 2;
       return Draw{reshape(random::split(key, count), shape)};
     }},
    {"fold_in",
     [](const Case& c, const Array& key) { return Draw{random::fold_in(key, scalar(c, "data"))}; }},
    {"bits",
     [](const Case& c, const Array& key) { return Draw{random::bits(key, shape_of(c), dtype_of_out(c))}; }},
    {"uniform", [](const Case& c,
                   const Array& key) { return Draw{random::uniform(key, shape_of(c), dtype_of_out(c))}; }},
    {"uniform_range",
     [](const Case& c, const Array& key) {
       Dtype dtype = dtype_of_out(c);
       // XLA rounds the product and the sum of half floats one by one.
       return Draw{random::uniform(key, shape_of(c), dtype, scalar(c, "lo"), scalar(c, "hi")),
                   dtype == f32 || dtype == f64 ? 0. : 4.};
     }},
    {"normal",
     [](const Case& c, const Array& key) {
       return Draw{random::normal(key, shape_of(c), dtype_of_out(c)), normal_units};
     }},
    {"truncated_normal",
     [](const Case& c, const Array& key) {
       return Draw{
           random::truncated_normal(key, c["lo"].real[0], c["hi"].real[0], shape_of(c), dtype_of_out(c)),
           normal_units};
     }},
    {"exponential",
     [](const Case& c, const Array& key) {
       return Draw{random::exponential(key, shape_of(c), dtype_of_out(c)), 8};
     }},
    {"gumbel",
     [](const Case& c, const Array& key) {
       return Draw{random::gumbel(key, shape_of(c), dtype_of_out(c)), 8};
     }},
    {"randint",
     [](const Case& c, const Array& key) {
       return Draw{random::randint(key, shape_of(c), scalar(c, "lo"), scalar(c, "hi"), dtype_of_out(c))};
     }},
    {"bernoulli", [](const Case& c,
                     const Array& key) { return Draw{random::bernoulli(key, scalar(c, "p"), shape_of(c))}; }},
    {"permutation",
     [](const Case& c, const Array& key) { return Draw{random::permutation(key, integer(c, "n"))}; }},
    {"permutation_rows",
     [](const Case& c, const Array& key) { return Draw{random::permutation(key, scalar(c, "x"))}; }},
    {"categorical",
     [](const Case& c, const Array& key) {
       return Draw{random::categorical(key, scalar(c, "logits"), -1, shape_of(c))};
     }},
    {"choice",
     [](const Case& c, const Array& key) {
       return Draw{random::choice(key, arange(integer(c, "n")), shape_of(c))};
     }},
    {"choice_p",
     [](const Case& c, const Array& key) {
       Array p = scalar(c, "p");
       return Draw{random::choice(key, arange(p.size()), shape_of(c), p)};
     }},
};

std::vector<Case> cases() {
  return golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/threefry.txt");
}

TEST(random, keys_and_blocks_as_in_jax) {
  int ran = 0;
  for (const Case& c : cases()) {
    if (c.name == "key") {
      Array key = random::key(c["seed"].integers[0]);
      EXPECT_EQ(key.to_vector<std::uint32_t>(), array_of(c["key"]).to_vector<std::uint32_t>());
      ++ran;
    } else if (c.name == "block") {
      Array key = array_of(c["key"]), counter = array_of(c["counter"]);
      auto words =
          bind_all(detail::threefry2x32_op, {}, std::vector<Array>{key[0], key[1], counter[0], counter[1]});
      EXPECT_EQ(stack(words).to_vector<std::uint32_t>(), array_of(c["out"]).to_vector<std::uint32_t>());
      ++ran;
    }
  }
  EXPECT_GT(ran, 20);
}

TEST(random, draws_as_in_jax) {
  int ran = 0;
  for (const Case& c : cases()) {
    if (!functions.contains(c.name)) {
      EXPECT_TRUE(c.name == "key" || c.name == "block") << c.name;
      continue;
    }
    SCOPED_TRACE(c.name + " " + c["out"].dtype + " case " + std::to_string(ran));
    Draw draw = functions.at(c.name)(c, array_of(c["key"]));
    Array want = array_of(c["out"]);
    EXPECT_EQ(draw.got.dtype(), want.dtype());
    double unit = want.dtype() == f64   ? 0x1p-52
                  : want.dtype() == f32 ? 0x1p-23
                  : want.dtype() == f16 ? 0x1p-10
                                        : 0x1p-7;
    checks::expect_equal(draw.got, want, draw.units * unit);
    ++ran;
  }
  EXPECT_GT(ran, 400);
}

// Compiled and mapped programs draw the same numbers.
TEST(random, draws_are_the_same_staged_and_mapped) {
  checks::Function draws = [](std::span<const Array> in) {
    auto [a, b] = random::split<2>(random::fold_in(in[0], in[1]));
    return std::vector<Array>{random::normal(a, {3}, f32),
                              random::uniform(b, {2, 2}, f64, -1., 2.),
                              random::randint(a, {4}, 0, in[1] + 5),
                              random::permutation(b, 5),
                              random::categorical(a, log(array({.2, .3, .5})), -1, {4}),
                              random::bits(b, {3}, u8)};
  };
  std::vector<Array> in{random::key(7), array(3)};
  checks::check_staged(draws, in);
  Array many_keys = random::split(random::key(1), 3);
  std::vector<Array> both{many_keys, array({1, 2, 3})};
  std::vector<int> axes{0, 0};
  auto many = detail::vmap_call(detail::callee_of(draws), both, axes, {.axis_size = 3}, Loc::here());
  for (int lane = 0; lane < 3; ++lane) {
    std::vector<Array> one{many_keys[lane], both[1][lane]};
    auto single = draws(one);
    for (std::size_t i = 0; i < single.size(); ++i)
      EXPECT_TRUE(checks::same_bits(many[i][lane], single[i])) << i;
  }
}

// √2 · erf⁻¹(0x1.46079b7436c19p-1) is 0.90924046016990809…; JAX's draw 13 of key 42 is 16 units off.
TEST(random, normal_is_more_accurate_than_the_golden_value) {
  double ours = random::normal(random::key(42), {16})[13].item<double>();
  EXPECT_NEAR(ours, 0.9092404601699081, 2 * 0x1p-53);
}

TEST(random, split_and_fold_in_agree) {
  Array key = random::key(11), children = random::split(key, 4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(checks::same_bits(random::fold_in(key, i), children[i]));
}

// A seed known at run time only makes the same key.
TEST(random, traced_seed) {
  checks::Function f = [](std::span<const Array> in) { return std::vector<Array>{random::key(in[0])}; };
  std::vector<Array> in{array(std::int64_t{-5})};
  checks::check_staged(f, in);
  EXPECT_TRUE(checks::same_bits(f(in)[0], random::key(-5)));
}

}  // namespace
}  // namespace apsis
