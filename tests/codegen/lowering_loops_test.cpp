#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

// Counts to n, doubling: the state in registers.
constexpr const char* while_text = R"((v0: i64[], v1: f64[3], v2: f64[3]) {
  v3: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
  v4: i64[], v5: f64[3] = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0,
    cond=(v0: i64[], v1: i64[], v2: f64[3]) {
      v3: bool[] = lt(v1, v0)
      return v3
    }, body=(v0: f64[3], v1: i64[], v2: f64[3]) {
      v3: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
      v4: i64[] = add(v1, v3)
      v5: f64[3] = mul(v0, v0)
      v6: f64[3] = fma(v2, v5, v0)
      return v4, v6
    }}(v0, v2, v3, v1)
  return v5, v4
})";

void expect_for_counts(std::string_view text, std::initializer_list<std::int64_t> counts) {
  GraphRef graph = parse_graph(text);
  for (std::int64_t n : counts) {
    std::vector<Array> inputs = {array(n)};
    for (ValueId v = 1; v < graph->input_count(); ++v) inputs.push_back(filled(graph->aval(v), v));
    expect_compiled_equal(*graph, inputs);
  }
}

TEST(LoweringLoops, WhileInRegisters) { expect_for_counts(while_text, {0, 1, 2, 17, -3}); }

TEST(LoweringLoops, WhileCarriesArraysInMemory) {
  // One is made anew from shifted views of itself, one updated in place, one unchanged, two change places.
  expect_for_counts(R"((v0: i64[], v1: f64[30], v2: f64[40], v3: f64[20], v4: f64[50], v5: f64[50]) {
    v6: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
    v7: i64[], v8: f64[30], v9: f64[40], v10: f64[20], v11: f64[50], v12: f64[50] = while{cond_consts=1, body_consts=0, carries=6, max_steps=100, kind=0,
      cond=(v0: i64[], v1: i64[], v2: f64[30], v3: f64[40], v4: f64[20], v5: f64[50], v6: f64[50]) {
        v7: bool[] = lt(v1, v0)
        return v7
      }, body=(v0: i64[], v1: f64[30], v2: f64[40], v3: f64[20], v4: f64[50], v5: f64[50]) {
        v6: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
        v7: i64[] = add(v0, v6)
        v8: f64[10] = slice{start=[0], limit=[10], stride=[1]}(v1)
        v9: f64[20] = slice{start=[10], limit=[30], stride=[1]}(v1)
        v10: f64[30] = concatenate{axis=0}(v9, v8)
        v11: f64[30] = add(v10, v1)
        v12: f64[2] = slice{start=[0], limit=[2], stride=[1]}(v1)
        v13: f64[40] = dynamic_update_slice(v2, v12, v0)
        v14: f64[30] = slice{start=[5], limit=[35], stride=[1]}(v13)
        v15: f64[30] = sub(v11, v14)
        return v7, v15, v13, v3, v5, v4
      }}(v0, v6, v1, v2, v3, v4, v5)
    return v7, v8, v9, v10, v11, v12, v1
  })",
                    {0, 1, 2, 3, 38});
}

TEST(LoweringLoops, WhilePastItsBoundThrows) {
  std::string text = while_text;
  text.replace(text.find("max_steps=-1"), 12, "max_steps=5");
  GraphRef graph = parse_graph(text);
  auto program = compile(*graph);
  for (std::int64_t n : {5, 6}) {
    std::vector<Array> inputs = {array(n), filled(graph->aval(1), 1), filled(graph->aval(2), 2)};
    if (n == 5)
      EXPECT_EQ(run(*program, inputs)[1].item<std::int64_t>(), 5);
    else
      EXPECT_THROW(run(*program, inputs), Error);
  }
}

