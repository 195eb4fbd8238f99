// custom_jvp, custom_vjp and custom_batch: rules that differ from the function's own derivative on purpose,
// so that it shows which one was used, under every transformation and nesting.

#include <apsis/apsis.hpp>

#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array xs = array({0.5, -1.25, 2.});

// x^3, with three times its derivative; and what has the same derivatives.
const auto cube = custom_jvp([](const Array& x) { return x * x * x; },
                             [](const Array& x, const Array& dx) {
                               return std::pair{x * x * x, 9. * x * x * dx};
                             });
const auto cubes = [](const Array& x) { return sum(cube(x)); };
const auto plain_cubes = [](const Array& x) { return 3. * sum(x * x * x); };

TEST(CustomJvp, ReplacesTheDerivative) {
  EXPECT_EQ(cubes(array(2.)).item<double>(), 8);
  Array slope = grad(plain_cubes)(xs);
  expect_near(grad(cubes)(xs), slope);
  expect_near(jit(grad(cubes))(xs), slope);
  expect_near(grad(jit(cubes))(xs), slope);
  expect_near(jvp(cubes, xs, xs).second, jvp(plain_cubes, xs, xs).second);
  expect_near(jacrev(cube)(xs), jacrev([](const Array& x) { return 3. * x * x * x; })(xs));
  expect_compiled_as_interpreted(jit(value_and_grad(cubes)), xs);
}

TEST(CustomJvp, HigherOrders) {
  expect_near(hessian(cubes)(xs), hessian(plain_cubes)(xs));
  expect_near(jit(hessian(cubes))(xs), hessian(plain_cubes)(xs));
  auto third = [](const auto& f) { return jacfwd(jacrev(jacfwd(f))); };
  expect_near(third(cubes)(xs), third(plain_cubes)(xs));
  expect_near(jit(third(jit(cubes)))(xs), third(plain_cubes)(xs));
}

TEST(CustomJvp, UnderVmap) {
  Array slope = grad(plain_cubes)(xs);
  expect_near(vmap(cube)(xs), xs * xs * xs);
  expect_near(vmap(grad(cubes))(xs), slope);
  expect_near(jit(vmap(grad(jit(cubes))))(xs), slope);
  expect_near(grad([](const Array& x) { return sum(vmap(cubes)(x)); })(xs), slope);
  Array table = reshape(arange(6.), {2, 3});
  auto both = [](const Array& x) { return sum(vmap(vmap(cube))(x)); };
  expect_near(grad(both)(table), grad(plain_cubes)(table));
  expect_near(vmap(jacfwd(cube), {.in_axes = {1}})(table),
              vmap(jacfwd([](const Array& x) { return 3. * x * x * x; }), {.in_axes = {1}})(table));
}

