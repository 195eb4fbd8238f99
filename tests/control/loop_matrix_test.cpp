// Every kind of loop under every transformation, for 0, 1, 2 and some iterations: what the same statements
// written out one after the other give.

#include <functional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

// Erased, so that each transformation is instantiated once, not once a kind.
using Loop1 = std::function<Array(std::int64_t, const Array&, const Array&)>;  // (length, x, a)
using Loss = std::function<Array(const Array&)>;

struct Count {
  Array i, x;
};

Array step(const Array& x, const Array& a) { return sin(a * x) + 0.1 * x * x[0]; }

Array unrolled(std::int64_t n, const Array& x, const Array& a) {
  Array y = x;
  for (std::int64_t i = 0; i < n; ++i) y = step(y, a);
  return y;
}

Array repeat(const Array& n, const Array& x, const Array& a, const WhileOptions& options) {
  return while_loop([&](const Count& s) { return s.i < n; },
                    [&](const Count& s) {
                      return Count{s.i + 1, step(s.x, a)};
                    },
                    Count{0, x}, options)
      .x;
}

Loop1 repeated(const WhileOptions& options) {
  return [=](std::int64_t n, const Array& x, const Array& a) { return repeat(Array(n), x, a, options); };
}

Loop1 scanned(const ScanOptions& options) {
  return [=](std::int64_t n, const Array& x, const Array& a) {
    // The entries have parameters of their own, and all states are read: the last is the result.
    Array scales = broadcast_to(expand_dims(a, 0), {n});
    auto body = [](const Array& y, const Array& scale) {
      Array next = step(y, scale);
      return std::pair{next, next};
    };
    auto [last, all] = scan(body, x, scales, options);
    return n == 0 ? last : 0.5 * last + 0.5 * all[options.reverse ? 0 : n - 1];
  };
}

/// A loop of n steps, each of which is one of two steps of x and one of its own: 3 n steps in all.
Array nested_unrolled(std::int64_t n, const Array& x, const Array& a) { return unrolled(3 * n, x, a); }

Loop1 nested(const WhileOptions& outer, const WhileOptions& inner) {
  return [=](std::int64_t n, const Array& x, const Array& a) {
    return while_loop([&](const Count& s) { return s.i < n; },
                      [&](const Count& s) {
                        return Count{s.i + 1, step(repeat(array(2), s.x, a, inner), a)};
                      },
                      Count{0, x}, outer)
        .x;
  };
}

/// The same on rows of a buffer that the outer loop carries; `twice` makes two steps of row i of the buffer
/// x.
Loop1 of_rows(bool known_length, const std::function<Array(const Count&, const Array&)>& twice) {
  return [=](std::int64_t n, const Array& x, const Array& a) {
    const auto next = [&](const Count& s) {
      return Count{s.i + 1, s.x.at(s.i + 1).set(step(twice(s, a), a))};
    };
    const Count start{0, broadcast_to(x, {200, 2})};
    const Count end = known_length ? fori_loop(
                                         0, n, [&](const Array&, const Count& s) { return next(s); }, start)
                                   : while_loop([&](const Count& s) { return s.i < n; }, next, start);
    return Array(end.x[n]);
  };
}

/// Two steps in a loop of unknown length that reads the row itself.
Array reading_twice(const Count& rows, const Array& a) {
  return while_loop([](const Count& s) { return s.i < 2; },
                    [&](const Count& s) {
                      return Count{s.i + 1, step(where(s.i == 0, rows.x[rows.i], s.x), a)};
                    },
                    Count{0, zeros({2}, rows.x.dtype())})
      .x;
}

Array reading_once(const Count& rows, const Array& a) { return step(step(rows.x[rows.i], a), a); }

/// In every other iteration.
Array reading_in_a_branch(const Count& rows, const Array& a) {
  return cond(
      rows.i % 2 == 1, [&] { return reading_twice(rows, a); }, [&] { return reading_once(rows, a); });
}

