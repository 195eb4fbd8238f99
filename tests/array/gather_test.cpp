// Gather and scatter by dimension numbers, against JAX.

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace apsis::testing {
namespace {

IndexMode mode_of(const Case& c) { return c.text.at("mode") == "clip" ? IndexMode::Clip : IndexMode::Fill; }

Array gathered(const Case& c, Inputs x) {
  const GatherDimensions dimensions{dims(c, "offset_dims"), dims(c, "collapsed_slice_dims"),
                                    dims(c, "start_index_map"), dims(c, "operand_batching_dims"),
                                    dims(c, "start_indices_batching_dims")};
  return gather(x[0], x[1], dimensions, dims(c, "sizes"), mode_of(c));
}

Array scattered(const Case& c, Inputs x) {
  const std::map<std::string, ScatterUpdate> kinds{{"set", ScatterUpdate::Set},
                                                   {"add", ScatterUpdate::Add},
                                                   {"multiply", ScatterUpdate::Multiply},
                                                   {"min", ScatterUpdate::Min},
                                                   {"max", ScatterUpdate::Max}};
  const ScatterDimensions dimensions{dims(c, "offset_dims"), dims(c, "collapsed_slice_dims"),
                                     dims(c, "start_index_map"), dims(c, "operand_batching_dims"),
                                     dims(c, "start_indices_batching_dims")};
  return scatter(x[0], x[1], x[2], dimensions,
                 {.update = kinds.at(c.text.at("kind")),
                  .mode = mode_of(c),
                  .unique_indices = c.text.at("kind") == "multiply"});
}

TEST(Gather, ByDimensionNumbersIsJaxs) {
  Function take = one(gathered, 0, 0), put = one(scattered, 1e-15, 1e-6);
  take.compiles_each = put.compiles_each = false;
  check_file("gather", {{"gather", take}, {"scatter", put}});
}

TEST(Gather, WrappedIndicesGoRound) {
  const Array x = array({10., 20., 30.}), i = array({-4, -1, 0, 2, 3, 7});
  const auto same = [](const Array& a, const Array& b) { EXPECT_TRUE(identical(a, b)) << to_string(a); };
  same(x.at(i).get(IndexMode::Wrap), array({30., 30., 10., 30., 10., 20.}));
  same(x.at(i).add(1., IndexMode::Wrap), array({12., 21., 33.}));
  same(jit([](const Array& a, const Array& at) { return a.at(at).set(0., IndexMode::Wrap); })(x, array(4)),
       array({10., 0., 30.}));
  same(x.at(array({5u})).get(IndexMode::Wrap), array({30.}));
  const Array m = reshape(arange(6.), {2, 3});
  same(m.at(array({3, -3}), range(0, 2)).get(IndexMode::Wrap), array({{3., 4.}, {3., 4.}}));
  same(grad([&](const Array& a) { return sum(a.at(i).get(IndexMode::Wrap) * arange(6.)); })(x),
       array({6., 5., 4.}));
}

}  // namespace
}  // namespace apsis::testing
