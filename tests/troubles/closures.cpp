// Trouble: closures that hold traced values.
//
// In JAX 0.4.30 tracers lost their hash. `closure_convert` had found the values to hoist with dictionaries
// and sets keyed by tracers, and so had users' caches of solver state; a function converted inside one
// transformation and called inside another then failed with "unhashable type: Tracer", or hoisted a value of
// a transformation that had ended:
//
//   def outer(w, x):
//       f, consts = jax.closure_convert(lambda y: jnp.tanh(w * y), x)   # converted under grad …
//       cache[consts] = f                                               # TypeError: unhashable
//       return jax.lax.while_loop(cond, lambda y: f(y, *consts), x)     # … used in the body of a loop
//   jax.grad(outer)(w, x)
//
// and the shapes a converted function had been made for travelled as arrays of a tree, which vmap then
// batched. Here callables are values: what they captured is leaves, what they do is static and compares by
// content.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using Activation = Closure<Array(Array)>;

const Array xs = array({0.5, -1., 2.});
const Array ws = array({0.3, 0.7, -0.2});

Array tanh_of(const Array& w, const Array& x) { return tanh(w * x); }

/// A layer as a struct with a call operator: its fields are leaves.
struct Layer {
  Array weight;
  Array operator()(const Array& x) const { return tanh_of(weight, x); }
};

/// The same function of (w, x) with its weight held in each way there is.
template <class Use>
void for_each_callable(const Use& use) {
  {
    SCOPED_TRACE("lambda");
    use([](const Array& w, const Array&) { return [w](const Array& x) { return tanh_of(w, x); }; });
  }
  {
    SCOPED_TRACE("struct");
    use([](const Array& w, const Array&) { return Layer{w}; });
  }
  {
    SCOPED_TRACE("Partial");
    use([](const Array& w, const Array&) { return Partial{&tanh_of, w}; });
  }
  {
    SCOPED_TRACE("Closure");
    use([](const Array& w, const Array& like) {
      return closure_convert([w](const Array& x) { return tanh_of(w, x); }, like);
    });
  }
  {
    SCOPED_TRACE("jit of a lambda");
    use([](const Array& w, const Array&) { return jit([w](const Array& x) { return tanh_of(w, x); }); });
  }
}

/// A loss of (w, x) of one type for all: what differentiates it is compiled once.
using Loss = std::function<Array(const Array& w, const Array& x)>;

/// Value and gradient, compiled, and the gradient in a batch.
void expect_same_derivatives(const Loss& loss, const Loss& plain) {
  auto differentiated = value_and_grad<0, 1>(plain);
  auto [want, want_slope] = differentiated(ws, xs);
  Array twice = std::get<0>(differentiated(2. * ws, xs).second);
  auto [value, slope] = jit(value_and_grad<0, 1>(loss))(ws, xs);
  expect_near(value, want);
  expect_near(slope, want_slope);
  Array mapped = vmap(grad(loss), {.in_axes = {0, {}}})(stack({ws, 2. * ws}), xs);
  expect_near(mapped, stack({std::get<0>(want_slope), twice}));
}

/// `run(f, x)` as a loss, where f holds w, against the same with tanh written out.
template <class Run>
void expect_crosses(const Run& run) {
  const Loss plain = [&](const Array& w, const Array& x) {
    return sum(run([&w](const Array& y) { return tanh_of(w, y); }, x));
  };
  for_each_callable([&](const auto& make) {
    expect_same_derivatives([&](const Array& w, const Array& x) { return sum(run(make(w, x), x)); }, plain);
  });
}