TEST(LoweringLoops, ScansStackAndUnstack) {
  for (const char* reverse : {"false", "true"}) {
    expect_compiled_equal(std::string(R"((v0: f64[2], v1: f64[7,2], v2: f64[30], v3: f64[7,30], v4: i64[7]) {
      v5: f64[2], v6: f64[30], v7: f64[7,30], v8: f64[7,2], v9: i64[7] = scan{consts=0, carries=2, length=7, reverse=)") +
                          reverse + R"(, body=
        (v0: f64[2], v1: f64[30], v2: f64[2], v3: f64[30], v4: i64[]) {
          v5: f64[2] = fma(v0, v2, v0)
          v6: f64[30] = mul(v1, v3)
          v7: f64[1] = slice{start=[1], limit=[2], stride=[1]}(v5)
          v8: f64[] = reshape{shape=[]}(v7)
          v9: f64[30] = broadcast_in_dim{shape=[30], axes=[]}(v8)
          v10: f64[30] = add(v6, v9)
          v11: i64[] = neg(v4)
          return v5, v10, v6, v5, v11
        }}(v0, v2, v1, v3, v4)
      return v5, v6, v7, v8, v9
    })");
  }
}

// Entries that lie across the rows of a large matrix are brought side by side.
TEST(LoweringLoops, ScansGoOverColumns) {
  for (const char* reverse : {"false", "true"}) {
    expect_compiled_equal(std::string(R"((v0: f64[9001,10], v1: f64[9000]) {
      v2: f64[10,9001] = transpose{permutation=[1, 0]}(v0)
      v3: f64[9,9000] = slice{start=[1, 1], limit=[10, 9001], stride=[1, 1]}(v2)
      v4: f64[9000], v5: f64[9] = scan{consts=0, carries=1, length=9, reverse=)") +
                          reverse + R"(, body=
        (v0: f64[9000], v1: f64[9000]) {
          v2: f64[9000] = sin(v0)
          v3: f64[9000] = fma(v2, v1, v1)
          v4: f64[1] = slice{start=[7], limit=[8], stride=[1]}(v3)
          v5: f64[] = reshape{shape=[]}(v4)
          return v3, v5
        }}(v1, v3)
      return v4, v5
    })");
  }
}

TEST(LoweringLoops, ScansOfNothing) {
  expect_compiled_equal(R"((v0: f64[], v1: f64[0]) {
    v2: f64[], v3: f64[0] = scan{consts=0, carries=1, length=0, reverse=false, body=
      (v0: f64[], v1: f64[]) {
        v2: f64[] = add(v0, v1)
        return v2, v2
      }}(v0, v1)
    return v2, v3
  })");
}

// A loop that records, and one that reads the record backwards and makes lists of its own.
TEST(LoweringLoops, ListsGrowAndAreReadBothWays) {
  for (const char* reverse : {"false", "true"}) {
    expect_for_counts(std::string(R"((v0: i64[], v1: f64[3], v2: f64[20]) {
      v3: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
      v4: i64[], v5: f64[3], v6: list<f64[3]>, v7: list<f64[20]>, v8: list<i64[]> = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0,
        cond=(v0: i64[], v1: i64[], v2: f64[3]) {
          v3: bool[] = lt(v1, v0)
          return v3
        }, body=(v0: f64[20], v1: i64[], v2: f64[3]) {
          v3: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
          v4: i64[] = add(v1, v3)
          v5: f64[3] = mul(v2, v2)
          v6: f64[3] = sub(v5, v2)
          v7: f64[1] = slice{start=[0], limit=[1], stride=[1]}(v6)
          v8: f64[] = reshape{shape=[]}(v7)
          v9: f64[20] = broadcast_in_dim{shape=[20], axes=[]}(v8)
          v10: f64[20] = add(v0, v9)
          return v4, v6, v2, v10, v1
        }}(v0, v2, v3, v1)
      v9: f64[20], v10: list<i64[]>, v11: list<f64[20]> = scan{consts=0, carries=1, length=-1, reverse=)") +
                          reverse + R"(, body=
        (v0: f64[20], v1: f64[20], v2: i64[]) {
          v3: f64[20] = sub(v1, v0)
          v4: i64[] = mul(v2, v2)
          return v3, v4, v3
        }}(v2, v7, v8)
      return v4, v5, v6, v7, v8, v9, v10, v11
    })",
                      {0, 1, 2, 23, 1000});
  }
}