TEST(CustomJvp, InLoopsAndBranches) {
  auto in_scan = [](const auto& f) {
    return [f](const Array& x) {
      return sum(scan(
                     [&](const Array& c, const Array& v) {
                       return std::pair{0.5 * f(c) + v, c};
                     },
                     x, x * xs)
                     .first);
    };
  };
  auto in_while = [](const auto& f) {
    return [f](const Array& x) {
      return while_loop([](const std::pair<Array, Array>& s) { return s.first < 3 && s.second < 100.; },
                        [&](const std::pair<Array, Array>& s) {
                          return std::pair<Array, Array>{s.first + 1, 0.3 * f(s.second) + 1.};
                        },
                        std::pair<Array, Array>{0, x})
          .second;
    };
  };
  auto in_cond = [](const auto& f) {
    return [f](const Array& x) {
      return cond(
          x > 0., f, [](const Array& v) { return 2. * v; }, x);
    };
  };
  // The plain functions must have the value of the custom one and its derivative: by stop_gradient.
  auto plain = [](const Array& x) {
    Array y = x * x * x;
    return 3. * y - 2. * stop_gradient(y);
  };
  Array x = array(0.7);
  for (const auto& transform : {0, 1, 2}) {
    auto derived = [&](const auto& f) {
      if (transform == 0) return grad(f)(x);
      if (transform == 1) return jit(grad(f))(x);
      return vmap(grad(f))(stack({x, x, -x}));
    };
    expect_near(derived(in_scan(cube)), derived(in_scan(plain)));
    expect_near(derived(in_while(cube)), derived(in_while(plain)));
    expect_near(derived(in_cond(cube)), derived(in_cond(plain)));
  }
  auto twice = [](const auto& f) { return [f](const Array& v) { return grad(f)(v) * v; }; };
  // The second derivative goes through the rule's own program: it is right if that is.
  auto honest = custom_jvp([](const Array& v) { return v * v * v; },
                           [](const Array& v, const Array& dv) {
                             return std::pair{v * v * v, 3. * v * v * dv};
                           });
  auto power = [](const Array& v) { return v * v * v; };
  expect_near(grad(twice(in_while(honest)))(x), grad(twice(in_while(power)))(x));
  expect_near(jit(grad(twice(in_scan(honest))))(x), grad(twice(in_scan(power)))(x));
  expect_near(jvp(in_while(cube), x, array(1.)).second, grad(in_while(plain))(x));
}

struct Model {
  Array weight, bias;
  int power = 2;
};

// Captures nothing, so that its rules are staged for derivatives only, never to see what they capture.
const auto line = [](const Model& m, const Array& x, const Array& index) {
  return std::pair{m.weight * x + m.bias, index};
};

TEST(CustomJvp, OnTreesWithZerosThatAreEmpty) {
  using Arguments = std::tuple<Model, Array, Array>;
  auto symbolic = custom_jvp(
      line,
      [](const Arguments& args, const Arguments& moves) {
        const auto& [m, x, index] = args;
        const auto& [dm, dx, dindex] = moves;
        EXPECT_TRUE(dindex.is_empty());
        EXPECT_EQ(m.power, 5);
        EXPECT_TRUE(dm.bias.is_empty());
        EXPECT_TRUE(dx.is_empty());
        return std::pair{line(m, x, index), std::pair{100. * dm.weight * x, Array()}};
      },
      symbolic_zeros);
  auto loss = [&](const Array& weight) {
    return sum(symbolic(Model{weight, array(1.), 5}, xs, array(7)).first);
  };
  expect_near(grad(loss)(array(2.)), 100. * sum(xs));
  expect_near(jit(grad(loss))(array(2.)), 100. * sum(xs));

  auto filled = custom_jvp(line, [](const Arguments& args, const Arguments& moves) {
    const auto& [m, x, index] = args;
    const auto& [dm, dx, dindex] = moves;
    EXPECT_TRUE(dindex.is_empty());
    return std::pair{line(m, x, index), std::pair{10. * (dm.weight * x + m.weight * dx + dm.bias), Array()}};
  });
  auto all = [&](const Model& m, const Array& x) { return sum(filled(m, x, array(7)).first); };
  auto [model, x] = grad<0, 1>(all)(Model{array(2.), array(1.)}, xs);
  expect_near(model.weight, 10. * sum(xs));
  expect_near(model.bias, array(30.));
  expect_near(x, array({20., 20., 20.}));
  expect_near(grad([&](const Array& b) { return all(Model{array(2.), b}, xs); })(array(1.)), array(30.));
}

TEST(CustomJvp, CapturesAreConstants) {
  // The rule holds a traced value of a trace that is over when the derivative is asked for.
  auto outer = [](const Array& gain, const Array& x) {
    auto f = custom_jvp([](const Array& v) { return v * v; },
                        [gain](const Array& v, const Array& dv) {
                          return std::pair{v * v, gain * dv};
                        });
    return sum(jit([&](const Array& v) { return f(v); })(x));
  };
  expect_near(grad<1>(outer)(array(5.), xs), array({5., 5., 5.}));
  expect_near(jit(grad<1>(jit(outer)))(array(5.), xs), array({5., 5., 5.}));
  auto many = vmap(grad<1>(jit(outer)), {.in_axes = {0, {}}});
  expect_near(many(array({5., 6.}), xs), array({{5., 5., 5.}, {6., 6., 6.}}));
  // The derivative depends on the captured value, as anything computed does.
  auto slope = [&](const Array& gain) { return sum(grad<1>(outer)(gain, xs)); };
  expect_near(grad(slope)(array(5.)), array(3.));
}