struct Kind {
  const char* name;
  Loop1 loop;
  Loop1 reference = unrolled;
};

std::vector<Kind> kinds() {
  return {{"tape", repeated({})},
          {"bounded", repeated({.max_steps = 9, .kind = Loop::Bounded})},
          {"two checkpoints", repeated({.checkpoints = 2})},
          {"five checkpoints", repeated({.checkpoints = 5})},
          {"checkpoint bytes", repeated({.checkpoint_bytes = 100})},
          {"bounded, with checkpoints", repeated({.max_steps = 9, .kind = Loop::Bounded, .checkpoints = 3})},
          {"scan", scanned({})},
          {"reversed scan", scanned({.reverse = true})},
          {"scan with checkpoints", scanned({.checkpoints = 2})},
          {"scan with checkpoint bytes", scanned({.reverse = true, .checkpoint_bytes = 100})},
          {"for",
           [](std::int64_t n, const Array& x, const Array& a) {
             return fori_loop(
                 0, Array(n), [&](const Array&, const Array& y) { return step(y, a); }, x);
           }},
          {"for with checkpoints",
           [](std::int64_t n, const Array& x, const Array& a) {
             return fori_loop(0, Array(n), [&](const Array&, const Array& y) { return step(y, a); }, x,
                              {.checkpoints = 2});
           }},
          {"tapes in a tape", nested({}, {}), nested_unrolled},
          {"a tape in checkpoints", nested({.checkpoints = 2}, {}), nested_unrolled},
          {"checkpoints in a tape", nested({}, {.checkpoints = 2}), nested_unrolled},
          {"checkpoints in checkpoints", nested({.checkpoints = 3}, {.checkpoints = 2}), nested_unrolled},
          {"lists in a tape", of_rows(false, reading_twice), nested_unrolled},
          {"lists in a scan", of_rows(true, reading_twice), nested_unrolled},
          {"lists of a branch in a scan", of_rows(true, reading_in_a_branch), nested_unrolled}};
}

/// A loss of three numbers: where the loop starts, and its parameter.
Loss loss_of(const Loop1& loop, std::int64_t n) {
  return [=](const Array& z) {
    Array x = stack({z[0], z[1]});
    return sum(loop(n, x, z[2]) * cos(x)) + square(z[2]);
  };
}

const Array point = array({0.4, -0.7, 1.2});
Array direction() { return array({0.3, 1., -0.6}); }

struct Transformation {
  const char* name;
  std::function<Array(const Loss&)> apply;
};

std::vector<Transformation> transformations() {
  static const auto slope = [](const Loss& f, const Array& z) { return sum(grad(f)(z) * direction()); };
  static const auto push = [](const Loss& f, const Array& z) { return jvp(f, z, direction()).second; };
  return {
      {"value", [](const Loss& f) { return jit(f)(point); }},
      {"eager gradient", [](const Loss& f) { return grad(f)(point); }},
      {"gradient", [](const Loss& f) { return jit(grad(f))(point); }},
      {"jvp", [](const Loss& f) { return jit([=](const Array& z) { return push(f, z); })(point); }},
      {"forward over forward",
       [](const Loss& f) {
         Loss first = [=](const Array& z) { return push(f, z); };
         return jit([=](const Array& z) { return push(first, z); })(point);
       }},
      {"forward over reverse", [](const Loss& f) { return jit(hessian(f))(point); }},
      {"reverse over forward",
       [](const Loss& f) {
         Loss first = [=](const Array& z) { return push(f, z); };
         return jit(grad(first))(point);
       }},
      {"reverse over reverse",
       [](const Loss& f) {
         Loss first = [=](const Array& z) { return slope(f, z); };
         return jit(grad(first))(point);
       }},
      {"pull-back called twice",
       [](const Loss& f) {
         auto [value, pull] = vjp(f, point);
         auto [once] = pull(array(1.));
         auto [again] = pull(array(2.));
         expect_near(again, 2. * once);
         return again;
       }},
      {"pull-back under vmap",
       [](const Loss& f) {
         auto [value, pull] = vjp(f, point);
         return vmap([pull = pull](const Array& c) { return std::get<0>(pull(c)); })(array({1., -2.}));
       }},
      {"gradients in a batch",
       [](const Loss& f) {
         return jit(vmap(grad(f)))(stack({point, 0.5 * point, direction()}));
       }},
      {"gradient of a batch",
       [](const Loss& f) {
         Loss total = [=](const Array& z) { return sum(vmap(f)(stack({z, 0.5 * z, z * direction()}))); };
         return jit(grad(total))(point);
       }},
      {"Hessians in a batch",
       [](const Loss& f) {
         return jit(vmap(hessian(f)))(stack({point, 0.5 * point}));
       }},
  };
}

