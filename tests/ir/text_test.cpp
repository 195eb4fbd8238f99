// The text form of a Graph reads back to the same Graph, regions and all.

#include <gtest/gtest.h>

#include "ir/graph.hpp"

namespace apsis::detail {
namespace {

constexpr const char* text = R"((v0: i64[], v1: ~f64[3], v2: f64[2,3]) {
  v3: i64[] = constant{dtype=i64, weak=false, bits=-1, high_bits=0}  # -1
  v4: i64[], v5: f64[2,3], v6: list<f64[2,3]> = while{cond_consts=1, body_consts=0, carries=2, max_steps=7, kind=0, cond=(v0: i64[], v1: i64[], v2: f64[2,3]) {
    v3: bool[] = lt(v1, v0)
    return v3
  }, body=(v0: i64[], v1: f64[2,3]) {
    v2: f64[2,3] = mul(v1, v1)
    return v0, v2, v1
  }}(v0, v3, v2)
  v7: f64[3] = call{name="a \"name\"", region=(v0: ~f64[3]) {
    v1: f64[3] = convert{dtype=f64, weak=false}(v0)
    return v1
  }}(v1)
  return v5, v6, v7, v5
})";

TEST(GraphText, ReadsBackToTheSame) {
  GraphRef graph = parse_graph(text);
  verify(*graph);
  EXPECT_EQ(to_string(*graph), text);
  GraphRef again = parse_graph(to_string(*graph));
  EXPECT_TRUE(again == graph);
  EXPECT_EQ(again->hash(), graph->hash());
}

TEST(GraphText, ListsOfLists) {
  const std::string lists =
      "(v0: list<list<f64[3]>>, v1: lists<f64[8,3]>, v2: lists<list<list<f64[8,3]>>>, v3: "
      "lists<lists<list<i32[2,8]>>>) "
      "{\n  return v3, v2, v1, v0\n}";
  EXPECT_EQ(to_string(*parse_graph(lists)), lists);
}

TEST(GraphText, LeavesOutWhatNobodyUses) {
  GraphRef graph = parse_graph(R"((v0: f64[]) {
    v1: f64[] = neg(v0)
    v2: f64[] = abs(v0)
    return v2
  })");
  EXPECT_EQ(graph->eqns().size(), 1u);
}

TEST(GraphVerifier, AcceptsEmptyGraphs) {
  GraphRef graph = parse_graph("() { return }");
  verify(*graph);
  EXPECT_EQ(to_string(*graph), "() {\n  return \n}");
}

}  // namespace
}  // namespace apsis::detail