TEST(CustomRules, MayHoldArrays) {
  const Array held = array({1., 2., 4.});
  auto f = custom_jvp(
      [](const Array& x) {
        return x * array({1., 1., 1.});
      },
      [held](const Array& x, const Array& dx) {
        return std::pair{x * array({1., 1., 1.}), dx * held * array({1., 10., 100.})};
      });
  auto g = custom_vjp([](const Array& x) { return 1. * x; },
                      [](const Array& x) {
                        return std::pair{x * array({1., 1., 1.}), array({1., 2., 4.})};
                      },
                      [held](const Array& kept, const Array& ct) {
                        return kept * array({1., 10., 100.}) * ct;
                      });
  Array want = array({1., 20., 400.});
  auto check = [&](const auto& function) {
    auto loss = [&](const Array& x) { return sum(function(x)); };
    expect_near(grad(loss)(xs), want);
    expect_near(grad(jit(loss))(xs), want);
    expect_near(jit(grad(jit(loss)))(xs), want);
    expect_near(vmap(grad(jit(loss)))(stack({xs, xs})), stack({want, want}));
    auto loop = [&](const Array& x) {
      return sum(fori_loop(
          0, 2, [&](const Array&, const Array& c) { return function(c); }, x));
    };
    expect_near(jit(grad(loop))(xs), want * want);
    expect_near(grad(checkpoint(loop))(xs), want * want);
  };
  check(f);
  check(g);
}

// Identity forwards; backwards the cotangent is cut to [-limit, limit].
const auto clipped = custom_vjp([](const Array& x, const Array&) { return x; },
                                [](const Array& x, const Array& limit) {
                                  return std::pair{x, limit};
                                },
                                [](const Array& limit, const Array& ct) {
                                  return std::tuple{clip(ct, -limit, limit), Array()};
                                });

TEST(CustomVjp, ReplacesTheTranspose) {
  auto loss = [](const Array& x, const Array& limit) { return sum(xs * clipped(x * x, limit)); };
  Array want = clip(xs, array(-1.), array(1.)) * 2. * xs;
  expect_near(grad(loss)(xs, array(1.)), want);
  expect_near(jit(grad(loss))(xs, array(1.)), want);
  expect_near(grad(jit(loss))(xs, array(1.)), want);
  expect_compiled_as_interpreted(jit(value_and_grad(loss)), xs, array(1.));
  Array zero = grad<1>(loss)(xs, array(1.));
  EXPECT_EQ(zero.item<double>(), 0);
  // What the backward rule computes is differentiated in its turn.
  auto along = [&](const Array& x) { return sum(grad(loss)(x, array(1.)) * x); };
  expect_near(grad(along)(xs), 4. * xs * clip(xs, array(-1.), array(1.)));
  expect_near(jacfwd(grad(loss))(xs, array(1.)), jacrev(grad(loss))(xs, array(1.)));
}

// scale * x, with ten times its derivatives; the residuals are a tree with a static part.
struct Kept {
  Array x, scale;
  int factor = 0;
};
const auto scaled = custom_vjp(
    [](const Array& scale, const Array& x) { return scale * x; },
    [](const Array& scale, const Array& x) {
      return std::pair{scale * x, Kept{x, scale, 10}};
    },
    [](const Kept& kept, const Array& ct) {
      return std::tuple{static_cast<double>(kept.factor) * sum(kept.x * ct), 10. * kept.scale * ct};
    });
