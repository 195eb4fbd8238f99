// Factorisations and solves of small matrices inside of loops, compiled at every width, against the
// evaluator: in registers, written out from memory, and by one call for all lanes. Each lane at its own pace.

#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

struct Going {
  Array step, x;
};

/// x ← f(a, x), as often as `steps` says.
template <class F>
auto repeated(const F& f) {
  return [f](const Array& a, const Array& b, const Array& steps) {
    return while_loop([&](const Going& s) { return s.step < steps; },
                      [&](const Going& s) {
                        return Going{s.step + 1, f(a, s.x)};
                      },
                      Going{astype(zeros({}), i64), b})
        .x;
  };
}

struct Systems {
  Array a, b, steps;
};

/// Matrices that need exchanges of rows.
Systems systems(std::int64_t lanes, std::int64_t n, Dtype dtype) {
  const Array a = random::normal(random::key(1), {lanes, n, n}, f64),
              b = random::normal(random::key(2), {lanes, n}, f64);
  return {astype(a, dtype), astype(b, dtype), 1 + remainder(7 * arange(lanes), 5)};
}

template <class F>
void check_sides(const F& f, std::initializer_list<std::int64_t> sides, Dtype dtype = f64) {
  for (const std::int64_t n : sides) {
    SCOPED_TRACE(n);
    const Systems s = systems(11, n, dtype);
    expect_graph_compiled_equal(vmap(repeated(f)), s.a, s.b, s.steps);
    expect_graph_compiled_equal(repeated(f), s.a[0], s.b[0], s.steps[0]);
  }
}

Array normalised(const Array& x) { return x / (1 + max(abs(x))); }

TEST(Matrices, SolvesInLanes) {
  const auto f = [](const Array& a, const Array& x) { return normalised(linalg::solve(a, x)); };
  check_sides(f, {1, 2, 3, 4, 6, 8, 9, 13});
  check_sides(f, {3, 7, 10}, f32);
  check_sides(f, {3, 5}, bf16);
}

TEST(Matrices, FactorsInLanes) {
  const auto f = [](const Array& a, const Array& x) {
    const auto factors = linalg::lu_factor(a + diag(x));
    const Array y = linalg::lu_solve(factors, x), z = linalg::lu_solve(factors, y, true);
    return normalised(y + z + 0.1 * astype(factors.permutation, x.dtype()));
  };
  check_sides(f, {1, 3, 4, 5, 8, 12});
  check_sides(f, {4, 6}, f32);
}

TEST(Matrices, CholeskyAndTrianglesInLanes) {
  const auto f = [](const Array& a, const Array& x) {
    const Array l = linalg::cholesky(matmul(a, matrix_transpose(a)) + eye(a.dim(-1), -1, 0, a.dtype()));
    return normalised(linalg::cho_solve({l, true}, x));
  };
  check_sides(f, {1, 3, 4, 8, 9});
  check_sides(f, {3, 8}, f32);
}

TEST(Matrices, ReflectionsInLanes) {
  const auto f = [](const Array& a, const Array& x) {
    const auto [q, r] = linalg::qr(a);
    return normalised(linalg::solve_triangular(r, matmul(x, q)));
  };
  check_sides(f, {1, 2, 4, 7, 8, 11});
  check_sides(f, {3, 6}, f32);
}

/// The same of complex matrices and right sides, made of real ones.
template <class F>
auto of_complex(const F& f) {
  return [f](const Array& a, const Array& x) {
    const Array z = complex(a, 0.5 * matrix_transpose(a)), y = complex(x, matmul(a, x));
    return normalised(real(f(z, y)) - 0.5 * imag(f(z, y)));
  };
}

TEST(Matrices, ComplexOnesInLanes) {
  const auto solve = of_complex([](const Array& a, const Array& x) { return linalg::solve(a, x); });
  const auto factor = of_complex([](const Array& a, const Array& x) {
    const auto factors = linalg::lu_factor(a);
    return linalg::lu_solve(factors, linalg::lu_solve(factors, x), true);
  });
  const auto cholesky = of_complex([](const Array& a, const Array& x) {
    const Array l = linalg::cholesky(matmul(a, conj(matrix_transpose(a))) + eye(a.dim(-1), -1, 0, a.dtype()));
    return linalg::cho_solve({l, true}, x);
  });
  const auto qr = of_complex([](const Array& a, const Array& x) {
    const auto [q, r] = linalg::qr(a);
    return linalg::solve_triangular(r, matmul(x, conj(q)));
  });
  check_sides(solve, {1, 2, 3, 4, 6, 8, 9});
  check_sides(factor, {2, 3, 4, 7, 11});
  check_sides(cholesky, {1, 3, 5, 8});
  check_sides(qr, {1, 2, 4, 6, 9});
  check_sides(solve, {3, 7}, f32);
  check_sides(factor, {3, 9}, f32);
  check_sides(cholesky, {4}, f32);
  check_sides(qr, {3}, f32);
}