// Whoever reads such a list counts too: nothing is written where a record would hold only counters.
TEST(LoweringLoops, CountersAreNotRecorded) {
  const auto program = [](const char* reverse, const char* more) {
    return std::string(R"((v0: i64[], v1: i32[], v2: f64[]) {
      v3: i64[] = constant{dtype=i64, weak=false, bits=3, high_bits=0}
      v4: i64[], v5: i32[], v6: f64[], v7: list<i64[]>, v8: list<i32[]>, v9: list<f64[]> = while{cond_consts=1, body_consts=0, carries=3, max_steps=-1, kind=0,
        cond=(v0: i64[], v1: i64[], v2: i32[], v3: f64[]) {
          v4: bool[] = lt(v1, v0)
          return v4
        }, body=(v0: i64[], v1: i32[], v2: f64[]) {
          v3: i64[] = constant{dtype=i64, weak=false, bits=7, high_bits=0}
          v4: i64[] = add(v0, v3)
          v5: i32[] = constant{dtype=i32, weak=false, bits=4026531841, high_bits=0}
          v6: i32[] = add(v5, v1)
          v7: f64[] = mul(v2, v2)
          return v4, v6, v7, v0, v1, v2
        }}(v0, v3, v1, v2)
      v10: i64[], v11: i64[] = scan{consts=0, carries=2, length=-1, reverse=)") +
           reverse + R"(, body=
        (v0: i64[], v1: i64[], v2: i64[], v3: i32[]) {
          v4: i64[] = convert{dtype=i64, weak=false}(v3)
          v5: i64[] = mul(v4, v2)
          v6: i64[] = sub(v5, v0)
          v7: i64[] = sub(v2, v1)
          return v6, v7
        }}(v0, v3, v7, v8)
      )" + more +
           "\n  }";
  };
  const char* counters = "return v4, v5, v10, v11";
  const char* records =
      R"(v12: f64[], v13: list<i64[]> = scan{consts=0, carries=1, length=-1, reverse=true, body=
        (v0: f64[], v1: f64[], v2: i64[]) {
          v3: f64[] = convert{dtype=f64, weak=false}(v2)
          v4: f64[] = fma(v0, v1, v3)
          return v4, v2
        }}(v6, v9, v7)
      return v4, v5, v10, v11, v12, v13)";
  for (const char* reverse : {"false", "true"})
    for (const char* more : {counters, records, "return v4, v7, v10, v11, v9"})
      expect_for_counts(program(reverse, more), {0, 3, 4, 10, 11, 700});
  EXPECT_EQ(code_text(*parse_graph(program("true", counters))).find("apsis_list_grow"), std::string::npos);
  EXPECT_NE(code_text(*parse_graph(program("true", records))).find("apsis_list_grow"), std::string::npos);
}

// What the inner loop records in one iteration of the outer one takes the place of what it recorded in the
// last.
TEST(LoweringLoops, RecordsOfInnerLoopsAreGivenBack) {
  expect_for_counts(R"((v0: i64[], v1: f64[3], v2: f64[3]) {
    v3: f64[3], v4: f64[9,3] = scan{consts=2, carries=1, length=9, reverse=false, body=
      (v0: i64[], v1: f64[3], v2: f64[3]) {
        v3: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
        v4: i64[], v5: f64[3], v6: list<f64[3]>, v7: list<i64[]> = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0,
          cond=(v0: i64[], v1: i64[], v2: f64[3]) {
            v3: bool[] = lt(v1, v0)
            return v3
          }, body=(v0: f64[3], v1: i64[], v2: f64[3]) {
            v3: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
            v4: i64[] = add(v1, v3)
            v5: f64[3] = fma(v2, v0, v0)
            return v4, v5, v2, v1
          }}(v0, v1, v3, v2)
        v8: f64[3], v9: list<f64[3]> = scan{consts=0, carries=1, length=-1, reverse=true, body=
          (v0: f64[3], v1: f64[3]) {
            v2: f64[3] = sub(v1, v0)
            return v2, v2
          }}(v5, v6)
        v10: f64[3] = scan{consts=0, carries=1, length=-1, reverse=false, body=
          (v0: f64[3], v1: f64[3]) {
            v2: f64[3] = maximum(v0, v1)
            return v2
          }}(v8, v9)
        return v10, v8
      }}(v0, v2, v1)
    return v3, v4
  })",
                    {0, 1, 700});
}

