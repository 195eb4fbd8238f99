// Fourier transforms against JAX's, with their pull-backs; compiled, in batches and in loops.

#include "apsis/array/fft.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <apsis/apsis.hpp>

#include <gtest/gtest.h>

#include "golden/arrays.hpp"
#include "golden/golden.hpp"
#include "runtime/region.hpp"

namespace apsis::testing {
namespace {

using golden::Case;

std::optional<Dims> option(const Case& c, const std::string& key) {
  if (!c.text.contains(key)) return {};
  Dims out;
  std::istringstream words(c.text.at(key));
  for (std::int64_t n; words >> n;) out.push_back(n);
  return out;
}

fft::Norm norm(const Case& c) {
  if (!c.text.contains("norm") || c.text.at("norm") == "backward") return fft::Norm::Backward;
  return c.text.at("norm") == "ortho" ? fft::Norm::Ortho : fft::Norm::Forward;
}

using Function = std::function<Array(const Case&, const Array&)>;

Function one(Array (*f)(const Array&, const fft::FFTOptions&, Loc)) {
  return [f](const Case& c, const Array& x) {
    fft::FFTOptions o{.norm = norm(c)};
    if (const auto n = option(c, "n")) o.n = (*n)[0];
    if (const auto axis = option(c, "axis")) o.axis = (*axis)[0];
    return f(x, o, Loc::here());
  };
}
Function several(Array (*f)(const Array&, const fft::FFTNOptions&, Loc)) {
  return [f](const Case& c, const Array& x) {
    fft::FFTNOptions o{.s = option(c, "s"), .norm = norm(c)};
    if (const auto axes = option(c, "axes")) o.axes = Axes(*axes);
    return f(x, o, Loc::here());
  };
}
Function two(Array (*f)(const Array&, const fft::FFT2Options&, Loc)) {
  return [f](const Case& c, const Array& x) {
    fft::FFT2Options o{.s = option(c, "s"), .norm = norm(c)};
    if (const auto axes = option(c, "axes")) o.axes = *axes;
    return f(x, o, Loc::here());
  };
}
Function shift(Array (*f)(const Array&, const Axes&, Loc)) {
  return [f](const Case& c, const Array& x) {
    const auto axes = option(c, "axes");
    return f(x, axes ? Axes(*axes) : Axes(), Loc::here());
  };
}
Function frequencies(Array (*f)(std::int64_t, const Array&, Loc)) {
  return [f](const Case& c, const Array&) {
    return f((*option(c, "n"))[0], std::stod(c.text.at("d")), Loc::here());
  };
}

const std::map<std::string, Function> functions = {{"fft", one(fft::fft)},
                                                   {"ifft", one(fft::ifft)},
                                                   {"rfft", one(fft::rfft)},
                                                   {"irfft", one(fft::irfft)},
                                                   {"hfft", one(fft::hfft)},
                                                   {"ihfft", one(fft::ihfft)},
                                                   {"fftn", several(fft::fftn)},
                                                   {"ifftn", several(fft::ifftn)},
                                                   {"rfftn", several(fft::rfftn)},
                                                   {"irfftn", several(fft::irfftn)},
                                                   {"fft2", two(fft::fft2)},
                                                   {"ifft2", two(fft::ifft2)},
                                                   {"rfft2", two(fft::rfft2)},
                                                   {"irfft2", two(fft::irfft2)},
                                                   {"fftshift", shift(fft::fftshift)},
                                                   {"ifftshift", shift(fft::ifftshift)},
                                                   {"fftfreq", frequencies(fft::fftfreq)},
                                                   {"rfftfreq", frequencies(fft::rfftfreq)}};

/// All numbers of an array; real and imaginary parts of complex ones.
std::vector<double> parts(const Array& a) {
  const bool complex = is_complex(a.dtype());
  if (!complex) return a.to_vector<double>();
  std::vector<double> out(static_cast<std::size_t>(2 * a.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = a.dtype() == c128 ? static_cast<const double*>(data_of(a))[i]
                               : static_cast<const float*>(data_of(a))[i];
  return out;
}

// Two transforms of at most 60 points, each within 2 ε log₂ n of the exact one.
double bound(const Array& a) {
  return item_size(a.dtype()) / (is_complex(a.dtype()) ? 2 : 1) == 8 ? 5e-15 : 3e-6;
}

void expect_near(const Array& got, const Array& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = parts(got), b = parts(want);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  EXPECT_LE(std::sqrt(error), bound(want) * std::sqrt(size)) << to_string(got) << "\nagainst\n"
                                                             << to_string(want);
}

void expect_identical(const Array& got, const Array& want) {
  ASSERT_EQ(got.aval(), want.aval());
  EXPECT_EQ(std::memcmp(data_of(got), data_of(want), got.aval().bytes()), 0)
      << to_string(got) << "\nagainst\n"
      << to_string(want);
}

TEST(ArrayRoom, Fft) {
  std::set<std::string> unused;
  for (const auto& [name, f] : functions) unused.insert(name);
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/fft.txt")) {
    std::string about = c.name;
    for (const auto& [key, words] : c.text) about += " " + key + "=" + words;
    SCOPED_TRACE(about);
    unused.erase(c.name);
    const Function& f = functions.at(c.name);
    const Array x = c.has("x") ? golden::to_array(c["x"]) : Array(0.);
    const Array y = f(c, x);
    expect_near(y, golden::to_array(c["y"]));
    if (c.has("g")) {
      auto [value, pull] = vjp([&](const Array& a) { return f(c, a); }, x);
      expect_identical(value, y);
      expect_near(std::get<0>(pull(golden::to_array(c["ct"]))), golden::to_array(c["g"]));
      auto [again, tangent] = jvp([&](const Array& a) { return f(c, a); }, x, x);
      expect_identical(again, y);
      expect_identical(tangent, y);
    }
    if (!c.has("x")) continue;
    const auto compiled = jit([&](const Array& a) { return f(c, a); });
    expect_identical(compiled(x), y);
    {
      detail::InterpretScope reference;
      expect_identical(compiled(x), y);
    }
    const Array lanes = jit(vmap([&](const Array& a) { return f(c, a); }, {.in_axes = {1}, .out_axes = 1}))(
        stack({x, flip(x), x}, 1));
    expect_identical(lanes(range(), 2), y);
  }
  EXPECT_TRUE(unused.empty()) << "no case of " << ::testing::PrintToString(unused);
}

// A filter in a loop whose number of trips depends on the lane: complex values within lanes.
TEST(ArrayRoom, FftInLoopsOfLanes) {
  const auto smoothed = [](const Array& x, const Array& times) {
    return fori_loop(
        0, times,
        [](const Array&, const Array& y) {
          return fft::irfft(fft::rfft(y), {.n = 12}) * 0.5 + fft::hfft(fft::ihfft(y, {.n = 9}), {.n = 12});
        },
        x);
  };
  const Array x = reshape(sin(arange(36.)), {3, 12}), times = array({2, 0, 3});
  const Array lanes = jit(vmap(smoothed))(x, times);
  for (int i = 0; i < 3; ++i) expect_identical(lanes[i], jit(smoothed)(x[i], times[i]));
}

// Gradients through a pair of transforms, whose second derivative is there as well.
TEST(ArrayRoom, FftGradients) {
  const Array weights = cos(arange(15.));
  const auto loss = [&](const Array& x) {
    return sum(square(fft::irfft(fft::rfft(x), {.n = 15})) * weights) +
           sum(fft::irfft2(fft::rfft2(reshape(x, {3, 5})), {.s = Dims{3, 5}}));
  };
  const Array x = sin(arange(15.));
  expect_near(grad(loss)(x), 2. * x * weights + 1.);
  expect_near(jit(hessian(loss))(x), diag(2. * weights));
}

TEST(ArrayRoom, FftOfHalfFloatsAndOfWeakNumbers) {
  const Array x = array({1., 2., 4.});
  EXPECT_EQ(fft::fft(astype(x, f16)).dtype(), c64);
  EXPECT_EQ(fft::rfft(astype(x, bf16)).dtype(), c64);
  EXPECT_EQ(fft::irfft(astype(x, f16)).dtype(), f32);
  expect_near(fft::rfft(astype(x, f16)), fft::rfft(astype(x, f32)));
  EXPECT_EQ(fft::fftfreq(4, Array(0.5, f32)).dtype(), f32);
  const Array many = fft::rfftfreq(140000, Array(1., f16));
  EXPECT_EQ(many.dtype(), f16);
  EXPECT_EQ(many[-1].item<float>(), 0.5f);
}

}  // namespace
}  // namespace apsis::testing
