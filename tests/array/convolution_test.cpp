// Convolutions and windows against jax.lax.

#include "apsis/array/convolution.hpp"

#include <random>

#include "apsis/ops/convert.hpp"
#include "array/suite.hpp"
#include "ops/lax.hpp"

namespace {

using namespace apsis;
using namespace apsis::testing;

Padding padding_of(const Case& c) {
  const auto name = c.text.find("padding");
  if (name != c.text.end()) return Padding(name->second.c_str());
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  const Dims low = dims(c, "low"), high = dims(c, "high");
  for (std::size_t i = 0; i < low.size(); ++i) pairs.emplace_back(low[i], high[i]);
  return Padding(pairs);
}
PerAxis per_axis(const Case& c, const std::string& key) { return PerAxis(dims(c, key)); }

Array conv(const Case& c, Inputs x) {
  ConvGeneralDilatedOptions o{.window_strides = per_axis(c, "strides"),
                              .padding = padding_of(c),
                              .lhs_dilation = per_axis(c, "lhs_dilation"),
                              .rhs_dilation = per_axis(c, "rhs_dilation"),
                              .feature_group_count = number(c, "groups"),
                              .batch_group_count = number(c, "batch_groups")};
  if (c.text.contains("lhs")) o.dimensions = {c.text.at("lhs"), c.text.at("rhs"), c.text.at("out")};
  return conv_general_dilated(x[0], x[1], o);
}
WindowOptions window(const Case& c) {
  return {.window = per_axis(c, "window"),
          .strides = per_axis(c, "strides"),
          .padding = padding_of(c),
          .dilation = per_axis(c, "dilation")};
}

TEST(ArrayRoom, Convolution) {
  check_file(
      "convolution",
      {{"conv", one(conv)},
       {"reduce_window_sum", one([](const Case& c, Inputs x) { return reduce_window_sum(x[0], window(c)); })},
       {"reduce_window_max", one([](const Case& c, Inputs x) { return reduce_window_max(x[0], window(c)); })},
       {"reduce_window_min",
        one([](const Case& c, Inputs x) { return reduce_window_min(x[0], window(c)); })}});
}

ConvDimensions layout_of(const Case& c) {
  if (c.text.at("layout") == "none") return {};
  return {.lhs = "NHWC", .rhs = "HWIO", .out = "NHWC"};
}
Padding padding_named(const std::string& name) {
  if (name == "explicit") return Padding(std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}});
  return Padding(name.c_str());
}

TEST(ArrayRoom, ConvolutionHelpers) {
  const apsis::testing::Table table{
      {"conv_transpose", one([](auto& c, auto x) {
         return conv_transpose(x[0], x[1],
                               {.strides = per_axis(c, "strides"),
                                .padding = padding_named(c.text.at("padding")),
                                .rhs_dilation = number(c, "dilation"),
                                .dimensions = layout_of(c),
                                .transpose_kernel = flag(c, "turned")});
       })},
      {"patches", one([](auto& c, auto x) {
         const Dims window = dims(c, "window");
         return conv_general_dilated_patches(
             x[0], window,
             {.window_strides = per_axis(c, "strides"),
              .padding = Padding(std::vector<std::pair<std::int64_t, std::int64_t>>(
                  window.size(), {number(c, "low"), number(c, "high")})),
              .rhs_dilation = per_axis(c, "dilation"),
              .dimensions = layout_of(c)});
       })},
  };
  check_file("convolution_helpers", table);
}

