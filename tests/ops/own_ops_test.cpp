// Ops from outside the library, under every transformation and in compiled code. docs/howto/own_ops.md is the
// same as a program.

#include "apsis/ops/extend.hpp"

#include <bit>
#include <cmath>

#include "ir/graph.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

// Elementwise, with an emission that fuses.
Array softsign(const Array& x);

void same_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out.push_back(in[0]); }

int softsign_evaluations = 0;

void softsign_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  ++softsign_evaluations;
  auto x = in[0].span<double>();
  double* y = mutable_data<double>(out[0]);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / (1. + std::abs(x[i]));
}

void softsign_emit(Emitter& e, const Params&, std::span<const Emitter::Value> in,
                   std::span<Emitter::Value> out) {
  auto one = e.constant(Dtype::F64, std::bit_cast<std::uint64_t>(1.));
  out[0] = e.div(in[0], e.add(one, e.abs(in[0])));
}

void softsign_jvp(const JvpRule& r) {
  Array d = 1. + abs(r.primals[0]);
  r.outs[0] = softsign(r.primals[0]);
  r.out_tangents[0] = r.tangents[0] / (d * d);
}

void softsign_batch(const BatchRule& r) {
  r.outs.push_back(softsign(r.operands[0]));
  r.out_axes.push_back(r.axes[0]);
}

const Op softsign_op = {.name = "my.softsign",
                        .kind = OpKind::Elementwise,
                        .shape = same_shape,
                        .evaluate = softsign_evaluate,
                        .jvp = softsign_jvp,
                        .batch = softsign_batch,
                        .emit = softsign_emit,
                        .version = 1};

Array softsign(const Array& x) { return bind1(softsign_op, {}, {x}); }

// Linear, with parameters, called as a kernel.
struct WeightedParams {
  double scale = 1;
  std::vector<std::int64_t> weights;
  std::string note;
  static void each(auto& self, auto&& visit) {
    visit("scale", self.scale);
    visit("weights", self.weights);
    visit("note", self.note);
  }
};

Array weighted(const Array& x, const WeightedParams& params);

// y_i = scale * w_i * x_i + x_{i-1}: not symmetric, so that the transpose shows.
void weighted_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<WeightedParams>();
  bool transposed = p.note == "transposed";
  const double* x = in[0].span<double>().data();
  double* y = mutable_data<double>(out[0]);
  std::int64_t n = in[0].dim(-1);
  for (std::int64_t row = 0; row < in[0].size(); row += n)
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t other = transposed ? i + 1 : i - 1;
      double neighbour = other >= 0 && other < n ? x[row + other] : 0.;
      y[row + i] =
          p.scale * static_cast<double>(p.weights[static_cast<std::size_t>(i)]) * x[row + i] + neighbour;
    }
}

void weighted_jvp(const JvpRule& r) {
  const auto& p = r.params.as<WeightedParams>();
  r.outs[0] = weighted(r.primals[0], p);
  r.out_tangents[0] = weighted(r.tangents[0], p);
}

void weighted_transpose(const TransposeRule& r) {
  WeightedParams p = r.params.as<WeightedParams>();
  p.note = p.note == "transposed" ? "" : "transposed";
  r.out[0].add(weighted(r.cotangents[0], p));
}

void weighted_batch(const BatchRule& r) {
  r.outs.push_back(weighted(moveaxis(r.operands[0], r.axes[0], 0), r.params.as<WeightedParams>()));
  r.out_axes.push_back(0);
}

const Op weighted_op = {.name = "my.weighted",
                        .kind = OpKind::Index,
                        .shape = same_shape,
                        .evaluate = weighted_evaluate,
                        .jvp = weighted_jvp,
                        .transpose = weighted_transpose,
                        .batch = weighted_batch,
                        .parse = parse_params<WeightedParams>,
                        .version = 1};

Array weighted(const Array& x, const WeightedParams& params) {
  return bind1(weighted_op, make_params(params), {x});
}

const WeightedParams weights{.scale = 0.5, .weights = {1, -2, 3}, .note = "a \"b\""};
const auto program = [](const Array& x) { return sum(softsign(weighted(x, weights)) * x); };
const Array at = array({0.3, -0.8, 1.2});