class LoopMatrix : public ::testing::TestWithParam<std::size_t> {};

TEST_P(LoopMatrix, IsWhatItsStepsWrittenOutAre) {
  const Kind kind = kinds()[GetParam()];
  SCOPED_TRACE(kind.name);
  for (const Transformation& t : transformations())
    for (std::int64_t n : {0, 1, 2, 7}) {
      SCOPED_TRACE(std::string(t.name) + ", " + std::to_string(n) + " iterations");
      expect_near(t.apply(loss_of(kind.loop, n)), t.apply(loss_of(kind.reference, n)), 1e-11);
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoopMatrix, ::testing::Range(std::size_t{0}, kinds().size()));

// Lanes that differ in length, none at all among them, in both directions.
TEST(LoopMatrix, LanesOfDifferentLength) {
  const std::vector<std::int64_t> lengths{3, 0, 1, 7, 2, 0, 5, 1, 4, 6, 2};
  Array n = array(lengths), x = reshape(cos(arange(33.)), {11, 3});
  for (const WhileOptions& options :
       {WhileOptions{}, WhileOptions{.max_steps = 7, .kind = Loop::Bounded}, WhileOptions{.checkpoints = 2},
        WhileOptions{.max_steps = 7, .checkpoints = 3}, WhileOptions{.checkpoint_bytes = 100}}) {
    SCOPED_TRACE(std::to_string(options.max_steps) + ", " + std::to_string(options.checkpoints));
    auto loss = [=](const Array& length, const Array& z) {
      return loss_of(
          [&](std::int64_t, const Array& y, const Array& a) { return repeat(length, y, a, options); }, 0)(z);
    };
    auto gradient = [=](const Array& length, const Array& z) {
      return grad([&](const Array& y) { return loss(length, y); })(z);
    };
    auto curvature = [=](const Array& length, const Array& z) {
      return grad([&](const Array& y) { return sum(gradient(length, y) * direction()); })(z);
    };
    Array values = jit(vmap(loss))(n, x), slopes = jit(vmap(gradient))(n, x),
          curvatures = jit(vmap(curvature))(n, x);
    Array total = jit(grad([=](const Array& z) { return sum(vmap(loss)(n, z)); }))(x);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      SCOPED_TRACE("lane " + std::to_string(i));
      const Loss written = loss_of(unrolled, lengths[i]);
      const Array at = x[static_cast<std::int64_t>(i)];
      const auto row = [&](const Array& all) { return Array(all[static_cast<std::int64_t>(i)]); };
      Loss slope = [=](const Array& z) { return sum(grad(written)(z) * direction()); };
      expect_near(row(values), written(at), 1e-12);
      expect_near(row(slopes), grad(written)(at), 1e-12);
      expect_near(row(total), grad(written)(at), 1e-12);
      expect_near(row(curvatures), grad(slope)(at), 1e-11);
    }
  }
}

}  // namespace
}  // namespace apsis::testing