TEST(ArrayRoom, WindowsOfOtherDtypes) {
  const Array x = array({3, 1, 4, 1, 5});
  EXPECT_EQ(reduce_window_max(x, {.window = 2, .padding = 1}).to_vector<int>(),
            (std::vector<int>{3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(reduce_window_sum(x, {.window = 3, .strides = 2}).to_vector<int>(), (std::vector<int>{8, 10}));
  const Array nan = array({1., std::nan(""), 2., 3.});
  for (const Array& y : {reduce_window_max(nan, {.window = 2}), reduce_window_min(nan, {.window = 2})}) {
    EXPECT_TRUE(std::isnan(y[0].item<double>()) && std::isnan(y[1].item<double>()));
    EXPECT_FALSE(std::isnan(y[2].item<double>()));
  }
  const Array lhs = astype(reshape(arange(12), {1, 2, 6}), i32), rhs = ones({1, 2, 3}, i32);
  EXPECT_EQ(conv_general_dilated(lhs, rhs).to_vector<int>(), (std::vector<int>{24, 30, 36, 42}));
  // Half precision: the sums are those of f32, rounded once.
  const Array half = conv_general_dilated(astype(lhs, bf16), astype(rhs, bf16));
  EXPECT_EQ(half.dtype(), bf16);
  EXPECT_EQ(half.to_vector<float>(), (std::vector<float>{24, 30, 36, 42}));
}

TEST(ArrayRoom, ConvolutionOfNothing) {
  EXPECT_EQ(conv_general_dilated(zeros({0, 2, 5}), zeros({3, 2, 2})).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(conv_general_dilated(zeros({1, 2, 0}), zeros({3, 2, 2}), {.padding = 2}).shape(),
            (Shape{1, 3, 3}));
  EXPECT_EQ(conv_general_dilated(zeros({1, 2, 3}), zeros({3, 2, 2}), {.padding = -2}).shape(),
            (Shape{1, 3, 0}));
  EXPECT_EQ(conv_general_dilated(zeros({1, 0, 3}), zeros({3, 0, 2})).to_vector<double>(),
            std::vector<double>(6, 0.));
}

// Cropping at one side may take what was added at the other, as in JAX.
TEST(ArrayRoom, ConvolutionCropsBeyondTheArray) {
  struct Case {
    std::int64_t size, low, high;
    std::vector<double> expected;
  };
  for (const Case& c : {Case{0, -1, 3, {0, 0}}, Case{1, -2, 4, {0, 0, 0}}, Case{2, -3, 5, {0, 0, 0, 0}},
                        Case{2, 4, -3, {0, 0, 0}}, Case{2, 5, -4, {0, 0, 0}}, Case{3, -2, 1, {1, 0}},
                        Case{3, 2, -4, {0}}, Case{3, -4, 0, {}}, Case{2, 1, -5, {}}}) {
    const std::vector<std::pair<std::int64_t, std::int64_t>> sides{{c.low, c.high}};
    for (const Dtype dtype : {f64, i32})
      EXPECT_EQ(conv_general_dilated(ones({1, 1, c.size}, dtype), ones({1, 1, 1}, dtype),
                                     {.padding = Padding(sides)})
                    .to_vector<double>(),
                c.expected)
          << c.size << " " << c.low << " " << c.high;
  }
}

// Zeros between the entries of lhs are nowhere, and the same comes out as of an lhs that has them;
// derivatives too.
TEST(ArrayRoom, ConvolutionOfDilatedArrays) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    const auto axes = static_cast<std::size_t>(any(1, 3));
    const std::int64_t groups = any(1, 3), channels = any(1, 9), features = any(1, 20);
    Shape lhs{any(1, 3), groups * channels}, rhs{groups * features, channels};
    Dims dilation, rhs_dilation, interior{0, 0};
    std::vector<std::pair<std::int64_t, std::int64_t>> sides;
    for (std::size_t i = 0; i < axes; ++i) {
      lhs.push_back(any(4, axes == 3 ? 7 : 20));
      rhs.push_back(any(1, 4));
      dilation.push_back(any(1, 4));
      rhs_dilation.push_back(any(1, 2));
      interior.push_back(dilation[i] - 1);
      sides.emplace_back(any(-3, 6), any(-3, 6));
    }
    const Array key = random::key(seed), x = random::normal(random::fold_in(key, 0), lhs, f64),
                k = random::normal(random::fold_in(key, 1), rhs, f64);
    ConvGeneralDilatedOptions o{
        .padding = Padding(sides), .rhs_dilation = PerAxis(rhs_dilation), .feature_group_count = groups};
    const auto with_zeros = [&](const Array& x, const Array& k) {
      const Dims none = Dims::filled(axes + 2, 0);
      return sin(
          conv_general_dilated(detail::lax::pad(x, detail::literal(f64, 0), none, none, interior), k, o));
    };
    const auto dilated = [&](const Array& x, const Array& k) {
      ConvGeneralDilatedOptions of = o;
      of.lhs_dilation = PerAxis(dilation);
      return sin(conv_general_dilated(x, k, of));
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto expect_near = [](const Array& got, const Array& want) {
      ASSERT_EQ(got.shape(), want.shape());
      EXPECT_TRUE(allclose(got, want, {.rtol = 1e-10, .atol = 1e-10}).item<bool>());
    };
    expect_near(dilated(x, k), with_zeros(x, k));
    const auto derivatives = [&](const auto& f) {
      return grad([&](const std::pair<Array, Array>& a) { return sum(square(f(a.first, a.second))); })(
          std::pair{x, k});
    };
    const auto got = derivatives(dilated), want = derivatives(with_zeros);
    expect_near(got.first, want.first);
    expect_near(got.second, want.second);
    expect_near(jit(dilated)(x, k), with_zeros(x, k));
  }
}

/// Σ a[i] v[k - i], term by term.
Array full_convolution(const Array& a, const Array& v) {
  const std::int64_t n = a.size() + v.size() - 1;
  Array total = zeros({n}, a.dtype());
  for (std::int64_t j = 0; j < v.size(); ++j) total = total + pad(a * v[j], {j}, {n - a.size() - j});
  return total;
}

// Kernels that are longer than a loop over slices is made of.
TEST(Convolve, LongKernels) {
  for (const Dtype dtype : {f64, f32, bf16, f16, i32, i64, u8, c64, c128})
    for (const std::int64_t m : {33, 100})
      for (const std::int64_t n : {20, 150}) {
        const auto numbers = [&](const Array& x) {  // small ones, of which sums are exact
          return astype(round(x * 1.4), dtype);
        };
        const Array a = numbers(sin(arange(static_cast<double>(n)))),
                    v = numbers(cos(arange(static_cast<double>(m))));
        const std::int64_t less = std::min(n, m), more = std::max(n, m);
        const Array full = full_convolution(a, v);
        EXPECT_TRUE(array_equal(convolve(a, v), full)) << dtype << " " << n << " " << m;
        EXPECT_TRUE(array_equal(convolve(a, v, ConvolveMode::Same),
                                full[range((less - 1) / 2, (less - 1) / 2 + more)]));
        EXPECT_TRUE(array_equal(convolve(a, v, ConvolveMode::Valid), full[range(less - 1, more)]));
        EXPECT_TRUE(array_equal(
            jit([](const Array& x, const Array& y) { return correlate(x, y, ConvolveMode::Full); })(a, v),
            full_convolution(a, conj(flip(v)))));
      }
  const Array a = sin(arange(90.)), v = cos(arange(40.));
  assert_numerical_gradients(
      [](const Array& x, const Array& y) { return convolve(x, y, ConvolveMode::Same); }, std::tuple(a, v));
  const Array both = stack({a, 2. * a});
  EXPECT_TRUE(tree_equal(vmap([&](const Array& x) { return convolve(x, v); })(both)[1], convolve(2. * a, v)));
}

}  // namespace
