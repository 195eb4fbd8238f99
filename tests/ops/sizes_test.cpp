// Sizes, counts, shifts and steps at the ends of their types: an error that says the shape and the user's
// line, or the right result; never a crash, never an array whose size is not its shape's.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min(), huge = std::int64_t(1) << 62,
                       half = std::int64_t(1) << 32;

/// The whole text of the Error that `run` throws; empty if none.
template <class Run>
std::string whole_error_of(const Run& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

const Array x = array({1., 2., 3.});

TEST(Sizes, TooLargeSaysShapeDtypeBytesAndPlace) {
  const std::vector<std::function<Array()>> calls{
      [] { return zeros({huge}); },
      [] {
        return zeros({half, half});
      },
      [] {
        return ones({half, half}, i32);
      },
      [] { return full({most}, 1.f); },
      [] {
        return zeros({0, huge});
      },
      [] {
        return zeros({half, 0, half});
      },
      [] { return iota({huge}, 0); },
      [] { return eye(half, half); },
      [] { return arange(huge); },
      [] { return arange(least, most); },
      [] { return arange(0., 8e14, .1); },
      [] { return linspace(0., 1., huge); },
      [] {
        return broadcast_to(x, {huge, 3});
      },
      [] { return tile(x, {huge}); },
      [] {
        return tile(x, {half, half});
      },
      [] {
        return tile(x, {most, most, most});
      },
      [] { return repeat(x, huge, 0); },
      [] { return repeat(x, most, 0); },
      [] { return pad(x, {huge}, {0}); },
      [] { return pad(x, {most}, {most}); },
      [] { return pad(x, {0}, {most}); },
      [] { return random::uniform(random::key(1), {huge}); },
      [] {
        return random::normal(random::key(1), {most, 2});
      },
      [] {
        return random::bits(random::key(1), {half, half});
      },
      [] { return jit([](const Array& v) { return tile(v, {huge}); })(x); },
      [] { return vmap([](const Array& v) { return broadcast_to(v, {huge}); })(x); },
      [] { return grad([](const Array& v) { return sum(repeat(v, huge, 0)); })(x); },
      [] {
        return abstract_array({huge, 2}, f64);
      },
      [] {
        return array(std::vector<double>{}, Shape{half, half});
      },
      [] {
        return view_of<double>(nullptr, {half, half});
      },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string text = whole_error_of(calls[i]);
    EXPECT_TRUE(text.find("cannot be: it would take") != std::string::npos ||
                text.find("multiply to more than 64 bits") != std::string::npos)
        << "call " << i << ": " << text;
  }
  EXPECT_NE(whole_error_of([] { zeros({huge}); }).find("sizes_test.cpp"), std::string::npos);
  EXPECT_NE(whole_error_of([] { tile(x, {huge}); }).find("sizes_test.cpp"), std::string::npos);
  EXPECT_NE(whole_error_of([] { arange(huge); }).find("sizes_test.cpp"), std::string::npos);
  EXPECT_NE(
      whole_error_of([] { jit([](const Array& v) { return tile(v, {huge}); })(x); }).find("sizes_test.cpp"),
      std::string::npos);
}

TEST(Sizes, NegativeSizesAreRefused) {
  const std::string negative = "has a negative size";
  EXPECT_NE(error_of([] { zeros({-1}); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { ones({2, least}); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { full({-1}, 1.); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { iota({-1}, 0); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { eye(-1); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { abstract_array({-1}, f64); }).find(negative), std::string::npos);
  EXPECT_NE(error_of([] { tile(x, {-1}); }).find("must not be negative"), std::string::npos);
  EXPECT_NE(error_of([] { repeat(x, least, 0); }).find("must not be negative"), std::string::npos);
  EXPECT_NE(error_of([] { linspace(0., 1., -1); }).find("must not be negative"), std::string::npos);
  EXPECT_NE(error_of([] { broadcast_to(x, {-1, 3}); }).find("does not broadcast"), std::string::npos);
  EXPECT_NE(error_of([] { pad(x, {least}, {most}); }), "");
  EXPECT_NE(error_of([] { pad(x, {least}, {0}); }).find("[pad]"), std::string::npos);
  EXPECT_NE(error_of([] { split(x, std::numeric_limits<int>::min()); }).find("[split]"), std::string::npos);
  EXPECT_NE(error_of([] { split_at(x, {least}); }).find("[split_at]"), std::string::npos);
  EXPECT_NE(error_of([] { split_at(x, {most}); }).find("[split_at]"), std::string::npos);
  EXPECT_NE(error_of([] { reshape(x, {-1, -1}); }).find("[reshape]"), std::string::npos);
  EXPECT_NE(error_of([] { reshape(x, {least}); }).find("[reshape]"), std::string::npos);
}

// Memory that is not there is refused before the system ends the process.
TEST(Sizes, MoreThanTheMachineHas) {
  const std::int64_t many = std::int64_t(1) << 43;
  EXPECT_NE(error_of([&] { zeros({many}); }).find("no memory for an array"), std::string::npos);
  EXPECT_NE(error_of([&] { arange(many); }).find("no memory for an array"), std::string::npos);
  EXPECT_NE(error_of([&] { repeat(x, many, 0); }).find("no memory for an array"), std::string::npos);
  auto large = jit([=](const Array& v) { return broadcast_to(v, {many, 3}); });
  EXPECT_NE(error_of([&] { large(x); }).find("no memory"), std::string::npos);
  auto outer_product = [](const Array& a) { return outer(a, a); };
  const Array long_one = zeros({std::int64_t(1) << 22});
  EXPECT_NE(error_of([&] { outer_product(long_one); }).find("no memory"), std::string::npos);
  EXPECT_NE(error_of([&] { jit(outer_product)(long_one); }).find("no memory"), std::string::npos);
}

// Arrays without elements cost nothing, however long their other axes are.
TEST(Sizes, NoElementsOnLongAxes) {
  const Array none = zeros({std::int64_t(1) << 40, 0});
  auto all_of_it = [](const Array& a) {
    return std::vector<Array>{a + 1.,
                              exp(a) * a,
                              cumsum(a, {.axis = 1}),
                              flip(a),
                              transpose(a),
                              sort(a, 1),
                              concatenate({a, a}, 1),
                              a(range({}, {}, 2)),
                              pad(a, {0, 0}, {1, 0}),
                              tile(a, {2}),
                              where(a > 0., a, 1.),
                              roll(a, 3, 0)};
  };
  for (const Array& a : all_of_it(none)) EXPECT_EQ(a.size(), 0);
  for (const Array& a : jit(all_of_it)(none)) EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(sum(none).item<double>(), 0.);
  EXPECT_EQ(jit([](const Array& a) { return sum(a * a); })(none).item<double>(), 0.);
  EXPECT_EQ(sum(none, {.axis = 0}).size(), 0);
}

TEST(Sizes, RollsAndRangesOfAnyLength) {
  for (std::int64_t shift :
       {least, least + 1, std::int64_t(-4), std::int64_t(0), std::int64_t(2), most - 1, most}) {
    const std::int64_t by = (shift % 3 + 3) % 3;
    std::vector<double> want(3);
    for (std::int64_t i = 0; i < 3; ++i)
      want[static_cast<std::size_t>((i + by) % 3)] = static_cast<double>(i + 1);
    expect_same_bits(roll(x, shift, 0), array(want));
  }
  expect_same_bits(x(range({}, {}, most)), array({1.}));
  expect_same_bits(x(range({}, {}, least)), array({3.}));
  expect_same_bits(x(range(1, {}, most)), array({2.}));
  expect_same_bits(x(range(1, {}, least)), array({2.}));
  expect_same_bits(x(range(least, most, 2)), array({1., 3.}));
  expect_same_bits(x(range(most, least, -2)), array({3., 1.}));
  expect_same_bits(x(range(most, {})), array(std::vector<double>{}));
  expect_same_bits(x.at(range({}, {}, most)).set(7.), array({7., 2., 3.}));
  expect_same_bits(grad([](const Array& v) { return sum(v(range({}, {}, most)) * 2.); })(x),
                   array({2., 0., 0.}));
  expect_same_bits(vmap([](const Array& v) { return v(range({}, {}, least)); })(stack({x, x})),
                   array({{3.}, {3.}}));
}

TEST(Sizes, ArangeOverTheWholeRange) {
  expect_same_bits(arange(least, most, most), array({least, std::int64_t(-1), most - 1}));
  expect_same_bits(arange(most, least, least), array({most, std::int64_t(-1)}));
  expect_same_bits(arange(most - 1, most, 5), array({most - 1}));
  expect_same_bits(arange(most, least, most), arange(0));
  expect_same_bits(arange(5, 0, -2), array({std::int64_t(5), std::int64_t(3), std::int64_t(1)}));
}

TEST(Sizes, AxesOutOfRange) {
  EXPECT_NE(error_of([] { sum(x, {.axis = {half}}); }).find("axis 4294967296 is out of range"),
            std::string::npos);
  EXPECT_NE(error_of([] { sum(x, {.axis = {-half}}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { cumsum(x, {.axis = {half}}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { argmax(x, {.axis = {half}}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { squeeze(x, {{half, 1}}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { flip(x, Dims{-half}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { transpose(x, Dims{half}); }).find("out of range"), std::string::npos);
  constexpr int lowest = std::numeric_limits<int>::min();
  EXPECT_NE(error_of([] { sort(x, lowest); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { expand_dims(x, lowest); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([] { take(x, array(0), lowest); }).find("out of range"), std::string::npos);
}

// Half of the unsigned 64-bit numbers are no signed ones: as positions they are past the end.
TEST(Sizes, UnsignedIndices) {
  const std::uint64_t past = std::uint64_t(1) << 63, last = ~std::uint64_t(0);
  for (const Array& i : {array(past), array(last)}) {
    expect_same_bits(x[i], array(3.));
    expect_same_bits(jit([](const Array& v, const Array& k) { return v[k]; })(x, i), array(3.));
    expect_same_bits(x.at(i).set(9.), x);
    expect_same_bits(jit([](const Array& v, const Array& k) { return v.at(k).set(9.); })(x, i), x);
    expect_same_bits(take_along_axis(x, i[newaxis], 0), array({3.}));
  }
  EXPECT_NE(error_of([&] { x[last]; }).find("is out of bounds"), std::string::npos);
  EXPECT_NE(error_of([&] { x[past]; }).find("is out of bounds"), std::string::npos);
  expect_same_bits(x(range(0, last)), x);
  expect_same_bits(x[array({last, std::uint64_t(0)})], array({3., 1.}));
}

TEST(Sizes, MasksBehindAnEllipsis) {
  const Array z = reshape(arange(6.), {2, 3});
  expect_same_bits(z(ellipsis, array({true, false, true})), array({{0., 2.}, {3., 5.}}));
  EXPECT_NE(error_of([&] {
              z(ellipsis, array({true, false, true, true}));
            }).find("does not fit the axes"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              z(ellipsis, array({true, false}));
            }).find("does not fit the axes"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              z(array({true, false, true}), ellipsis);
            }).find("does not fit the axes"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              z.at(ellipsis, array({true, false})).set(1.);
            }).find("does not fit the axes"),
            std::string::npos);
  const Array block = reshape(arange(24.), {2, 3, 4});
  expect_same_bits(block(ellipsis, array({true, false, true}), 1), array({{1., 9.}, {13., 21.}}));
}

// Bytes from outside that are no booleans count as true, compiled or not.
TEST(Sizes, BooleansOfOtherBytes) {
  const unsigned char bytes[] = {0, 1, 2, 255};
  const bool* data = reinterpret_cast<const bool*>(bytes);
  const Array want = array({false, true, true, true});
  for (const Array& mask : {view_of(data, {4}), array(std::span<const bool>(data, 4), {4})}) {
    expect_same_bits(mask, want);
    auto used = [](const Array& m) { return std::tuple{sum(m), where(m, 1., 0.), !m, m == true}; };
    expect_same_bits(jit(used)(mask), used(want));
    expect_same_bits(used(mask), used(want));
  }
}

TEST(Sizes, FloorDivisionByZero) {
  expect_same_bits(floor_divide(array({5, 0, -5}), 0), array({-2, -1, -2}));
  expect_same_bits(floor_divide(array({std::uint8_t(5), std::uint8_t(0)}), array(std::uint8_t(0))),
                   array({std::uint8_t(255), std::uint8_t(255)}));
  expect_same_bits(floor_divide(array(least), -1), array(least));
}

}  // namespace
}  // namespace apsis::testing