TEST(Closures, CrossJit) {
  expect_crosses([](const auto& f, const Array& x) { return jit(f)(x); });
}
TEST(Closures, CrossEvalShape) {
  expect_crosses([](const auto& f, const Array& x) {
    Array shape = eval_shape(f, x);
    EXPECT_EQ(shape.shape(), x.shape());
    return f(x);
  });
}
TEST(Closures, CrossVmap) {
  expect_crosses([](const auto& f, const Array& x) {
    return vmap([&f](const Array& row) { return f(row); })(stack({x, x + 1.}));
  });
}
TEST(Closures, CrossGrad) {
  expect_crosses(
      [](const auto& f, const Array& x) { return grad([&f](const Array& y) { return sum(f(y)); })(x); });
}
TEST(Closures, CrossWhileLoop) {
  expect_crosses([](const auto& f, const Array& x) {
    using State = std::pair<Array, Array>;
    return while_loop([](const State& s) { return s.first < 3; },
                      [&f](const State& s) {
                        return State{s.first + 1, f(s.second)};
                      },
                      State{array(0), x})
        .second;
  });
}
TEST(Closures, CrossScan) {
  expect_crosses([](const auto& f, const Array& x) {
    return scan(
               [&f](const Array& y, const Array& step) {
                 Array next = f(y) + step;
                 return std::pair{next, next};
               },
               x, array({0.1, 0.2}))
        .second;
  });
}
TEST(Closures, CrossCond) {
  expect_crosses([](const auto& f, const Array& x) {
    return cond(
        sum(x) > 0., f, [](const Array& y) { return y; }, x);
  });
}
TEST(Closures, CrossCheckpoint) {
  expect_crosses([](const auto& f, const Array& x) { return sin(checkpoint(f)(x)); });
}
TEST(Closures, CrossClosureConvert) {
  expect_crosses([](const auto& f, const Array& x) { return closure_convert(f, x)(x); });
}
TEST(Closures, CrossSequentialMap) {
  expect_crosses([](const auto& f, const Array& x) {
    return sequential_map([&f](const Array& row) { return f(row); }, stack({x, x + 1., x - 1.}),
                          {.batch_size = 2});
  });
}

// A closure as an argument of a function with a rule of its own, whose residual is a pull-back.
TEST(Closures, CrossCustomRules) {
  auto apply = [](const Activation& act, const Array& x) { return act(x); };
  auto ruled = custom_vjp(
      apply, [apply](const Activation& act, const Array& x) { return vjp(apply, act, x); },
      [](const auto& pull, const Array& ct) { return pull(ct); });
  auto loss = [&](const Array& w, const Array& x) {
    return sum(sin(ruled(closure_convert([w](const Array& y) { return tanh_of(w, y); }, x), x)));
  };
  auto plain = [](const Array& w, const Array& x) { return sum(sin(tanh_of(w, x))); };
  expect_near(jit(grad<0, 1>(loss))(ws, xs), grad<0, 1>(plain)(ws, xs));
}

// Converted in one transformation, used in the next ones.
TEST(Closures, ConvertedUnderGradUsedInALoop) {
  auto outer = [](const Array& w, const Array& x) {
    Activation f = closure_convert([w](const Array& y) { return tanh(w * y); }, x);
    struct State {
      Array i, y;
      Activation f;  // carried: its captures are traced values of grad
    };
    State end = while_loop([](const State& s) { return s.i < 4; },
                           [](const State& s) {
                             return State{s.i + 1, s.f(s.y), s.f};
                           },
                           State{array(0), x, f});
    return sum(end.y);
  };
  auto written_out = [](const Array& w, const Array& x) {
    Array y = x;
    for (int i = 0; i < 4; ++i) y = tanh(w * y);
    return sum(y);
  };
  expect_near(grad(outer)(ws, xs), grad(written_out)(ws, xs));
  expect_near(jit(grad(outer))(ws, xs), grad(written_out)(ws, xs));
}

struct Model {
  Activation act;
  Array scale;
};
Array model_loss(const Model& m, const Array& x) { return sum(m.act(x)) * m.scale; }
Model model_of(const Array& w) {
  return {closure_convert([w](const Array& x) { return tanh(w * x); }, xs), array(2.)};
}

TEST(Closures, AreFieldsOfStructs) {
  Model m = model_of(ws);
  auto f = jit(grad(&model_loss));
  Model slope = f(m, xs);
  expect_near(slope.act.captures[0], 2. * xs / square(cosh(ws * xs)));
  expect_near(slope.scale, sum(tanh(ws * xs)));
  // Other captures, the same program: no new trace. Another program: a new one.
  f(model_of(2. * ws), xs);
  EXPECT_EQ(f.trace_count(), 1);
  Model other{closure_convert([](const Array& x) { return sin(ws * x); }, xs), array(2.)};
  expect_near(f(other, xs).act.captures[0], 2. * xs * cos(ws * xs));
  EXPECT_EQ(f.trace_count(), 2);
  // Leaves are mapped like any others; the shapes the closure was made for are none of them.
  Model many{m.act, stack({array(1.), array(3.)})};
  many.act.captures[0] = stack({ws, 2. * ws});
  Array each = vmap(&model_loss, {.in_axes = {0, {}}})(many, xs);
  expect_near(each, stack({sum(tanh(ws * xs)), 3. * sum(tanh(2. * ws * xs))}));
  EXPECT_EQ(leaf_count(m), 2u);
}

