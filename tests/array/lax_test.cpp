// What jax.lax has and NumPy has not, or NumPy has with options, against JAX.

#include "apsis/array/fold.hpp"
#include "apsis/array/index.hpp"
#include "apsis/array/reduce.hpp"
#include "apsis/array/statistics.hpp"
#include "apsis/debug/assert_value.hpp"
#include "apsis/ops/dot_general.hpp"
#include "apsis/ops/dynamic_slice.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/pad.hpp"
#include "apsis/stats/ranks.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

int axis_of(const Case& c) { return static_cast<int>(number(c, "axis")); }

TakeOptions take_options(const Case& c) {
  TakeOptions options;
  if (c.text.at("axis") != "none") options.axis = axis_of(c);
  if (c.text.at("mode") == "wrap") options.mode = OutOfBounds::Wrap;
  if (c.text.at("mode") == "fill") options.fill_value = 3;
  return options;
}

TEST(Lax, Moves) {
  const Table table{
      {"dynamic_slice",
       one([](auto& c, auto x) { return dynamic_slice(x[0], x.subspan(1), dims(c, "sizes")); })},
      {"dynamic_slice_in_dim",
       one([](auto& c, auto x) { return dynamic_slice_in_dim(x[0], x[1], number(c, "size"), axis_of(c)); })},
      {"dynamic_index_in_dim", one([](auto& c, auto x) {
         return dynamic_index_in_dim(x[0], x[1], axis_of(c), flag(c, "keepdims"));
       })},
      {"dynamic_update_slice",
       one([](auto&, auto x) { return dynamic_update_slice(x[0], x[1], x.subspan(2)); })},
      {"dynamic_update_slice_in_dim",
       one([](auto& c, auto x) { return dynamic_update_slice_in_dim(x[0], x[1], x[2], axis_of(c)); })},
      {"dynamic_update_index_in_dim",
       one([](auto& c, auto x) { return dynamic_update_index_in_dim(x[0], x[1], x[2], axis_of(c)); })},
      {"pad", one([](auto& c, auto x) {
         return pad(x[0], dims(c, "low"), dims(c, "high"), dims(c, "interior"), x[1]);
       })},
      {"take", one([](auto& c, auto x) { return take(x[0], x[1], take_options(c)); })},
  };
  check_file("moves", table);
}

TEST(Lax, Einsum) {
  const Table table{
      {"einsum", one([](auto& c, auto x) { return einsum(c.text.at("equation"), x); })},
  };
  check_file("einsum", table);
}

TEST(Lax, EinsumTakesTheOrderOfFewestProducts) {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const Array a = ones({100, 2}), b = ones({2, 100}), c = ones({100, 1});
  const EinsumPath path = einsum_path("ij,jk,kl->il", {a, b, c});
  EXPECT_EQ(path.pairs, (Pairs{{1, 2}, {0, 1}}));
  EXPECT_EQ(path.multiply_adds, 400);
  EXPECT_EQ(einsum_path("ij,jk,kl->il", {b, a, b}).pairs, (Pairs{{0, 1}, {0, 1}}));  // as written
  EXPECT_EQ(einsum_path("ij->ji", {a}).pairs, Pairs{});
  const EinsumPath chain =
      einsum_path("a,ab,bc,cd,de,ef,fg,gh,hi,i",
                  std::vector<Array>{ones({2}), ones({2, 9}), ones({9, 9}), ones({9, 9}), ones({9, 9}),
                                     ones({9, 9}), ones({9, 9}), ones({9, 9}), ones({9, 9}), ones({9})});
  EXPECT_EQ(chain.multiply_adds, 2 * 9 + 7 * 81 + 9);
}

WindowOptions windows(const Case& c) {
  const Dims low = dims(c, "low"), high = dims(c, "high");
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  for (std::size_t i = 0; i < low.size(); ++i) padding.emplace_back(low[i], high[i]);
  return {.window = PerAxis(dims(c, "window")),
          .strides = PerAxis(dims(c, "strides")),
          .padding = Padding(padding),
          .dilation = PerAxis(dims(c, "dilation")),
          .base_dilation = PerAxis(dims(c, "base_dilation"))};
}

Axes axes_of(const Case& c) {
  const Dims axes = dims(c, "axes");
  return Axes(axes == Dims{-99} ? Dims() : axes);
}

Array product(const Array& a, const Array& b) { return a * b; }

TEST(Lax, Folds) {
  const Table table{
      {"reduce_prod", one([](auto& c, auto x) { return reduce(product, x[0], 1, axes_of(c)); })},
      {"reduce_window_sum", one([](auto& c, auto x) {
         const auto add = [](const Array& a, const Array& b) { return a + b; };
         const Array own = reduce_window(add, x[0], 0, windows(c));
         if (is_concrete(own)) expect_identical({reduce_window_sum(x[0], windows(c))}, {own}, "the sum");
         return own;
       })},
      {"reduce_window_prod",
       one([](auto& c, auto x) { return reduce_window(product, x[0], 1, windows(c)); })},
      {"cumlogsumexp", one([](auto& c, auto x) {
         return cumlogsumexp(x[0], {.axis = axis_of(c), .reverse = flag(c, "reverse")});
       })},
  };
  check_file("folds", table);
}

