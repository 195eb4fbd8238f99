// Loops that update a slice of a buffer cost the slice, forwards and backwards.

#include "control/passes.hpp"

namespace apsis::testing {
namespace {

struct Filling {
  Array i, buffer;
};

constexpr std::int64_t size = 1000;

/// Each entry from the one before.
Array fill(const Array& first, std::int64_t steps, std::int64_t n = size) {
  return while_loop([&](const Filling& s) { return s.i < steps; },
                    [](const Filling& s) {
                      return Filling{s.i + 1, s.buffer.at(s.i + 1).set(sin(s.buffer[s.i]) + 0.5)};
                    },
                    Filling{0, zeros({n}).at(0).set(first)})
      .buffer;
}

TEST(InPlace, TheTapeKeepsWhatIsReadOfALargeCarry) {
  auto loss = [](const Array& x) { return sum(square(fill(x, 20))); };
  expect_derivatives(loss, array(0.3), 1e-7);
  std::string program = make_graph(grad(loss), array(0.3));
  EXPECT_NE(program.find("list<f64[1]>"), std::string::npos) << program;
  EXPECT_EQ(program.find("list<f64[1000]>"), std::string::npos) << program;
}

TEST(InPlace, UpdatesPassOverNoBuffer) {
  auto run = [](const Array& x) { return fill(x, entries - 1, entries)[-1]; };
  EXPECT_EQ(passes(run, array(0.25)), 1);  // zeros
  EXPECT_EQ(passes(grad(run), array(0.25)), 2);
  // What the test would see of a loop that needs all of the buffer in each step.
  auto all = [](const Array& x) {
    return fori_loop(
        0, 9, [](const Array&, const Array& b) { return Array(b.at(3).set(1.) * 0.5); },
        broadcast_to(x, {entries}))[0];
  };
  EXPECT_GT(passes(all, array(0.25)), 1);
}

// Each of two buffers is read after the other is updated in the program's order.
TEST(InPlace, BuffersAreReadBeforeTheyAreUpdated) {
  auto run = [](const Array& x, std::int64_t n) {
    struct Two {
      Array i, a, b;
    };
    return while_loop([&](const Two& s) { return s.i < n - 1; },
                      [](const Two& s) {
                        return Two{s.i + 1, s.a.at(s.i + 1).set(sin(s.b[s.i])),
                                   s.b.at(s.i + 1).set(cos(s.a[s.i]) + s.b[s.i + 1])};
                      },
                      Two{0, zeros({n}).at(0).set(x), zeros({n}).at(0).set(x)})
        .b[-1];
  };
  expect_derivatives([&](const Array& x) { return run(x, 60); }, array(0.3), 1e-7);
  auto large = [&](const Array& x) { return run(x, entries); };
  EXPECT_EQ(passes(large, array(0.25)), 3);  // zeros, and a copy for each buffer
  EXPECT_EQ(passes(grad(large), array(0.25)), 5);
}

// An inner loop updates what the outer one carries.
TEST(InPlace, NestedLoopsUpdateOneBuffer) {
  auto run = [](const Array& x, std::int64_t n) {
    return while_loop([&](const Filling& s) { return s.i < n - 9; },
                      [](const Filling& s) {
                        auto inner = [&](const Array& j, const Array& b) {
                          return Array(b.at(s.i + j + 1).set(sin(b[s.i + j])));
                        };
                        return Filling{s.i + 8, fori_loop(0, 8, inner, s.buffer)};
                      },
                      Filling{0, zeros({n}).at(0).set(x)})
        .buffer[n - 9];
  };
  expect_derivatives([&](const Array& x) { return run(x, 40); }, array(0.3), 1e-7);
  auto large = [&](const Array& x) { return run(x, entries); };
  EXPECT_EQ(passes(large, array(0.25)), 1);
  EXPECT_EQ(passes(grad(large), array(0.25)), 2);
}

// The row that an iteration reads is still needed when the buffer has been updated: the row is copied.
TEST(InPlace, RowsReadBeforeAreKept) {
  auto run = [](const Array& x, std::int64_t n) {
    return sum(while_loop([&](const Filling& s) { return s.i < n - 1; },
                          [](const Filling& s) {
                            Array row = s.buffer[s.i], next = Array(s.buffer.at(s.i + 1).set(sin(row)));
                            return Filling{s.i + 1, Array(next.at(s.i).set(row * next[s.i + 1]))};
                          },
                          Filling{0, ones({n, 40}).at(0).set(x)})
                   .buffer[-1]);
  };
  Array x = cos(arange(40.));
  auto loss = [&](const Array& y) { return run(y, 9); };
  expect_near(expect_compiled_as_interpreted(grad(loss), x), differences(loss, x), 1e-8);
  EXPECT_EQ(passes(grad([&](const Array& y) { return run(y, entries / 40); }), x), 2);
}

TEST(InPlace, CotangentsOfABufferReadInPartsAreAddedInPlace) {
  auto loss = [](const Array& table) {
    return sum(while_loop([](const Filling& s) { return s.i < 30; },
                          [&](const Filling& s) {
                            return Filling{s.i + 1, s.buffer * table[(7 * s.i) % size] + table[s.i]};
                          },
                          Filling{0, array({1., 2.})})
                   .buffer);
  };
  Array table = cos(arange(static_cast<double>(size)));
  expect_compiled_as_interpreted(grad(loss), table);
  std::vector<std::string> lines;
  std::string program = make_graph(grad(loss), table);
  // No sum of two whole tables.
  EXPECT_EQ(program.find("f64[1000] = add("), std::string::npos) << program;
}

TEST(InPlace, SlicesLargerThanRegisters) {
  struct Rows {
    Array i, rows;
  };
  auto loss = [](const Array& x) {
    return sum(square(while_loop([](const Rows& s) { return s.i < 9; },
                                 [](const Rows& s) {
                                   return Rows{s.i + 1, s.rows.at(s.i + 1).set(sin(s.rows[s.i]) * 1.1)};
                                 },
                                 Rows{0, zeros({30, 40}).at(0).set(x)})
                          .rows));
  };
  Array x = cos(arange(40.));
  expect_near(expect_compiled_as_interpreted(grad(loss), x), differences(loss, x), 1e-8);
}

TEST(InPlace, ScattersOfSeveralIndices) {
  Array at = reshape(arange(60) * 37 % size, {20, 3});
  auto run = [&](const Array& x) {
    return while_loop([](const Filling& s) { return s.i < 20; },
                      [&](const Filling& s) {
                        Array where = at[s.i];
                        return Filling{s.i + 1, s.buffer.at(where).add(sin(x + s.buffer[where]))};
                      },
                      Filling{0, zeros({size})})
        .buffer;
  };
  auto loss = [&](const Array& x) { return sum(square(run(x))); };
  Array x = array({0.3, 0.5, -0.2});
  expect_near(expect_compiled_as_interpreted(grad(loss), x), differences(loss, x), 1e-8);
}

// Without a copy, into the loop or out of it.
TEST(InPlace, BuffersGivenUpAreUpdatedWhereTheyAre) {
  auto steps = [](const Array& n, const Array& buffer) {
    return while_loop([&](const Filling& s) { return s.i < n; },
                      [](const Filling& s) {
                        return Filling{s.i + 1, s.buffer.at(s.i + 1).set(sin(s.buffer[s.i]) + 0.5)};
                      },
                      Filling{0, buffer.at(0).set(0.25)})
        .buffer;
  };
  auto run = jit(steps);
  Array want = steps(Array(30), zeros({size})), buffer = zeros({size});
  const double* before = buffer.span<double>().data();
  buffer = run(Array(30), std::move(buffer));
  EXPECT_EQ(buffer.span<double>().data(), before);
  expect_same_bits(buffer, want);
  Array kept = buffer;  // somebody else has it
  buffer = run(Array(2), std::move(buffer));
  EXPECT_NE(buffer.span<double>().data(), before);
  expect_same_bits(kept, want);
  // The pull-back, on a cotangent that is given up.
  auto back = jit([&](const Array& x, const Array& cotangent) {
    return std::get<0>(vjp([&](const Array& y) { return steps(Array(30), y); }, x).second(cotangent));
  });
  Array cotangent = cos(arange(static_cast<double>(size))), plain = back(kept, Array(cotangent));
  before = cotangent.span<double>().data();
  Array pulled = back(kept, std::move(cotangent));
  EXPECT_EQ(pulled.span<double>().data(), before);
  expect_same_bits(pulled, plain);
}

TEST(InPlace, InLanesEachAtItsOwnPlace) {
  auto steps = [](const Array& n, const Array& x) {
    return while_loop([&](const Filling& s) { return s.i < n; },
                      [](const Filling& s) {
                        return Filling{s.i + 1, s.buffer.at(s.i + 1).set(sin(s.buffer[s.i]) + 0.5)};
                      },
                      Filling{0, zeros({50}).at(0).set(x)})
        .buffer;
  };
  auto rows = [](const Array& n, const Array& x) {
    return while_loop([&](const Filling& s) { return s.i < n; },
                      [](const Filling& s) {
                        Array i = s.i % 5;
                        return Filling{s.i + 1, s.buffer.at((s.i + 1) % 5).set(sin(s.buffer[i]) + 0.5)};
                      },
                      Filling{0, zeros({5, 30}).at(0).set(x)})
        .buffer;
  };
  Array n = array({0, 9, 23, 1, 5, 16, 2, 30, 4, 11, 49}), x = cos(arange(11.));
  auto check = [&](const auto& f) {
    auto single = jit(f);
    auto all = jit(vmap(f))(n, x);
    for (std::int64_t i = 0; i < 11; ++i) expect_same_bits(Array(all[i]), single(n[i], x[i]));
  };
  check(steps);
  check(rows);
  check([&](const Array& k, const Array& y) {
    return grad([&](const Array& z) { return sum(square(steps(k, z))); })(y);
  });
  check([&](const Array& k, const Array& y) {
    return grad([&](const Array& z) { return sum(square(rows(k, z))); })(y);
  });
}

/// Buffers that the steps of one lane update: one entry a step, two buffers in turns, rows, and by an inner
/// loop. Each takes the buffers' length.
template <class Test>
void each_update(Test&& test) {
  test("one", [](const Array& n, const Array& x, std::int64_t size) {
    return while_loop([&](const Filling& s) { return s.i < n; },
                      [](const Filling& s) {
                        return Filling{s.i + 1, s.buffer.at(s.i + 1).set(sin(s.buffer[s.i]) + 0.5)};
                      },
                      Filling{0, zeros({size}, x.dtype()).at(0).set(x)})
        .buffer[n];
  });
  test("two", [](const Array& n, const Array& x, std::int64_t size) {
    struct Two {
      Array i, a, b;
    };
    const Array start = zeros({size}, x.dtype()).at(0).set(x);
    return while_loop([&](const Two& s) { return s.i < n; },
                      [](const Two& s) {
                        return Two{s.i + 1, s.a.at(s.i + 1).set(sin(s.b[s.i])),
                                   s.b.at(s.i + 1).set(cos(s.a[s.i]) + s.b[s.i + 1])};
                      },
                      Two{0, start, start})
        .b[n];
  });
  test("rows", [](const Array& n, const Array& x, std::int64_t size) {
    return sum(while_loop([&](const Filling& s) { return s.i < n; },
                          [](const Filling& s) {
                            Array row = s.buffer[s.i], next = Array(s.buffer.at(s.i + 1).set(sin(row)));
                            return Filling{s.i + 1, Array(next.at(s.i).set(row * next[s.i + 1]))};
                          },
                          Filling{0, ones({size / 40, 40}, x.dtype()).at(0).set(x)})
                   .buffer[n]);
  });
  test("inner loop", [](const Array& n, const Array& x, std::int64_t size) {
    return while_loop([&](const Filling& s) { return s.i < 4 * n; },
                      [](const Filling& s) {
                        auto inner = [&](const Array& j, const Array& b) {
                          return Array(b.at(s.i + j + 1).set(sin(b[s.i + j])));
                        };
                        return Filling{s.i + 4, fori_loop(0, 4, inner, s.buffer)};
                      },
                      Filling{0, zeros({size}, x.dtype()).at(0).set(x)})
        .buffer[4 * n];
  });
}

TEST(InPlace, GradientsInLanesAreThoseOfSingleCalls) {
  each_update([](const char* name, const auto& f) {
    SCOPED_TRACE(name);
    auto gradient = [&](const Array& k, const Array& y) {
      return grad([&](const Array& z) { return f(k, z, 1600) * z; })(y);
    };
    auto curvature = [&](const Array& k, const Array& y) {
      return grad([&](const Array& z) { return gradient(k, z); })(y);
    };
    Array n = array({0, 9, 23, 1, 5, 16, 2, 30, 4, 11, 38});
    auto check = [&](const auto& g, const Array& x) {
      auto single = jit(g);
      const Array all = jit(vmap(g))(n, x);
      for (std::int64_t i = 0; i < 11; ++i) expect_same_bits(Array(all[i]), single(n[i], x[i]));
    };
    const Array x = cos(arange(11.));
    check(gradient, x);
    check(gradient, astype(x, f32));
    check(curvature, x);
    const Array all = jit(grad([&](const Array& y) {
      return sum(vmap([&](const Array& k, const Array& z) { return f(k, z, 1600) * z; })(n, y));
    }))(x);
    expect_near(all, vmap(gradient)(n, x), 1e-12);
    expect_derivatives([&](const Array& y) { return f(Array(7), y, 1600); }, array(0.3), 1e-7);
  });
}

TEST(InPlace, GradientsInLanesPassOverNoBuffer) {
  const Array n = array({5, 9, 23, 1, 5, 16, 2, 30}), x = cos(arange(8.));
  each_update([&](const char* name, const auto& f) {
    SCOPED_TRACE(name);
    auto run = [&](const Array& k, const Array& y) { return f(k, y, entries); };
    auto gradient = [&](const Array& k, const Array& y) {
      return grad([&](const Array& z) { return run(k, z); })(y);
    };
    // The start and the cotangent's, a pass or two for each buffer where a lane enters and leaves; and a
    // kernel that reads a row of each lane at the end, where one element would be read without.
    const bool two = name == std::string("two"), rows = name == std::string("rows");
    EXPECT_EQ(passes(vmap(run), n, x), two ? 4 : 3 + rows);
    EXPECT_EQ(passes(vmap(gradient), n, x), two ? 9 : 5 + rows);
  });
}

/// Each lane reads slices of an array of its own and writes to one, in a loop within its loop; what follows
/// reads the array in slices, as a whole, and hands it on.
TEST(InPlace, ArraysOfLanesAreReadWhole) {
  struct State {
    Array row, count, saved;
  };
  struct Result {
    Array saved, total, last, shifted;
  };
  auto run = [](const Array& n, const Array& data, const Array& start) {
    State end = while_loop(
        [&](const State& s) { return s.count < n; },
        [&](const State& s) {
          Array row = s.row, reach = data[s.count] * 5;
          auto [next, saved] = while_loop(
              [&](const std::pair<Array, Array>& v) { return v.first < 20 && astype(v.first, f64) <= reach; },
              [&](const std::pair<Array, Array>& v) {
                Array entry = sin(data[v.first] + v.second[v.first]);
                return std::pair(Array(v.first + 1), Array(v.second.at(v.first).set(entry)));
              },
              std::pair(row, s.saved));
          return State{next, s.count + 1, saved};
        },
        State{Array(0), Array(0), start});
    return Result{end.saved, sum(end.saved), end.saved(range(), 0)[n], end.saved * 2. + data[n]};
  };
  for (std::int64_t lanes : {3, 20, 300}) {
    const Array n = remainder(arange(lanes) * 7, 17),
                data = abs(sin(reshape(arange(lanes * 20. + 0.), {lanes, 20})));
    const Array start = cos(reshape(arange(lanes * 60.), {lanes, 20, 3}));
    for (const auto& dtype : {f64, f32}) {
      auto of = [&](const Array& x) { return astype(x, dtype); };
      Result all = jit(vmap(run))(n, data, of(start));
      auto single = jit(run);
      for (std::int64_t i = 0; i < lanes; i += 1 + lanes / 50) {
        Result one = single(n[i], data[i], of(start)[i]);
        expect_same_bits(all.saved[i], one.saved);
        expect_same_bits(all.total[i], one.total);
        expect_same_bits(all.last[i], one.last);
        expect_same_bits(all.shifted[i], one.shifted);
      }
    }
    auto loss = [&](const Array& k, const Array& d, const Array& s) {
      Result r = run(k, d, s);
      return r.total * r.last + sum(r.shifted);
    };
    auto gradient = grad<1, 2>(loss);
    auto [by_data, by_start] = jit(vmap(gradient))(n, data, start);
    auto single = jit(gradient);
    for (std::int64_t i = 0; i < lanes; i += 1 + lanes / 20) {
      auto [of_data, of_start] = single(n[i], data[i], start[i]);
      expect_same_bits(Array(by_data[i]), of_data);
      expect_same_bits(Array(by_start[i]), of_start);
    }
  }
}

}  // namespace
}  // namespace apsis::testing
