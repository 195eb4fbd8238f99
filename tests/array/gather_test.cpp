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

}  // namespace
}  // namespace apsis::testing