DotOptions dot_options(const Case& c) {
  const auto axes = [&](const char* key) {
    const Dims d = dims(c, key);
    return d == Dims{-9} ? Dims() : d;
  };
  DotOptions options{axes("contract_a"), axes("contract_b"), axes("batch_a"), axes("batch_b")};
  if (c.text.at("preferred") != "none")
    options.preferred_element_type = golden::dtype_named(c.text.at("preferred"));
  return options;
}

TEST(Lax, Dots) {
  const Table table{
      {"dot_general", one([](auto& c, auto x) { return dot_general(x[0], x[1], dot_options(c)); })},
      {"select_n", one([](auto&, auto x) { return select_n(x[0], x.subspan(1)); })},
  };
  check_file("dots", table);
}

HistogramddOptions histogram_options(const Case& c, Inputs x) {
  const std::string& extra = c.text.at("extra");
  HistogramddOptions options{.bins = numbers(c, "bins"), .density = flag(c, "density")};
  if (extra == "edges") options.edges = {x[1], x[2], x[3]};
  if (extra == "range") options.low = x[1], options.high = x[2];
  if (extra == "weights") options.weights = x[1];
  return options;
}

stats::RankMethod rank_method(const std::string& name) {
  using stats::RankMethod;
  return name == "average" ? RankMethod::Average
         : name == "min"   ? RankMethod::Min
         : name == "max"   ? RankMethod::Max
         : name == "dense" ? RankMethod::Dense
                           : RankMethod::Ordinal;
}
std::optional<int> maybe_axis(const Case& c) {
  if (c.text.at("axis") == "none") return {};
  return axis_of(c);
}

TEST(Lax, Counts) {
  const Table table{
      {"histogramdd", many([](auto& c, auto x) {
         auto [counts, edges] = histogramdd(x[0], histogram_options(c, x));
         edges.insert(edges.begin(), counts);
         return edges;
       })},
      {"histogram2d", many([](auto& c, auto x) {
         const Histogram2d h = histogram2d(x[0], x[1], {.bins = {number(c, "bins")}});
         return Arrays{h.counts, h.x_edges, h.y_edges};
       })},
      {"rankdata", one([](auto& c, auto x) {
         return stats::rankdata(x[0], {.method = rank_method(c.text.at("method")), .axis = maybe_axis(c)});
       })},
      {"sem", one([](auto& c, auto x) {
         return stats::sem(x[0], {.axis = maybe_axis(c), .keepdims = flag(c, "keepdims")});
       })},
  };
  check_file("counts", table);
}

struct Best {
  Array value, index;
};
Best better(const Best& a, const Best& b) {
  const Array first = a.value >= b.value;
  return {where(first, a.value, b.value), where(first, a.index, b.index)};
}

TEST(Lax, FoldsOfTrees) {
  const Array x = array({{3., 1., 4., 1., 5., 9.}, {2., 6., 5., 3., 5., 8.}});
  const Best xs{x, iota(x.shape(), 1)}, none{-1e300, -1};
  const Best rows = reduce(better, xs, none, 1);
  expect_identical({rows.value, rows.index}, {max(x, {.axis = 1}), argmax(x, {.axis = 1})}, "argmax");
  const Best all = jit([&](const Best& v) { return reduce(better, v, none); })(xs);
  EXPECT_EQ(all.value.item<double>(), 9);
  const Best windows = reduce_window(better, xs, none, {.window = {1, 3}, .strides = {1, 3}});
  EXPECT_EQ(windows.index.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 5, 1, 5}));
  // Matrices do not commute: neighbours stay in order, whatever their number.
  for (std::int64_t n : {1, 2, 5, 8}) {
    const Array turns = reshape(cos(arange(4. * static_cast<double>(n))), {n, 2, 2});
    Array want = eye(2);
    for (std::int64_t i = 0; i < n; ++i) want = matmul(want, turns[i]);
    const auto whole = [&](const Array& m) {
      const auto split = [](const Array& v) {
        return std::array{v(ellipsis, 0, 0), v(ellipsis, 0, 1), v(ellipsis, 1, 0), v(ellipsis, 1, 1)};
      };
      const auto joined = [](const std::array<Array, 4>& v) {
        return stack({stack({v[0], v[1]}, -1), stack({v[2], v[3]}, -1)}, -2);
      };
      const auto f = [&](const std::array<Array, 4>& a, const std::array<Array, 4>& b) {
        return split(matmul(joined(a), joined(b)));
      };
      return joined(reduce(f, split(m), {1., 0., 0., 1.}, 0));
    };
    assert_trees_close(whole(turns), want, {.rtol = 1e-14});
    assert_numerical_gradients(whole, std::tuple{turns});
  }
}

}  // namespace
}  // namespace apsis::testing
