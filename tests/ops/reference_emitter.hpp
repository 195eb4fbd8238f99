#pragma once

// An Emitter of one lane that computes at once in plain C++, so that an op's emit rule can be compared with
// its evaluate rule without a compiler. It is as strict as the machine is careless: an integer division that
// would trap, a shift beyond the width, or a conversion out of range fails the test.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>

#include "apsis/core/emitter.hpp"
#include "core/convert.hpp"
#include "ops/dtype_set.hpp"

namespace apsis::testing {

class ReferenceEmitter : public Emitter {
 public:
  using Compare = detail::Compare;

  static Value make(Dtype dtype, const void* element) {
    pool().push_back(0);
    std::memcpy(&pool().back(), element, item_size(dtype));
    return {&pool().back(), dtype};
  }
  static void store(Value v, void* element) { std::memcpy(element, v.handle, item_size(v.dtype)); }
  /// Forgets all values made so far.
  static void clear() { pool().clear(); }

  Value constant(Dtype dtype, std::uint64_t bits) override { return make(dtype, &bits); }
  Value add(Value a, Value b) override {
    return arithmetic(a, b, [](auto x, auto y) { return x + y; });
  }
  Value sub(Value a, Value b) override {
    return arithmetic(a, b, [](auto x, auto y) { return x - y; });
  }
  Value mul(Value a, Value b) override {
    return arithmetic(a, b, [](auto x, auto y) { return x * y; });
  }
  Value div(Value a, Value b) override {
    return on_floats(a, [&](auto x) { return x / get<decltype(x)>(b); });
  }
  Value fma(Value a, Value b, Value c) override {
    return on_floats(a, [&](auto x) { return std::fma(x, get<decltype(x)>(b), get<decltype(x)>(c)); });
  }
  Value neg(Value a) override {
    if (!is_floating(a.dtype)) return sub(constant(a.dtype, 0), a);
    return on_floats(a, [](auto x) { return -x; });
  }
  Value sqrt(Value a) override {
    return on_floats(a, [](auto x) { return std::sqrt(x); });
  }
  Value abs(Value a) override {
    return on_floats(a, [](auto x) { return std::fabs(x); });
  }
  Value floor(Value a) override {
    return on_floats(a, [](auto x) { return std::floor(x); });
  }
  Value ceil(Value a) override {
    return on_floats(a, [](auto x) { return std::ceil(x); });
  }
  Value trunc(Value a) override {
    return on_floats(a, [](auto x) { return std::trunc(x); });
  }
  Value rint(Value a) override {
    return on_floats(a, [](auto x) { return std::nearbyint(x); });
  }

  Value integer_div(Value a, Value b) override {
    return on_integers(a, [&](auto x) {
      auto y = get<decltype(x)>(b);
      return divides(x, y) ? static_cast<decltype(x)>(x / y) : x;
    });
  }
  Value integer_rem(Value a, Value b) override {
    return on_integers(a, [&](auto x) {
      auto y = get<decltype(x)>(b);
      return divides(x, y) ? static_cast<decltype(x)>(x % y) : x;
    });
  }
  Value bit_and(Value a, Value b) override { return bits(a.dtype, word(a) & word(b)); }
  Value bit_or(Value a, Value b) override { return bits(a.dtype, word(a) | word(b)); }
  Value bit_xor(Value a, Value b) override { return bits(a.dtype, word(a) ^ word(b)); }
  Value bit_not(Value a) override { return bits(a.dtype, a.dtype == Dtype::Bool ? word(a) ^ 1 : ~word(a)); }
  Value shift_left(Value a, Value count) override {
    return on_integers(a, [&](auto x) {
      return static_cast<decltype(x)>(static_cast<std::uint64_t>(x) << shift(a, count));
    });
  }
  Value shift_right(Value a, Value count) override {
    return on_integers(a, [&](auto x) { return static_cast<decltype(x)>(x >> shift(a, count)); });
  }
  Value population_count(Value a) override {
    return on_integers(a, [](auto x) {
      return static_cast<decltype(x)>(std::popcount(std::make_unsigned_t<decltype(x)>(x)));
    });
  }
  Value leading_zeros(Value a) override {
    return on_integers(a, [](auto x) {
      return static_cast<decltype(x)>(std::countl_zero(std::make_unsigned_t<decltype(x)>(x)));
    });
  }

