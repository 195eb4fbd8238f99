#pragma once

// Steps of loops over a buffer that have loops of unknown length within them, which read or update parts of
// it.

#include "control/buffer_loop.hpp"
#include "control/passes.hpp"

namespace apsis::testing {

struct Inner {
  Array j, a;
};
struct Updating {
  Array j, buffer;
};
struct Both {
  Array j, a, buffer;
};

/// a after n iterations of `step(j, a)`, or fewer if a grows large.
template <class F>
Array repeat(const Array& n, const Array& a, F&& step) {
  return while_loop([&](const Inner& t) { return (t.j < n) & (t.a < 30.); },
                    [&](const Inner& t) {
                      return Inner{t.j + 1, step(t.j, t.a)};
                    },
                    Inner{0, a})
      .a;
}

struct NestedStep {
  const char* name;
  Step step;
  std::int64_t size = entries;  // of the buffer: lists of lists of lists pay later
};

/// Steps of a loop over a State with a buffer of one axis. Their inner loops have different lengths, some
/// none.
inline const NestedStep nested_steps[] = {
    {"reads",
     [](const State& s) {
       return put(s, repeat(s.i % 4, s.x, [&](const Array& j, const Array& a) {
                    return a + 0.25 * sin(s.buffer[s.i - j]) * s.x;
                  }));
     }},
    {"reads where it has come to",
     [](const State& s) {
       return put(s, repeat(s.i % 5, s.x, [&](const Array& j, const Array& a) {
                    return cos(s.buffer[s.i - j] * a) * s.buffer[s.i];
                  }));
     }},
    {"updates",
     [](const State& s) {
       const Array n = s.i % 3 + 1;
       const Updating end =
           while_loop([&](const Updating& t) { return t.j < n; },
                      [&](const Updating& t) {
                        const Array at = s.i + t.j;
                        return Updating{t.j + 1, t.buffer.at(at + 1).set(sin(t.buffer[at]) * s.x + 0.4)};
                      },
                      Updating{0, s.buffer});
       return State{s.i + n, s.x, end.buffer};
     }},
    {"updates and sums up",
     [](const State& s) {
       const Both end =
           while_loop([&](const Both& t) { return t.j < s.i % 3; },
                      [&](const Both& t) {
                        const Array at = s.i - t.j, old = t.buffer[at];
                        return Both{t.j + 1, t.a + 0.1 * old, t.buffer.at(at).set(sin(old) + 0.2 * s.x)};
                      },
                      Both{0, s.x, s.buffer});
       return State{s.i + 1, s.x, end.buffer.at(s.i + 1).set(end.a)};
     }},
    {"three loops",
     [](const State& s) {
       const auto inner = [&](const Array& k, const Array& a) {
         return repeat(k, a, [&](const Array& j, const Array& b) {
           return sin(s.buffer[s.i - j] * b) + 0.5 * s.buffer[s.i - k];
         });
       };
       return put(s, repeat(s.i % 4, s.x, inner));
     },
     40 * entries},
    {"three loops, the innermost of known length",
     [](const State& s) {
       const auto inner = [&](const Array& k, const Array& a) {
         return fori_loop(
             0, 3, [&](const Array& j, const Array& b) { return sin(s.buffer[s.i - j - k] * b) + 0.1 * a; },
             a);
       };
       return put(s, repeat(s.i % 4, s.x, inner));
     }},
    {"in a loop of known length",
     [](const State& s) {
       const auto inner = [&](const Array& k, const Array& a) {
         return repeat((s.i + k) % 4, a,
                       [&](const Array& j, const Array& b) { return b * cos(s.buffer[s.i - j] + 0.1 * k); });
       };
       return put(s, fori_loop(0, 3, inner, Array(s.x)));
     }},
    {"in a branch",
     [](const State& s) {
       const auto product = [&](const Array& j, const Array& a) { return a * cos(s.buffer[s.i - j]); };
       const auto sum = [&](const Array& j, const Array& a) { return a + sin(s.buffer[s.i - j]) * s.x; };
       const auto single = [&] { return 0.5 * s.buffer[s.i] + s.x; };
       return put(s, switch_(s.i % 5 - 1, std::tuple{[&] { return repeat(s.i % 4, s.x, product); }, single,
                                                     [&] { return repeat(s.i % 3, s.x, sum); }}));
     }},
    {"two loops side by side",
     [](const State& s) {
       const auto product = [&](const Array& j, const Array& a) { return a * cos(s.buffer[s.i - j]); };
       const auto sum = [&](const Array& j, const Array& a) { return a + 0.2 * square(s.buffer[s.i - j]); };
       return put(s, sin(repeat(s.i % 3, s.x, product) + repeat((s.i + 1) % 4, s.x, sum)));
     }},
    {"a function called",
     [](const State& s) {
       const auto product = jit([](const Array& b, const Array& i, const Array& x) {
         return repeat(i % 3, x, [&](const Array& j, const Array& a) { return a * cos(b[i - j]); });
       });
       return put(s, product(s.buffer, s.i, s.x));
     }},
};

inline void each_nested_step(const std::function<void(const Step&, std::int64_t)>& test) {
  for (const NestedStep& each : nested_steps) {
    SCOPED_TRACE(each.name);
    test(each.step, each.size);
  }
}

}  // namespace apsis::testing
