// A tape goes when the last loop that reads it has ended: what is differentiated inside a loop takes the
// memory of one iteration, however many there are.

#include <apsis/apsis.hpp>

#include <gtest/gtest.h>

#include "control/nested_steps.hpp"
#include "control/peak_memory.hpp"

namespace apsis::testing {
namespace {

/// x → cos(x) until x is less than the bound or below: ten to forty steps, which differ from lane to lane.
Array settle(const Array& x) {
  return while_loop([](const Array& v) { return abs(cos(v) - v) > 1e-5; },
                    [](const Array& v) { return cos(v); }, x);
}

/// `steps` iterations of x ← x - gradient(x)/10.
template <class F>
auto descend(const F& gradient, std::int64_t steps) {
  return jit([=](const Array& x) {
    return fori_loop(
        0, steps, [=](const Array&, const Array& v) { return v - 0.1 * gradient(v); }, x);
  });
}

template <class F>
void expect_memory_of_one_iteration(const F& gradient, const Array& x) {
  const auto few = descend(gradient, 4), many = descend(gradient, 4000);
  const std::int64_t of_few = peak_of([&] { few(x); }), of_many = peak_of([&] { many(x); });
  EXPECT_GT(of_few, 0);
  // Half a kilobyte an iteration would be two megabytes. Slabs double, and which thread asks for one varies.
  EXPECT_LE(of_many, of_few + (1 << 20));
}

TEST(TapeMemory, LoopInALoop) { expect_memory_of_one_iteration(grad(settle), array(0.3)); }

TEST(TapeMemory, LanesInALoop) {
  const Array x = linspace(0.1, 1.4, 24);
  expect_memory_of_one_iteration(grad([](const Array& v) { return sum(vmap(settle)(v)); }), x);
  expect_memory_of_one_iteration(vmap(grad(settle)), x);
  expect_memory_of_one_iteration(vmap(grad(settle)), linspace(0.1, 1.4, 3));
}

TEST(TapeMemory, ALoopInLanesInALoop) {
  const auto nested = [](const Array& v) {
    return while_loop([](const Array& u) { return u > 0.8; },
                      [](const Array& u) { return 0.9 * settle(u) + 0.1 * u; }, v);
  };
  const auto loss = [=](const Array& v) { return sum(vmap(nested)(v)); };
  expect_memory_of_one_iteration(grad(loss), linspace(0.5, 3., 24));
}

TEST(TapeMemory, SecondDerivatives) {
  const auto loss = [](const Array& v) { return sum(vmap(settle)(v)); };
  const auto curvature = [=](const Array& v) {
    return grad([=](const Array& u) { return sum(square(grad(loss)(u))); })(v);
  };
  expect_memory_of_one_iteration(curvature, linspace(0.1, 1.4, 24));
}

TEST(TapeMemory, InABranch) {
  const auto loss = [](const Array& v) {
    return cond(
        sum(v) > 1., [](const Array& u) { return sum(vmap(settle)(u)); },
        [](const Array& u) { return sum(u * u); }, v);
  };
  expect_memory_of_one_iteration(grad(loss), linspace(0.1, 1.4, 24));
}

TEST(TapeMemory, ListsOfInnerLoops) {
  each_nested_step([](const Step& step, std::int64_t size) {
    expect_memory_of_one_iteration(grad(fixed_loop_of(step, size, 9)), array(0.3));
    const Called loop = loop_of(step, size);
    expect_memory_of_one_iteration(grad([=](const Array& x) { return loop(Array(9), x); }), array(0.3));
  });
}

TEST(TapeMemory, TwoTapesWithTheirOwnLanes) {
  const auto loss = [](const Array& v) { return sum(vmap(settle)(v) * vmap(settle)(2. * v)); };
  expect_memory_of_one_iteration(grad(loss), linspace(0.1, 1.4, 24));
}

}  // namespace
}  // namespace apsis::testing