TEST(Closures, CompareByProgramAndPrint) {
  auto convert = [](const Array& w) {
    return closure_convert([w](const Array& x) { return tanh(w * x); }, xs);
  };
  Activation a = convert(ws), b = convert(ws), c = convert(2. * ws);
  Activation other = closure_convert([](const Array& x) { return sin(ws * x); }, xs);
  EXPECT_TRUE(a.same_program(b));
  EXPECT_TRUE(a.same_program(c));
  EXPECT_FALSE(a.same_program(other));
  EXPECT_TRUE(tree_equal(a, b));
  EXPECT_FALSE(tree_equal(a, c));
  EXPECT_TRUE(tree_structure_equal(a, c));
  EXPECT_EQ(a.text(), R"((v0: f64[3], v1: f64[3]) {
  v2: f64[3] = mul(v1, v0)
  v3: f64[3] = tanh(v2)
  return v3
})");
  EXPECT_EQ(tree_paths(a, "act"), std::vector<std::string>{"act.captures[0]"});
}

// Programs live as long as their closures; keys never mistake a new program for one that is gone.
TEST(Closures, KeysOutliveThePrograms) {
  auto f = jit([](const Activation& act, const Array& x) { return act(x); });
  for (int i = 1; i <= 5; ++i) {
    double k = i;
    Activation act = closure_convert([k](const Array& x) { return k * x; }, xs);
    expect_near(f(act, xs), k * xs);
  }
  EXPECT_EQ(f.trace_count(), 5);
}

TEST(Closures, AreSavedAndLoaded) {
  std::string path = (std::filesystem::temp_directory_path() / "apsis_closure.npz").string();
  Model m = model_of(ws);
  save(path, m);
  Model again = load(path, model_of(0. * ws));
  EXPECT_TRUE(tree_equal(m, again));
  std::remove(path.c_str());
  // Without the function itself: the program as text.
  Activation read = Activation::from_text(m.act.text(), again.act.captures);
  EXPECT_TRUE(read.same_program(m.act));
  expect_same_bits(read(xs), m.act(xs));
  EXPECT_THROW(Activation::from_text(m.act.text(), {}), Error);
}

// The captures of a struct with a weakly typed field are leaves all the same.
TEST(Closures, FieldsOfACallableAreCaptures) {
  struct Scaled {
    Array factor;
    Array operator()(const Array& x) const { return factor * x; }
  };
  Closure f = closure_convert(Scaled{2.}, xs);
  ASSERT_EQ(f.captures.size(), 1u);
  expect_near(grad([](const Activation& a) { return sum(a(xs)); })(f).captures[0], sum(xs));
}

TEST(Closures, StaticPartsAndEmptyLeavesAreKept) {
  struct In {
    Array x, maybe;
    int power = 0;
  };
  struct Out {
    Array y, nothing;
    int power = 0;
  };
  auto f = closure_convert(
      [](const In& in) {
        return Out{ws * pow(in.x, in.power), {}, in.power};
      },
      In{xs, {}, 2});
  static_assert(std::is_same_v<decltype(f), Closure<Out(In)>>);
  Out out = f(In{2. * xs, {}, 2});
  expect_near(out.y, 4. * ws * xs * xs);
  EXPECT_TRUE(out.nothing.is_empty());
  EXPECT_EQ(out.power, 2);
}

// Whatever transformations return is a value too, if what it was made from is.
TEST(Closures, TransformedCallablesAreTrees) {
  struct Holder {
    Jitted<Layer> fast;
    Vmap<Layer> mapped;
  };
  Holder h{jit(Layer{ws}), vmap(Layer{array(2.)})};
  auto loss = [](const Holder& holder, const Array& x) {
    return sum(holder.fast(x)) + sum(holder.mapped(x));
  };
  Holder slope = jit(grad(loss))(h, xs);
  expect_near(slope.fast.function().weight, xs / square(cosh(ws * xs)));
  expect_near(slope.mapped.f.weight, sum(xs / square(cosh(2. * xs))));
  struct Loss {
    Array weight;
    Array operator()(const Array& x) const { return sum(tanh_of(weight, x)); }
  };
  Partial shifted{[](const Grad<Loss, 0>& g, const Array& x) { return g(x); }, grad(Loss{ws})};
  expect_near(jit(shifted)(xs), ws / square(cosh(ws * xs)));
  EXPECT_EQ(leaf_count(shifted), 1u);
}

