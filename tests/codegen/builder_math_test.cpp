// The elementary functions, compiled, against the evaluator's: the same bits at every number of lanes and
// level.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "ops/emitter_model.hpp"
#include "ops/math/functions.hpp"

namespace apsis::detail {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
struct Record {
  const char* name;
  int arity;
  Value (*emit)(Emitter& e, Value x, Value y);
  T (*evaluate)(T x, T y);
};

template <class T>
std::vector<Record<T>> records() {
#define APSIS_RECORD(name, arity, ...)                                                                      \
  {#name, arity,                                                                                            \
   [](Emitter& e, Value x, [[maybe_unused]] Value y) {                                                      \
     const EmitterModel<T> m{&e};                                                                           \
     if constexpr (arity == 1)                                                                              \
       return math::name(math::Real<EmitterModel<T>>{m, {x}}).v.v;                                          \
     else                                                                                                   \
       return math::name(math::Real<EmitterModel<T>>{m, {x}}, math::Real<EmitterModel<T>>{m, {y}}).v.v;     \
   },                                                                                                       \
   [](T x, [[maybe_unused]] T y) {                                                                          \
     const math::ScalarModel<T> m;                                                                          \
     if constexpr (arity == 1)                                                                              \
       return math::name(math::Real<math::ScalarModel<T>>{m, x}).v;                                         \
     else                                                                                                   \
       return math::name(math::Real<math::ScalarModel<T>>{m, x}, math::Real<math::ScalarModel<T>>{m, y}).v; \
   }},
  return {APSIS_MATH_FUNCTIONS(APSIS_RECORD)};
}

// Edge values, then all exponents alike, then the range where most arguments lie.
template <class T>
std::vector<T> samples() {
  using L = std::numeric_limits<T>;
  std::vector<T> list = {T(0),      -T(0),         T(1),           T(-1),          T(0.5),          T(-0.5),
                         T(2),      T(10),         L::min(),       -L::min(),      L::denorm_min(), L::max(),
                         -L::max(), L::infinity(), -L::infinity(), L::quiet_NaN(), T(1e5),          T(-1e5),
                         T(1e30),   T(709),        T(88),          T(-745),        T(-104)};
  std::mt19937_64 random(20);
  while (list.size() < 500) list.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  std::uniform_real_distribution<T> near(-4, 4), far(-50, 50);
  while (list.size() < 900) list.push_back(near(random));
  while (list.size() < 1024) list.push_back(far(random));
  return list;
}

template <class T>
void check_functions(int lanes, Level level) {
  const auto list = records<T>();
  auto b = make_builder();
  const Type parameters[] = {pointer_type, pointer_type, pointer_type};
  for (const auto& r : list) {
    b->begin(b->declare((std::string("entry_") + r.name).c_str(), parameters, {}, true));
    b->set_lanes(lanes);
    const Value x = b->load(b->pointer_parameter(0), dtype_of<T>),
                y = b->load(b->pointer_parameter(1), dtype_of<T>);
    const Value result = r.emit(*b, x, y);
    b->store(b->pointer_parameter(2), result);
    b->return_values({});
    b->end();
  }
  const auto code = b->finish({.level = level});
  const std::vector<T> x = samples<T>();
  std::vector<T> y(x.rbegin(), x.rend()), got(x.size());
  std::shuffle(y.begin(), y.end(), std::mt19937_64(7));
  for (const auto& r : list) {
    const auto f = reinterpret_cast<void (*)(const T*, const T*, T*)>(
        code->find((std::string("entry_") + r.name).c_str()));
    for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(lanes)) f(&x[i], &y[i], &got[i]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T expected = r.evaluate(x[i], y[i]);
      if (std::isnan(expected) && std::isnan(got[i])) continue;
      ASSERT_EQ(std::bit_cast<Bits<T>>(got[i]), std::bit_cast<Bits<T>>(expected))
          << r.name << "(" << x[i] << ", " << y[i] << ") lanes " << lanes << " level "
          << static_cast<int>(level);
    }
  }
}

TEST(BuilderMath, EqualsTheEvaluator) {
  for (Level level : {Level::None, Level::Less})
    for (int lanes : {1, 4, 8, 16}) {
      check_functions<float>(lanes, level);
      check_functions<double>(lanes, level);
    }
}

}  // namespace
}  // namespace apsis::detail
