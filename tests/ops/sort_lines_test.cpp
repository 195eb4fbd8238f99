// Sorting digit by digit against std::stable_sort with the comparison of the documentation: values, orders,
// several keys, along any axis, lines around the length where the method changes, zeros of both signs, NaNs
// of several kinds.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "apsis/apsis.hpp"

namespace apsis {
namespace {

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return std::rotr(state ^ (state >> 29), 17);
  }
};

/// Numbers of which many are equal, and all special ones.
template <class T>
std::vector<T> some(std::int64_t count, std::uint64_t seed) {
  Random random{seed};
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t kind = random.next() % 16, bits = random.next();
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      const T special[] = {T(0),
                           T(-0.),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           -Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           -Limits::max()};
      all.push_back(kind < 8    ? special[kind]
                    : kind < 12 ? T(static_cast<double>(bits % 9) - 4)
                                : T(static_cast<double>(static_cast<std::int64_t>(bits)) * 1e-9));
    } else {
      all.push_back(kind < 8 ? static_cast<T>(bits % 5) : static_cast<T>(bits));
    }
  }
  return all;
}

template <class T>
bool before(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (a == a && b != b);
  else
    return a < b;
}

template <class T>
std::vector<T> elements_of(const Array& a) {
  const auto* first = static_cast<const T*>(data_of(a));
  return {first, first + a.size()};
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
Array array_of(const std::vector<T>& elements, Dtype dtype) {
  Array a = allocate(Aval(dtype, {static_cast<std::int64_t>(elements.size())}));
  std::memcpy(mutable_data<T>(a), elements.data(), elements.size() * sizeof(T));
  return a;
}

constexpr std::int64_t lengths[] = {1, 2, 3, 31, 255, 256, 257, 258, 1000, 5000};

template <class T>
void check(Dtype dtype) {
  for (const std::int64_t count : lengths) {
    SCOPED_TRACE(std::string(name_of(dtype)) + ", " + std::to_string(count));
    const std::vector<T> x = some<T>(count, 7 + static_cast<std::uint64_t>(count));
    std::vector<std::int64_t> places(x.size());
    std::iota(places.begin(), places.end(), std::int64_t{0});
    const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
    std::ranges::stable_sort(places, [&](std::int64_t a, std::int64_t b) { return before(at(a), at(b)); });
    std::vector<T> sorted;
    for (std::int64_t i : places) sorted.push_back(at(i));
    EXPECT_TRUE(same_bits(elements_of<T>(sort(array_of(x, dtype))), sorted));
    EXPECT_EQ(elements_of<std::int64_t>(argsort(array_of(x, dtype))), places);
    if constexpr (std::is_floating_point_v<T>) {  // nothing special: values alone are sorted
      std::vector<T> plain;
      for (T v : x) plain.push_back(v != v || v == 0 ? T(1) : v);
      sorted = plain;
      std::ranges::sort(sorted);
      EXPECT_TRUE(same_bits(elements_of<T>(sort(array_of(plain, dtype))), sorted));
    }
    // Along the first of two axes: elements of a line are apart.
    const Array wide = stack({array_of(x, dtype), array_of(x, dtype)}, 1);
    EXPECT_TRUE(
        same_bits(elements_of<T>(sort(wide, 0)(range(), 1)), elements_of<T>(sort(array_of(x, dtype)))));
  }
}

TEST(SortLines, EveryRealDtype) {
  check<std::int8_t>(i8);
  check<std::int16_t>(i16);
  check<std::int32_t>(i32);
  check<std::int64_t>(i64);
  check<std::uint8_t>(u8);
  check<std::uint16_t>(u16);
  check<std::uint32_t>(u32);
  check<std::uint64_t>(u64);
  check<float>(f32);
  check<double>(f64);
}

// What f32 is exact for sorts as f32 does.
TEST(SortLines, SmallFloatsAndBooleans) {
  for (const std::int64_t count : lengths) {
    const Array x = array_of(some<float>(count, 99), f32);
    for (const Dtype dtype : {bf16, f16}) {
      const Array narrow = astype(x, dtype);
      EXPECT_EQ(elements_of<std::int64_t>(argsort(narrow)),
                elements_of<std::int64_t>(argsort(astype(narrow, f32))));
      const Array a = sort(narrow), b = astype(sort(astype(narrow, f32)), dtype);
      EXPECT_TRUE(same_bits(elements_of<std::uint16_t>(a), elements_of<std::uint16_t>(b)))
          << name_of(dtype) << count;
    }
    const Array mask = x > 0.f;
    EXPECT_EQ(elements_of<std::uint8_t>(sort(mask)),
              elements_of<std::uint8_t>(astype(sort(astype(mask, u8)), boolean)));
  }
}

// The real part first, then the imaginary one, each with NaN last.
TEST(SortLines, ComplexNumbers) {
  for (const std::int64_t count : lengths) {
    const std::vector<double> re = some<double>(count, 5), im = some<double>(count, 6);
    std::vector<complex128> z;
    for (std::size_t i = 0; i < re.size(); ++i) z.push_back({re[i], im[i]});
    std::vector<complex128> sorted = z;
    std::ranges::stable_sort(sorted, [](const complex128& a, const complex128& b) {
      if (before(a.real, b.real) || before(b.real, a.real)) return before(a.real, b.real);
      return before(a.imag, b.imag);
    });
    EXPECT_TRUE(same_bits(elements_of<complex128>(sort(array_of(z, c128))), sorted)) << count;
  }
}

TEST(SortLines, SeveralKeys) {
  for (const std::int64_t count : lengths) {
    const std::vector<std::int64_t> a = some<std::int64_t>(count, 1);
    const std::vector<double> b = some<double>(count, 2);
    std::vector<std::int64_t> first;
    for (std::int64_t v : a) first.push_back(v % 3);
    std::vector<std::int64_t> places(a.size());
    std::iota(places.begin(), places.end(), std::int64_t{0});
    std::ranges::stable_sort(places, [&](std::int64_t x, std::int64_t y) {
      const auto i = static_cast<std::size_t>(x), j = static_cast<std::size_t>(y);
      return first[i] != first[j] ? first[i] < first[j] : before(b[i], b[j]);
    });
    const Array operands[] = {array_of(first, i64), array_of(b, f64), arange(count)};
    EXPECT_EQ(elements_of<std::int64_t>(sort(operands, 0, 2)[2]), places) << count;
  }
}

}  // namespace
}  // namespace apsis