TEST(LoweringLoops, NestedLoopsUpdateOneBufferInPlace) {
  expect_for_counts(R"((v0: i64[], v1: f64[100], v2: f64[]) {
    v3: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
    v4: i64[], v5: f64[100] = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0,
      cond=(v0: i64[], v1: i64[], v2: f64[100]) {
        v3: bool[] = lt(v1, v0)
        return v3
      }, body=(v0: f64[], v1: i64[], v2: f64[100]) {
        v3: i64[] = constant{dtype=i64, weak=false, bits=3, high_bits=0}
        v4: i64[] = add(v1, v3)
        v5: i64[], v6: f64[100] = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0,
          cond=(v0: i64[], v1: i64[], v2: f64[100]) {
            v3: bool[] = lt(v1, v0)
            return v3
          }, body=(v0: f64[], v1: i64[], v2: f64[100]) {
            v3: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
            v4: i64[] = add(v1, v3)
            v5: f64[1] = dynamic_slice{sizes=[1]}(v2, v1)
            v6: f64[1] = reshape{shape=[1]}(v0)
            v7: f64[1] = mul(v5, v6)
            v8: f64[100] = dynamic_update_slice(v2, v7, v4)
            return v4, v8
          }}(v4, v0, v1, v2)
        v7: bool[] = lt(v5, v1)
        v8: i64[] = convert{dtype=i64, weak=false}(v7)
        v9: f64[100] = cond{branches=[(v0: f64[100], v1: i64[]) {
            v2: f64[1] = dynamic_slice{sizes=[1]}(v0, v1)
            v3: f64[1] = neg(v2)
            v4: f64[100] = dynamic_update_slice(v0, v3, v1)
            return v4
          }, (v0: f64[100], v1: i64[]) {
            return v0
          }]}(v8, v6, v4)
        return v4, v9
      }}(v0, v2, v3, v1)
    return v5, v4
  })",
                    {0, 1, 10, 60});
}

TEST(LoweringLoops, BranchesMeet) {
  for (std::int64_t index : {-1, 0, 1, 2, 9}) {
    GraphRef graph = parse_graph(R"((v0: i64[], v1: f64[2], v2: f64[30], v3: f64[30]) {
      v4: f64[2], v5: f64[30], v6: f64[30] = cond{branches=[(v0: f64[2], v1: f64[30], v2: f64[30]) {
          v3: f64[30] = add(v1, v2)
          return v0, v3, v1
        }, (v0: f64[2], v1: f64[30], v2: f64[30]) {
          v3: f64[2] = neg(v0)
          v4: f64[30] = reverse{axes=[0]}(v2)
          return v3, v4, v4
        }, (v0: f64[2], v1: f64[30], v2: f64[30]) {
          return v0, v2, v2
        }]}(v0, v1, v2, v3)
      return v4, v5, v6, v2
    })");
    std::vector<Array> inputs = {array(index)};
    for (ValueId v = 1; v < graph->input_count(); ++v) inputs.push_back(filled(graph->aval(v), v));
    expect_compiled_equal(*graph, inputs);
  }
}

TEST(LoweringLoops, LanesOneByOne) {
  expect_compiled_equal(R"((v0: f64[5,30], v1: f64[30], v2: f64[5]) {
    v3: f64[5,30], v4: f64[5] = map_lanes{lanes=5, nest=[], in_axes=[0, -1, 0], region=
      (v0: f64[30], v1: f64[30], v2: f64[]) {
        v3: f64[30] = broadcast_in_dim{shape=[30], axes=[]}(v2)
        v4: f64[30] = fma(v0, v1, v3)
        v5: f64[] = reduce_sum{axes=[0]}(v4)
        return v4, v5
      }}(v0, v1, v2)
    return v3, v4
  })");
}

TEST(LoweringLoops, CallsAreWrittenInPlace) {
  expect_compiled_equal(R"((v0: f64[30], v1: f64[]) {
    v2: f64[30], v3: f64[] = call{name="twice", region=(v0: f64[30], v1: f64[]) {
        v2: f64[30] = add(v0, v0)
        v3: f64[] = mul(v1, v1)
        return v2, v3
      }}(v0, v1)
    v4: f64[30] = mul(v2, v0)
    return v4, v3, v2
  })");
}

}  // namespace
}  // namespace apsis::detail