TEST(OwnOps, UnderEveryTransformation) {
  expect_derivatives(program, at);
  expect_same_bits(jit(program)(at), program(at));
  Array rows = stack({at, 2. * at, cos(at)});
  auto each = [&](const auto& f) { return stack({f(rows[0]), f(rows[1]), f(rows[2])}); };
  expect_near(vmap(program)(rows), each(program));
  expect_near(jit(vmap(grad(program)))(rows), each(grad(program)));
  expect_near(vmap(program, {.in_axes = {1}})(transpose(rows)), each(program));
  expect_near(grad([](const Array& x) { return sum(vmap(program)(x)); })(rows), each(grad(program)));
  auto [y, ys] = jet(program, at, {at, at});
  expect_near(ys[0], sum(grad(program)(at) * at));
  auto checked = checkpoint(program);
  expect_near(jit(grad(checked))(at), grad(program)(at));
}

TEST(OwnOps, InLoopsAndLanes) {
  auto loop = [](const Array& x) {
    return sum(while_loop([](const std::pair<Array, Array>& s) { return sum(s.second * s.second) < 30.; },
                          [](const std::pair<Array, Array>& s) {
                            return std::pair<Array, Array>{
                                s.first + 1, 1.4 * weighted(s.second, weights) + softsign(s.second)};
                          },
                          std::pair<Array, Array>{0, x})
                   .second);
  };
  expect_compiled_as_interpreted(loop, at);
  Array rows = stack({at, 0.1 * at, cos(at), 3. * at, at + 1.});
  Array got = vmap(loop)(rows), slopes = vmap(grad(loop))(rows);
  for (std::int64_t i = 0; i < 5; ++i) {
    expect_same_bits(got[i], loop(rows[i]));
    expect_near(slopes[i], grad(loop)(rows[i]), 1e-12);
  }
}

TEST(OwnOps, AreFusedOrCalledByCompiledPrograms) {
  Array x = sin(arange(1000.));
  auto fused = jit([](const Array& v) { return exp(softsign(2. * v)); });
  Array want = exp(softsign(2. * x));
  fused(x);
  int before = softsign_evaluations;
  expect_same_bits(fused(x), want);
  EXPECT_EQ(softsign_evaluations, before);  // its emission, not its kernel
  auto called = jit([](const Array& v) {
    return exp(weighted(2. * v, {.scale = 3., .weights = std::vector<std::int64_t>(1000, 2)}));
  });
  expect_same_bits(called(x),
                   exp(weighted(2. * x, {.scale = 3., .weights = std::vector<std::int64_t>(1000, 2)})));
}

TEST(OwnOps, MissingRulesAreNamed) {
  static const Op bare = {.name = "my.bare", .kind = OpKind::Index, .shape = same_shape};
  static const Op value = {
      .name = "my.value",
      .kind = OpKind::Index,
      .shape = same_shape,
      .evaluate = [](const Params&, std::span<const Array> in, std::span<Array> out) { out[0] = in[0]; },
      .jvp =
          [](const JvpRule& r) {
            r.outs[0] = bind1(value, {}, {r.primals[0]});
            r.out_tangents[0] = bind1(value, {}, {r.tangents[0]});
          }};
  auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  auto expect = [&](const char* text, auto&& call) {
    EXPECT_NE(message(call).find(text), std::string::npos) << message(call);
  };
  auto of_bare = [](const Array& x) { return bind1(bare, {}, {x}); };
  auto of_value = [](const Array& x) { return sum(bind1(value, {}, {x})); };
  expect("[my.bare] cannot run outside a compiled program", [&] { of_bare(at); });
  expect("[my.bare] cannot run outside a compiled program", [&] { jit(of_bare)(at); });
  expect("[my.bare] has no derivative rule", [&] { jvp(of_bare, at, at); });
  expect("[my.value] has no batching rule", [&] { vmap(of_value)(stack({at, at})); });
  expect("[my.value] has no transpose rule", [&] { grad(of_value)(at); });
}

TEST(OwnOps, InTheTextForm) {
  std::string text = make_graph(program, at);
  EXPECT_NE(text.find("my.weighted{scale="), std::string::npos) << text;
  EXPECT_THROW(detail::parse_graph(text), Error);  // not known yet
  register_op(softsign_op);
  register_op(weighted_op);
  register_op(weighted_op);
  detail::GraphRef graph = detail::parse_graph(text);
  EXPECT_EQ(to_string(*graph), text);
  expect_same_bits(detail::interpret(*graph, {&at, 1})[0], program(at));
}

}  // namespace
}  // namespace apsis::testing
