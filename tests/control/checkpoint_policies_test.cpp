// checkpoint: the same values and derivatives, by policy less memory. The memory is measured.

#include <apsis/apsis.hpp>

#include "control/peak_memory.hpp"
#include "ir/graph.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array xs = array({0.5, -1.25, 2.});

TEST(CheckpointPolicies, KeepsValuesAndDerivatives) {
  auto body = [](const Array& x, const Array& w) { return sin(w * exp(cos(x))) * x; };
  for (const CheckpointOptions& options :
       {CheckpointOptions{}, CheckpointOptions{.everything = true}, CheckpointOptions{.dots = true}}) {
    auto f = checkpoint(body, options);
    auto loss = [&](const auto& g) { return [&g](const Array& x, const Array& w) { return sum(g(x, w)); }; };
    Array w = array(0.7);
    expect_near(jit(f)(xs, w), jit(body)(xs, w));
    auto want = grad<0, 1>(loss(body))(xs, w);
    expect_near(grad<0, 1>(loss(f))(xs, w), want);
    expect_near(jit(grad<0, 1>(loss(f)))(xs, w), want);
    expect_near(grad<0, 1>(jit(loss(f)))(xs, w), want);
    expect_near(vmap(grad<0, 1>(loss(f)), {.in_axes = {0, {}}})(xs, w),
                vmap(grad<0, 1>(loss(body)), {.in_axes = {0, {}}})(xs, w));
    expect_near(grad([&](const Array& x) {
                  return sum(vmap(f, {.in_axes = {0, {}}})(x, w));
                })(xs),
                std::get<0>(want));
    expect_near(jvp(loss(f), std::tuple{xs, w}, std::tuple{xs, w}).second,
                jvp(loss(body), std::tuple{xs, w}, std::tuple{xs, w}).second);
    expect_derivatives([&](const Array& x) { return sum(f(x, w) * xs); }, xs);
  }
}

TEST(CheckpointPolicies, InLoopsAndBranches) {
  auto step = [](const Array& c, const Array& x) { return std::pair{sin(c * x) + c, c * c}; };
  auto run = [](const auto& f) {
    return [f](const Array& c) {
      auto [last, ys] = scan(f, c, array({0.1, 0.7, -0.4, 0.9}));
      return last * sum(ys);
    };
  };
  Array at = array(0.8);
  auto f = checkpoint(step);
  expect_near(grad(run(f))(at), grad(run(step))(at));
  expect_near(jit(grad(run(f)))(at), grad(run(step))(at));
  expect_near(vmap(grad(run(f)))(xs), vmap(grad(run(step)))(xs));
  expect_near(grad(grad(run(f)))(at), grad(grad(run(step)))(at));
  // A loop of unknown length inside, and a branch.
  auto inside = [](const Array& x) {
    Array y = while_loop([](const Array& v) { return v < 10.; },
                         [&](const Array& v) { return v * (1.5 + x * x); }, x * x + 0.1);
    return cond(
        x > 0., [](const Array& v) { return log(v); }, [](const Array& v) { return v * v; }, y);
  };
  auto checked = checkpoint(inside);
  expect_near(vmap(grad(checked))(xs), vmap(grad(inside))(xs));
  expect_near(jit(grad(checked))(at), grad(inside)(at));
}