const auto scaled_plain = [](const Array& scale, const Array& x) { return 10. * scale * x; };

TEST(CustomVjp, UnderVmapSharedArgumentsGetSums) {
  Array table = reshape(arange(6.), {3, 2}), scale = array(1.5);
  auto shared = [&](const auto& f) {
    return [f](const Array& s, const Array& rows) {
      return sum(vmap([&](const Array& row) { return sum(sin(rows[0]) * f(s, row)); })(rows));
    };
  };
  auto want = grad<0, 1>(shared(scaled_plain))(scale, table);
  auto got =
      grad<0, 1>(shared([](const Array& s, const Array& x) { return scaled(s, x) * 1.; }))(scale, table);
  expect_near(std::get<0>(got), std::get<0>(want));
  auto plain_value = [&](const Array& s, const Array& rows) {
    return vmap(grad<0, 1>([](const Array& a, const Array& row) { return sum(scaled_plain(a, row) * row); }),
                {.in_axes = {{}, 0}})(s, rows);
  };
  auto custom_value = [&](const Array& s, const Array& rows) {
    return vmap(grad<0, 1>([](const Array& a, const Array& row) {
                  return sum(scaled(a, row) * stop_gradient(row)) + 9. * sum(stop_gradient(a) * 0. * row) +
                         sum(10. * stop_gradient(a * row) * row);
                }),
                {.in_axes = {{}, 0}})(s, rows);
  };
  expect_near(custom_value(scale, table), plain_value(scale, table));
  expect_near(jit(custom_value)(scale, table), plain_value(scale, table));
}

TEST(CustomVjp, InLoops) {
  auto run = [](const auto& f) {
    return [f](const Array& scale, const Array& x) {
      return while_loop([](const std::pair<Array, Array>& s) { return s.first < 4; },
                        [&](const std::pair<Array, Array>& s) {
                          return std::pair<Array, Array>{s.first + 1, sin(f(scale, s.second))};
                        },
                        std::pair<Array, Array>{0, x})
          .second;
    };
  };
  // The value of scaled, and ten times its derivative.
  auto plain = [](const Array& s, const Array& x) { return 10. * (s * x) - 9. * stop_gradient(s * x); };
  Array scale = array(0.9), x = array(0.4);
  auto derivatives = [&](const auto& f) { return grad<0, 1>(run(f))(scale, x); };
  expect_near(derivatives(scaled), derivatives(plain));
  auto compiled = [&](const auto& f) { return jit(grad<0, 1>(run(f)))(scale, x); };
  expect_near(compiled(scaled), compiled(plain));
  Array many = array({0.1, 0.4, -0.3, 0.2, 0.7});
  auto lanes = [&](const auto& f) { return vmap(grad<0, 1>(run(f)), {.in_axes = {{}, 0}})(scale, many); };
  expect_near(lanes(scaled), lanes(plain));
  auto whole = [&](const auto& f) {
    return grad<0, 1>([&](const Array& s, const Array& v) {
      return sum(vmap(run(f), {.in_axes = {{}, 0}})(s, v));
    })(scale, many);
  };
  expect_near(whole(scaled), whole(plain));
  // The second derivative goes through the rules' own programs: it is right if they are.
  auto second = [&](const auto& f) {
    return grad([&](const Array& v) { return grad<1>(run(f))(scale, v); })(x);
  };
  auto honest = custom_vjp([](const Array& s, const Array& v) { return s * v; },
                           [](const Array& s, const Array& v) {
                             return std::pair{s * v, std::pair{s, v}};
                           },
                           [](const std::pair<Array, Array>& kept, const Array& ct) {
                             return std::tuple{sum(kept.second * ct), kept.first * ct};
                           });
  expect_near(second(honest), second([](const Array& s, const Array& v) { return s * v; }), 1e-12);
}

