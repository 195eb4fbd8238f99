#pragma once

// The loop over a buffer that tests of tapes differentiate; each test has its own steps.

#include <functional>

#include "apsis/apsis.hpp"

namespace apsis::testing {

struct State {
  Array i, x, buffer;
};

using Step = std::function<State(const State&)>;

inline State put(const State& s, const Array& value) {
  return {s.i + 1, s.x, s.buffer.at(s.i + 1).set(value)};
}

using Called = std::function<Array(const Array&, const Array&)>;

/// The step made n times, on a buffer of so many entries that starts as x.
inline Called loop_of(const Step& step, std::int64_t size) {
  return [step, size](const Array& n, const Array& x) {
    const State start{0, x, broadcast_to(x, {size})};
    const State end = while_loop([&](const State& s) { return s.i < n; }, step, start);
    return Array(end.buffer[n] + end.x);
  };
}

/// The step made a fixed number of times, in a loop of known length.
inline std::function<Array(const Array&)> fixed_loop_of(const Step& step, std::int64_t size, std::int64_t n) {
  return [=](const Array& x) {
    const State start{0, x, broadcast_to(x, {size})};
    const State end = fori_loop(
        0, n, [&](const Array&, const State& s) { return step(s); }, start);
    return Array(end.buffer[end.i] + end.x);
  };
}

inline Called gradient_of(const Called& f) {
  return [f](const Array& n, const Array& x) { return grad([&](const Array& y) { return f(n, y); })(x); };
}

}  // namespace apsis::testing