TEST(Closures, CrossDiffeqsolve) {
  auto final_value = [](const auto& field, const Array& y0) {
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., 0.1, y0, {.saveat = {.t1 = true}}).ys;
  };
  struct Decay {
    Array rate;
    Array operator()(const Array&, const Array& y) const { return -rate * y; }
  };
  Array y0 = array({1., 2.});
  auto by_struct = [&](const Array& k) { return sum(final_value(Decay{k}, y0)); };
  auto by_partial = [&](const Array& k) {
    return sum(final_value(
        Partial{[](const Array& rate, const Array&, const Array& y) { return -rate * y; }, k}, y0));
  };
  auto by_closure = [&](const Array& k) {
    return sum(final_value(
        closure_convert([k](const Array&, const Array& y) { return -k * y; }, array(0.), y0), y0));
  };
  Array k = array(0.7);
  Array want = jit(grad(by_struct))(k);
  EXPECT_NEAR(want.item<double>(), -3. * std::exp(-0.7), 1e-4);
  expect_near(jit(grad(by_partial))(k), want);
  expect_near(jit(grad(by_closure))(k), want);
  expect_near(grad(by_closure)(k), want);
}

/// What using a value says that `transformation` let out, up to the advice.
template <class Transformation>
std::string leak(const Transformation& transformation) {
  Array kept;
  transformation([&kept](const Array& x) { return kept = x; });
  try {
    kept + 1.;
  } catch (const Error& e) {
    std::string text = e.what();
    return text.substr(0, text.find(". Return it"));
  }
  return "nothing was thrown";
}

// A traced value that outlives its transformation is reported where it is used, with the place where it was
// made: inputs, the place of the transformation.
TEST(Closures, LeaksAreReportedWithTheirPlace) {
  auto made = [](unsigned line) {
    return std::string("it was made at ") + __FILE__ + ":" + std::to_string(line);
  };
  auto prefix = [](const char* what) {
    return std::string("[add] a traced value (f64[]) was used after its ") + what + " had ended: ";
  };
  const Array one = array(1.);
  unsigned line = __LINE__ + 1;  // of each lambda below, in turn
  auto by_jit = [&](auto f) { jit(f)(one); };
  auto by_grad = [&](auto f) { grad(f)(one); };
  auto by_vmap = [&](auto f) { vmap(f)(stack({one, one})); };
  auto by_jvp = [&](auto f) { jvp(f, one, one); };
  auto by_loop = [&](auto f) { while_loop([](const Array& x) { return x < 0.; }, f, one); };
  auto by_vjp = [&](auto f) { vjp(f, one); };
  auto by_shape = [&](auto f) { eval_shape(f, one); };
  EXPECT_EQ(leak(by_jit), prefix("jit or staged region") + made(line));
  EXPECT_EQ(leak(by_grad), prefix("derivative") + made(line + 1));
  EXPECT_EQ(leak(by_vmap), prefix("vmap") + made(line + 2));
  EXPECT_EQ(leak(by_jvp), prefix("derivative") + made(line + 3));
  EXPECT_EQ(leak(by_loop), prefix("jit or staged region") + made(line + 4));
  EXPECT_EQ(leak(by_vjp), prefix("derivative") + made(line + 5));
  EXPECT_EQ(leak(by_shape), prefix("jit or staged region") + made(line + 6));
  // And what was computed from them, its own place.
  Array kept;
  line = __LINE__ + 1;
  jit([&](const Array& x) { return kept = x * 2.; })(one);
  try {
    sin(kept);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(made(line)), std::string::npos) << e.what();
  }
  // Asked for its value too.
  for (auto ask :
       {+[](const Array& a) { (void)a.item<double>(); }, +[](const Array& a) { (void)a.to_vector<double>(); },
        +[](const Array& a) { (void)a.span<double>(); }, +[](const Array& a) { (void)bool(a); }}) {
    try {
      ask(kept);
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.id(), "leaked_tracer");
      EXPECT_NE(std::string(e.what()).find(made(line)), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace apsis::testing