// What all lanes share is factored once.
TEST(Matrices, SharedMatrices) {
  for (const std::int64_t n : {3, 8, 12}) {
    const Systems s = systems(9, n, f64);
    expect_graph_compiled_equal(
        vmap([](const Array& a, const Array& b) { return linalg::solve(a, b); }, {.in_axes = {{}, 0}}),
        s.a[0], s.b);
  }
}

/// As many that what the factorisation leaves is read by blocks.
TEST(Matrices, ManyByBlocks) {
  const auto cholesky = [](const Array& a, const Array& b) {
    const Array l = linalg::cholesky(matmul(a, conj(matrix_transpose(a))) + eye(a.dim(-1), -1, 0, a.dtype()));
    return linalg::cho_solve({l, true}, b);
  };
  const auto with_factors = [](const Array& a, const Array& b) {
    const auto factors = linalg::lu_factor(a);
    const Array x = linalg::lu_solve(factors, b);
    return std::tuple{factors.lu, x, linalg::lu_solve(factors, x, true), factors.permutation};
  };
  const auto qr = [](const Array& a, const Array& b) {
    const auto [q, r] = linalg::qr(a);
    return linalg::solve_triangular(r, linalg::solve_triangular(r, b, {.transpose = true}));
  };
  const auto loss = [&](const Array& a, const Array& b) { return sum(square(cholesky(a, b))); };
  for (const std::int64_t count : {517, 1003}) {
    const Systems s = systems(count, 8, f64), t = systems(count, 9, f32), u = systems(count, 6, f64);
    expect_graph_compiled_equal(vmap(cholesky), s.a, s.b);
    expect_graph_compiled_equal(vmap(cholesky), t.a, t.b);
    expect_graph_compiled_equal(vmap(of_complex(cholesky)), u.a, u.b);
    expect_graph_compiled_equal(vmap(with_factors), s.a, s.b);
    expect_graph_compiled_equal(
        vmap(of_complex([&](const Array& a, const Array& b) { return std::get<2>(with_factors(a, b)); })),
        u.a, u.b);
    expect_graph_compiled_equal(vmap(qr), s.a, s.a);
    expect_graph_compiled_equal(vmap(grad(loss)), s.a, s.b);
  }
  // Entries of the first axis are several matrices, or more than a block has room for.
  const Systems s = systems(4 * 80, 8, f64);
  for (const std::int64_t first : {4, 80})
    expect_graph_compiled_equal(vmap(vmap(cholesky)), reshape(s.a, {first, -1, 8, 8}),
                                reshape(s.b, {first, -1, 8}));
}

// Whatever triangle of the factor is read, and however.
TEST(Matrices, ManyByBlocksWithAnyTriangle) {
  const auto all = [](const Array& a, const Array& b) {
    const Array l = linalg::cholesky(matmul(a, matrix_transpose(a)) + eye(a.dim(-1), -1, 0, a.dtype()));
    Array x = expand_dims(b, -1);
    for (const bool lower : {true, false})
      for (const bool transpose_a : {false, true})
        for (const bool unit_diagonal : {false, true})
          x = linalg::triangular_solve(l, x,
                                       {.left_side = true,
                                        .lower = lower,
                                        .transpose_a = transpose_a,
                                        .unit_diagonal = unit_diagonal});
    return linalg::solve(l, squeeze(x, -1));
  };
  for (const std::int64_t n : {6, 8}) {
    const Systems s = systems(1003, n, f64), t = systems(2003, n, f32);
    expect_graph_compiled_equal(vmap(all), s.a, s.b);
    expect_graph_compiled_equal(vmap(all), t.a, t.b);
  }
}

TEST(Matrices, DerivativesInLanes) {
  const auto loss = [](const Array& a, const Array& b) { return sum(sin(linalg::solve(a, b))); };
  const auto complex_loss = [](const Array& a, const Array& b) {
    const Array x = linalg::solve(complex(a, flip(a, 0)), complex(b, b * b));
    return sum(real(x) * imag(x));
  };
  for (const std::int64_t n : {3, 6, 10}) {
    const Systems s = systems(9, n, f64);
    expect_graph_compiled_equal(vmap(grad(complex_loss)), s.a, s.b);
    expect_graph_compiled_equal(vmap(grad(loss)), s.a, s.b);
    expect_graph_compiled_equal(vmap(grad([&](const Array& a) {
                                  return sum(repeated([&](const Array& m, const Array& x) {
                                    return normalised(linalg::solve(m, x));
                                  })(a, ones({a.dim(-1)}), Array(2)));
                                })),
                                s.a);
  }
}

}  // namespace
}  // namespace apsis::testing