TEST(CustomVjp, TellsWhatIsPerturbed) {
  using Arguments = std::tuple<Array, Model>;
  auto f = custom_vjp(
      [](const Array& x, const Model& m) {
        return std::pair{x * m.weight, m.bias};
      },
      [](const Arguments& perturbed, const Array& x, const Model& m) {
        const auto& [px, pm] = perturbed;
        EXPECT_FALSE(px.item<bool>());
        EXPECT_TRUE(pm.weight.item<bool>());
        EXPECT_FALSE(pm.bias.item<bool>());
        return std::pair{std::pair{x * m.weight, m.bias}, x};
      },
      [](const Arguments& perturbed, const Array& x, const std::pair<Array, Array>& ct) {
        EXPECT_TRUE(std::get<1>(perturbed).weight.item<bool>());
        EXPECT_TRUE(ct.second.is_empty());
        return Arguments{Array(), Model{7. * sum(ct.first * x), Array()}};
      },
      symbolic_zeros);
  auto loss = [&](const Array& weight) { return sum(f(xs, Model{weight, array(3.)}).first); };
  expect_near(grad(loss)(array(2.)), 7. * sum(xs));
  expect_near(jit(grad(loss))(array(2.)), 7. * sum(xs));
  expect_near(vmap(grad(loss))(array({2., 3.})), 7. * sum(xs) * ones({2}));
}

TEST(CustomVjp, CapturesAreConstants) {
  auto outer = [](const Array& gain, const Array& x) {
    auto f = custom_vjp([](const Array& v) { return v * v; },
                        [gain](const Array& v) {
                          return std::pair{v * v, gain * v};
                        },
                        [gain](const Array& kept, const Array& ct) { return kept * gain * ct; });
    return sum(jit([&](const Array& v) { return f(v); })(x));
  };
  expect_near(grad<1>(outer)(array(5.), xs), 25. * xs);
  expect_near(jit(grad<1>(jit(outer)))(array(5.), xs), 25. * xs);
  auto many = vmap(grad<1>(jit(outer)), {.in_axes = {0, {}}});
  expect_near(many(array({5., 6.}), xs), stack({25. * xs, 36. * xs}));
  auto slope = [&](const Array& gain) { return sum(grad<1>(outer)(gain, xs)); };
  expect_near(grad(slope)(array(5.)), 10. * sum(xs));
}

TEST(CustomBatch, ReplacesTheBatchingRule) {
  auto f = custom_batch(
      [](const Array& x, const Array& w) { return sum(w * x); },
      [](std::int64_t lanes, const std::tuple<Array, Array>& mapped, const Array& x, const Array& w) {
        const auto& [mx, mw] = mapped;
        EXPECT_EQ(lanes, 2);
        EXPECT_TRUE(mx.item<bool>());
        EXPECT_FALSE(mw.item<bool>());
        return matmul(x, w) + 1000.;
      });
  Array rows = array({{1., 2., 3.}, {4., 5., 6.}}), w = array({1., 0., -1.});
  Array want = matmul(rows, w) + 1000.;
  auto mapped = vmap(f, {.in_axes = {0, {}}});
  expect_near(f(rows[0], w), array(-2.));
  expect_near(mapped(rows, w), want);
  expect_near(jit(mapped)(rows, w), want);
  expect_near(vmap(jit(f), {.in_axes = {0, {}}})(rows, w), want);
  // Along axis 1: the rule still sees the lanes first.
  expect_near(vmap(f, {.in_axes = {1, {}}})(transpose(rows), w), want);
  // The outer map meets what the rule is made of.
  auto nested = vmap(mapped, {.in_axes = {0, 0}});
  expect_near(nested(stack({rows, 2. * rows}), stack({w, w})), stack({want, 2. * (want - 1000.) + 1000.}));
  // Derivatives are those of the function; those of a mapped function go through its rule.
  expect_near(grad(f)(rows[0], w), w);
  expect_near(jit(grad(f))(rows[0], w), w);
  expect_near(grad([&](const Array& x) { return sum(mapped(x, w)); })(rows), stack({w, w}));
  expect_near(vmap(grad(f), {.in_axes = {0, {}}})(rows, w), stack({w, w}));
}