  Value compare(Compare how, Value a, Value b) override {
    EXPECT_EQ(a.dtype, b.dtype);
    bool result = false;
    detail::visit_dtype<compared>(a.dtype, [&]<class T>(std::type_identity<T>) {
      T x = get<T>(a), y = get<T>(b);
      switch (how) {
        case Compare::Eq:
          result = x == y;
          break;
        case Compare::Ne:
          result = x != y;
          break;
        case Compare::Lt:
          result = x < y;
          break;
        case Compare::Le:
          result = x <= y;
          break;
        case Compare::Gt:
          result = x > y;
          break;
        case Compare::Ge:
          result = x >= y;
          break;
      }
    });
    return make(Dtype::Bool, &result);
  }
  Value select(Value condition, Value if_true, Value if_false) override {
    EXPECT_EQ(condition.dtype, Dtype::Bool);
    EXPECT_EQ(if_true.dtype, if_false.dtype);
    return word(condition) ? if_true : if_false;
  }
  Value bitcast(Value a, Dtype to) override {
    EXPECT_EQ(item_size(a.dtype), item_size(to));
    return bits(to, word(a));
  }
  Value convert(Value a, Dtype to) override {
    if (is_floating(a.dtype) && is_integer(to)) {
      double x;
      detail::convert_elements(a.dtype, a.handle, Dtype::F64, &x, 1);
      std::int64_t back;
      detail::convert_elements(a.dtype, a.handle, Dtype::I64, &back, 1);
      EXPECT_TRUE(std::fabs(x) <= 0x1p64) << "conversion of " << x << " is not clamped";
    }
    std::uint64_t out = 0;
    detail::convert_elements(a.dtype, a.handle, to, &out, 1);
    return make(to, &out);
  }
  void function(const char*, FunctionBody body, const void* context, std::span<const Value> in,
                std::span<Value> out) override {
    body(*this, context, in, out);
  }
  Value rare(Value mask, const char* symbol, std::span<const Value> in, Value fast) override {
    return word(mask) ? call(symbol, in) : fast;
  }

 private:
  static constexpr detail::DtypeSet compared =
      detail::bool_dtypes | detail::integer_dtypes | detail::only(Dtype::F32) | detail::only(Dtype::F64);

  static Value call(const char* symbol, std::span<const Value> in) {
    void* function = dlsym(RTLD_DEFAULT, symbol);
    EXPECT_NE(function, nullptr) << symbol;
    return on_floats(in[0], [&](auto x) {
      using T = decltype(x);
      if (in.size() == 1) return reinterpret_cast<T (*)(T)>(function)(x);
      return reinterpret_cast<T (*)(T, T)>(function)(x, get<T>(in[1]));
    });
  }

  // Values point here: rules may take a null handle for no value.
  static std::deque<std::uint64_t>& pool() {
    static std::deque<std::uint64_t> values;
    return values;
  }
  static std::uint64_t word(Value v) { return *static_cast<const std::uint64_t*>(v.handle); }
  static Value bits(Dtype dtype, std::uint64_t word) { return make(dtype, &word); }
  template <class T>
  static T get(Value v) {
    EXPECT_EQ(v.dtype, dtype_of<T>);
    T x;
    store(v, &x);
    return x;
  }
  template <class T>
  static Value of(T x) {
    return make(dtype_of<T>, &x);
  }

  template <class F>
  static Value on_floats(Value a, const F& f) {
    if (a.dtype == Dtype::F32) return of(static_cast<float>(f(get<float>(a))));
    return of(f(get<double>(a)));
  }
  template <class F>
  static Value on_integers(Value a, const F& f) {
    Value out;
    detail::visit_dtype<detail::integer_dtypes>(
        a.dtype, [&]<class T>(std::type_identity<T>) { out = of(f(get<T>(a))); });
    return out;
  }
  template <class F>
  static Value arithmetic(Value a, Value b, const F& f) {
    if (is_floating(a.dtype)) return on_floats(a, [&](auto x) { return f(x, get<decltype(x)>(b)); });
    return on_integers(a, [&](auto x) {
      return static_cast<decltype(x)>(
          f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(get<decltype(x)>(b))));
    });
  }
  template <class T>
  static bool divides(T x, T y) {
    bool ok =
        y != 0 && !(std::is_signed_v<T> && y == static_cast<T>(-1) && x == std::numeric_limits<T>::min());
    EXPECT_TRUE(ok) << "an integer division traps";
    return ok;
  }
  static int shift(Value a, Value count) {
    std::int64_t n;
    detail::convert_elements(count.dtype, count.handle, Dtype::I64, &n, 1);
    bool ok = n >= 0 && n < static_cast<std::int64_t>(item_size(a.dtype) * 8);
    EXPECT_TRUE(ok) << "a shift by " << n;
    return ok ? static_cast<int>(n) : 0;
  }
};

}  // namespace apsis::testing