/// The number of equations of the op in a program.
template <class F, class... A>
int occurrences(const std::string& op, const F& f, const A&... args) {
  std::string text = trace(f, args...).text();
  int count = 0;
  for (const char* next : {"(", "{"})
    for (std::size_t at = 0; (at = text.find("= " + op + next, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(CheckpointPolicies, PoliciesSayWhatIsComputedAgain) {
  Array w = array({{1., 2.}, {3., 4.}});
  auto body = [&](const Array& x) {
    Array hidden = checkpoint_name(sin(matmul(w, x)), "hidden");
    return sum(exp(sin(matmul(w, hidden))));
  };
  auto count_of = [&](const char* op, const CheckpointOptions& options) {
    auto both = value_and_grad(checkpoint(body, options));
    expect_near(jit(both)(array({0.3, -0.2})), value_and_grad(body)(array({0.3, -0.2})));
    return occurrences(op, both, array({0.3, -0.2}));
  };
  // Of the value: two products, two sines and an exponential. Of the derivative: two more products, always.
  const CheckpointOptions nothing, everything{.everything = true}, dots{.dots = true},
      plain_dots{.dots_without_batch = true}, named{.names = {"hidden"}}, others{.names_but = {"other"}},
      not_hidden{.names_but = {"hidden"}}, all_others{.all_but = {"other"}},
      chosen{.when = [](const Saveable&v) { return v.op == "exp" || v.name == "none"; }};
  int products = count_of("dot_general", everything), sines = count_of("sin", everything);
  EXPECT_EQ(products, 4);
  EXPECT_EQ(sines, 2);
  EXPECT_EQ(count_of("exp", everything), 1);

  EXPECT_EQ(count_of("dot_general", nothing), products + 2);
  EXPECT_EQ(count_of("sin", nothing), sines + 2);
  EXPECT_EQ(count_of("exp", nothing), 2);
  EXPECT_EQ(count_of("dot_general", dots), products);
  EXPECT_EQ(count_of("sin", dots),
            sines + 1);  // the first one's value is needed by nothing once products are kept
  EXPECT_EQ(count_of("dot_general", plain_dots), products);
  EXPECT_EQ(count_of("sin", named), sines + 1);
  EXPECT_EQ(count_of("sin", others), sines + 1);
  EXPECT_EQ(count_of("sin", not_hidden), sines + 2);
  EXPECT_EQ(count_of("sin", all_others), sines);
  EXPECT_EQ(count_of("exp", chosen), 1);
  EXPECT_EQ(count_of("sin", chosen), sines + 1);
  // With a batch, the products are batched if both sides are.
  auto batched = [](const CheckpointOptions& options) {
    auto f = checkpoint(
        [](const Array& a, const Array& b) {
          return sum(sin(einsum("bij,bj->bi", {a, b})));
        },
        options);
    return occurrences("dot_general", value_and_grad<0, 1>(f), ones({2, 3, 3}), ones({2, 3}));
  };
  EXPECT_EQ(batched({.dots_without_batch = true}), batched({}));
  EXPECT_LT(batched({.dots = true}), batched({}));
}

TEST(CheckpointPolicies, SeeIntoJittedFunctions) {
  Array w = array({{1., 2.}, {3., 4.}}), x = array({0.3, -0.2});
  auto layer = jit([w](const Array& v) { return sin(matmul(w, v)); });
  auto body = [&](const Array& v) { return sum(exp(layer(layer(v)))); };
  auto products = [&](const CheckpointOptions& options) {
    auto both = value_and_grad(checkpoint(body, options));
    expect_near(jit(both)(x), value_and_grad(body)(x));
    return occurrences("dot_general", both, x);
  };
  EXPECT_EQ(products({.dots = true}), products({.everything = true}));
  EXPECT_EQ(products({}), products({.dots = true}) + 2);
}

// Computing again repeats no effect: what a callback returned is kept, and what prints has printed.
TEST(CheckpointPolicies, EffectsHappenOnce) {
  std::vector<double> seen;
  auto note = io_callback([&seen](const Array& x) { seen.push_back(x.item<double>()); });
  auto ask = io_callback(
      [&seen](const Array& x) {
        seen.push_back(-x.item<double>());
        return x * 10.;
      },
      array(0.));
  auto body = [&](const Array& x) {
    note(x);
    Array from_host = ask(stop_gradient(x));
    Array looped = fori_loop(
        0, 2,
        [&](const Array&, const Array& y) {
          note(y);
          return sin(y) * x;
        },
        x);
    return cond(
               x > 0.,
               [&](const Array& y) {
                 return y +
                        stop_gradient(ask(stop_gradient(y)));  // a branch whose result comes from the host
               },
               [](const Array& y) { return y; }, looped) *
           sin(x * from_host);
  };
  const Array x = array(0.5);
  const double once = std::sin(0.5) * 0.5;
  const std::vector<double> want{0.5, -0.5, 0.5, once, -std::sin(once) * 0.5};
  auto expect_once = [&](const auto& f, const Array& at) {
    seen.clear();
    auto result = f(at);
    EXPECT_EQ(seen, want);
    return result;
  };
  const Array slope = expect_once(grad(body), x);
  expect_near(expect_once(grad(checkpoint(body)), x), slope);
  expect_near(expect_once(jit(grad(checkpoint(body))), x), slope);
  expect_near(expect_once(grad(jit(checkpoint(jit(body)))), x), slope);
  expect_near(expect_once(grad(checkpoint(body, {.everything = true})), x), slope);
  expect_near(expect_once(vmap(grad(checkpoint(body))), reshape(x, {1})), reshape(slope, {1}));
}

TEST(CheckpointPolicies, ReadBackFromText) {
  auto text_of = [](const CheckpointOptions& options) {
    auto f = checkpoint([](const Array& x) { return sin(checkpoint_name(cos(x), "inner")); }, options);
    return trace(f, xs).text();
  };
  const std::string named = text_of({.dots = true, .names = {"inner", "other"}});
  EXPECT_NE(named.find("checkpoint{"), named.npos);
  EXPECT_EQ(to_string(*detail::parse_graph(named)), named);
  EXPECT_NE(named, text_of({.dots = true}));
  const std::string code = text_of({.when = [](const Saveable&) { return true; }});
  EXPECT_THROW(detail::parse_graph(code), Error);
}

TEST(CheckpointPolicies, SavesMemoryOfADeepNetwork) {
  constexpr int layers = 64, segment = 8;
  constexpr std::int64_t width = 16, batch = 1024;
  Array weights =
      0.3 * cos(reshape(arange(static_cast<double>(layers * width * width)), {layers, width, width}));
  Array x = sin(reshape(arange(static_cast<double>(batch * width)), {batch, width}));
  auto part = [](const Array& w, const Array& v) {
    Array y = v;
    for (int l = 0; l < segment; ++l) y = sin(matmul(y, w[l]) + 0.1);
    return y;
  };
  auto loss = [&](const auto& f) {
    return [f](const Array& w, const Array& v) {
      Array y = v;
      for (int s = 0; s < layers; s += segment) y = f(w[range(s, s + segment)], y);
      return mean(y * y);
    };
  };
  auto kept = jit(grad(loss(part)));
  auto recomputed = jit(grad(loss(checkpoint(part))));
  auto dots = jit(grad(loss(checkpoint(part, {.dots = true}))));
  Array want = kept(weights, x);
  expect_near(recomputed(weights, x), want, 1e-12);
  expect_near(dots(weights, x), want, 1e-12);
  auto peak = [&](const auto& f) { return peak_of([&] { f(weights, x); }); };
  std::int64_t all = peak(kept), some = peak(dots), few = peak(recomputed);
  std::int64_t activation = batch * width * 8;
  std::printf("deep network, %d layers: peak %lld KiB, dots kept %lld KiB, checkpointed %lld KiB\n", layers,
              static_cast<long long>(all >> 10), static_cast<long long>(some >> 10),
              static_cast<long long>(few >> 10));
  EXPECT_GE(all, layers * activation);  // at least each layer's input
  EXPECT_LE(few, (layers / segment + 4 * segment) * activation);
  EXPECT_LT(2 * few, all);
  // Outside jit, where every residual is an array of its own.
  std::int64_t eager_all = peak(grad(loss(part))), eager_few = peak(grad(loss(checkpoint(part))));
  std::printf("outside jit: peak %lld KiB, checkpointed %lld KiB\n", static_cast<long long>(eager_all >> 10),
              static_cast<long long>(eager_few >> 10));
  EXPECT_LT(2 * eager_few, eager_all);
}

TEST(CheckpointPolicies, SavesMemoryOfALongScan) {
  constexpr std::int64_t outer = 64, inner = 64, size = 1024;
  Array x = sin(arange(static_cast<double>(size)));
  auto step = [](const Array& c, const Array& k) { return std::pair{sin(c + 0.01 * k), Nothing{}}; };
  auto flat = [&](const Array& v) {
    return sum(scan(step, v, arange(static_cast<double>(outer * inner))).first);
  };
  auto nested = [&](const auto& policy) {
    return [=](const Array& v) {
      auto block =
          checkpoint([=](const Array& c, const Array& ks) { return scan(step, c, ks).first; }, policy);
      auto blocks = scan(
          [&](const Array& c, const Array& ks) {
            return std::pair{block(c, ks), Nothing{}};
          },
          v, reshape(arange(static_cast<double>(outer * inner)), {outer, inner}));
      return sum(blocks.first);
    };
  };
  auto all = jit(grad(flat));
  auto few = jit(grad(nested(CheckpointOptions{})));
  expect_near(few(x), all(x), 1e-12);
  std::int64_t peak_all = peak_of([&] { all(x); }), peak_few = peak_of([&] { few(x); });
  std::printf("scan of %lld steps: peak %lld KiB, checkpointed %lld KiB\n",
              static_cast<long long>(outer * inner), static_cast<long long>(peak_all >> 10),
              static_cast<long long>(peak_few >> 10));
  EXPECT_GE(peak_all, outer * inner * size * 8);
  EXPECT_LE(peak_few, 4 * (outer + inner) * size * 8);
}

}  // namespace
}  // namespace apsis::testing