TEST(CustomRules, RetracedProgramsAreNotCompiledAgain) {
  auto run = [](double start) {
    auto f = custom_jvp([](const Array& x) { return 0.5 * x; },
                        [](const Array& x, const Array& dx) {
                          return std::pair{0.5 * x, dx};
                        });
    return while_loop([](const Array& x) { return x > 1.; }, [&](const Array& x) { return f(x); },
                      array(start));
  };
  run(100.);
  auto before = detail::compile_count();
  EXPECT_EQ(run(64.).item<double>(), 1);
  EXPECT_EQ(detail::compile_count(), before);
}

TEST(CustomRules, KeepTheirSignature) {
  auto f = custom_jvp([](const Array& x, int n) { return x * static_cast<double>(n); },
                      [](const std::tuple<Array, int>& at, const std::tuple<Array, int>& move) {
                        double n = std::get<1>(at);
                        return std::pair{std::get<0>(at) * n, 2. * n * std::get<0>(move)};
                      });
  EXPECT_EQ(f(3, 2).item<double>(), 6);  // a number at an Array parameter
  EXPECT_EQ(grad([&](const Array& x) { return f(x, 4); })(array(1.)).item<double>(), 8);
}

// Rules run long after the call: what they gather over the lanes of a vmap is found by its name even when the
// vmap is over, as when the derivative is taken outside of it.
TEST(CustomRules, WorkAcrossLanesOfAVmapInside) {
  auto f = [](const Array& x) { return x * psum(x * x, "i") + axis_index("i") * x; };
  auto tangent = [](const Array& x, const Array& dx) {
    return dx * psum(x * x, "i") + 2. * x * psum(x * dx, "i") + axis_index("i") * dx;
  };  // its own transpose
  auto by_jvp = custom_jvp(f, [=](const Array& x, const Array& dx) {
    return std::pair{f(x), tangent(x, dx)};
  });
  auto by_vjp = custom_vjp(
      f,
      [=](const Array& x) {
        return std::pair{f(x), x};
      },
      tangent);
  const Array x = array({1., 2., 3., 4.}), weights = array({1., -2., 3., .5});
  auto check = [&](const auto& g) {
    auto mapped = [](const auto& h) { return vmap(h, {.axis_name = "i"}); };
    auto outside = [&](const auto& h) {
      return grad([&h, &weights](const Array& v) { return sum(weights * h(v)); });
    };
    expect_near(outside(mapped(g))(x), outside(mapped(f))(x));
    expect_near(jit(outside(jit(mapped(jit(g)))))(x), outside(mapped(f))(x));
    expect_near(mapped(grad(g))(x), mapped(grad(f))(x));
    expect_near(mapped(jit(grad(jit(g))))(x), mapped(grad(f))(x));
    expect_near(jacrev(mapped(g))(x), jacrev(mapped(f))(x));
    auto nested = [](const auto& h) {
      return vmap(vmap(h, {.axis_name = "j"}), {.in_axes = {1}, .out_axes = {1}, .axis_name = "i"});
    };
    const Array rows = stack({x, 2. * x});
    expect_near(jacrev(nested(g))(rows), jacrev(nested(f))(rows));
    auto loop = [](const auto& h) {
      return [&h](const Array& v) {
        return while_loop([](const Array& s) { return s < 50.; }, [&h](const Array& s) { return h(s) + 1.; },
                          v);
      };
    };
    expect_near(outside(mapped(loop(g)))(x), outside(mapped(loop(f)))(x));
  };
  check(by_jvp);
  check(by_vjp);
  expect_near(hessian([&](const Array& v) { return sum(weights * vmap(by_jvp, {.axis_name = "i"})(v)); })(x),
              hessian([&](const Array& v) { return sum(weights * vmap(f, {.axis_name = "i"})(v)); })(x));
}

}  // namespace
}  // namespace apsis::testing
