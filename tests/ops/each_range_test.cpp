// Ops that share lines, or small matrices, out to threads: the same bits for any number of these, and those
// of single lines.

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "ops/convolution_kernel.hpp"
#include "ops/each_matrix.hpp"
#include "ops/fft_arrays.hpp"
#include "ops/index_params.hpp"
#include "ops/matrix_params.hpp"
#include "ops/records.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

Array random_array(Random& random, Dtype dtype, const Shape& shape) {
  std::vector<double> entries(static_cast<std::size_t>(shape.product()));
  for (double& x : entries) x = random.uniform(-1, 1);
  return array_of(dtype, shape, entries);
}

/// By one thread, by two and by five.
std::vector<Array> run_by_threads(const Op& op, const Params& params, const std::vector<Array>& operands) {
  std::vector<Array> first;
  for (const int threads : {1, 2, 5}) {
    tbb::task_arena arena(threads);
    const std::vector<Array> made = arena.execute([&] { return run(op, params, operands); });
    if (first.empty()) first = made;
    for (std::size_t k = 0; k < made.size(); ++k)
      EXPECT_TRUE(same_elements(first[k], made[k])) << op.name << ", " << threads << " threads";
  }
  return first;
}

/// The same, and some entries of axis 0 by themselves: of the operands from `sliced` on.
void expect_same(const Op& op, const Params& params, const std::vector<Array>& operands,
                 std::size_t sliced = 0) {
  const std::vector<Array> made = run_by_threads(op, params, operands);
  const std::int64_t count = operands.back().dim(0);
  for (const std::int64_t i : {std::int64_t{0}, count / 3, count - 1}) {
    std::vector<Array> of_one = operands;
    for (std::size_t k = sliced; k < of_one.size(); ++k) of_one[k] = operands[k][range(i, i + 1)];
    const std::vector<Array> one = run(op, params, of_one);
    for (std::size_t k = 0; k < one.size(); ++k)
      EXPECT_TRUE(same_elements(one[k], made[k][range(i, i + 1)])) << op.name << ", entry " << i;
  }
}

TEST(EachRange, IsCalledOnceForEachFromMultiplesOfAUnit) {
  for (const std::int64_t unit : {1, 3, 16})
    for (const std::int64_t count : {0, 1, 15, 16, 17, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      std::atomic<bool> at_units{true};
      each_range(count, unit, 1e5, [&](std::int64_t first, std::int64_t end) {
        if (first % unit != 0) at_units = false;
        for (std::int64_t i = first; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
      });
      EXPECT_TRUE(at_units);
      for (const std::atomic<int>& n : calls) EXPECT_EQ(n, 1);
    }
}

TEST(EachRange, FourierTransforms) {
  Random random(95);
  for (const std::int64_t n : {64, 60, 1024, 47, 211})
    for (const bool wide : {true, false})
      for (const FftKind kind : all_kinds)
        for (const bool last : {true, false}) {
          SCOPED_TRACE(n);
          const FftParams p{.kind = kind, .axis = 1, .length = n, .scale = 0.5};
          const std::int64_t entries = operand_entries(p), lines = 200'000 / n + 3;
          const Shape shape = last ? Shape{lines, entries} : Shape{lines / 20, entries, 21};
          expect_same(fft_op, make_params(p), {random_complex(random, operand_dtype(p, wide), shape)});
        }
}

// One line is shared out, too; so is each of a few, by threads that have a line each.
TEST(EachRange, LongFourierTransforms) {
  Random random(99);
  for (const std::int64_t n : {65536, 100'000, 30'011})
    for (const bool wide : {true, false})
      for (const FftKind kind : all_kinds)
        for (const std::int64_t lines : {1, 3}) {
          SCOPED_TRACE(n);
          const FftParams p{.kind = kind, .axis = 1, .length = n, .scale = 0.5};
          expect_same(fft_op, make_params(p),
                      {random_complex(random, operand_dtype(p, wide), {lines, operand_entries(p)})});
        }
}

TEST(EachRange, LongFourierTransformsOfSeveralCallers) {
  Random random(100);
  const Array x = random_complex(random, Dtype::C128, {1, 131072});
  const Params params = make_params(FftParams{.axis = 1, .length = 131072});
  const std::vector<Array> expected = run(fft_op, params, {&x, 1});
  std::atomic<int> equal{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 3; ++repeat)
        equal += same_elements(run(fft_op, params, {&x, 1})[0], expected[0]);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(equal, 12);
}

TEST(EachRange, Sorts) {
  Random random(96);
  for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::I32})
    for (const Shape& shape : std::vector<Shape>{{100, 1003}, {20'000, 7}, {50, 300, 9}}) {
      const Array a = random_array(random, dtype, shape), b = random_array(random, Dtype::F64, shape);
      expect_same(sort_op, make_params(SortParams{.axis = 1}), {a});
      expect_same(sort_op, make_params(SortParams{.axis = 1, .num_keys = 2}), {a, b});
      expect_same(argsort_op, make_params(SortParams{.axis = 1, .num_keys = 2}), {a, b});
    }
}

TEST(EachRange, RunningSumsAndExtrema) {
  Random random(97);
  for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::BF16})
    for (const Shape& shape : std::vector<Shape>{{40, 9001}, {20'000, 13}, {5, 60, 1001}})
      for (const bool reverse : {false, true}) {
        const Array a = random_array(random, dtype, shape);
        const Params params = make_params(CumulativeParams{1, reverse});
        for (const Op* op : {&cumsum_op, &cumprod_op, &cummax_op, &cummin_op}) expect_same(*op, params, {a});
        Shape steps = shape;
        --steps[1];
        expect_same(cumsum_op, params, {a, random_array(random, dtype, steps)});
      }
}

TEST(EachRange, SmallMatrices) {
  Random random(98);
  for (const Dtype dtype : {Dtype::F64, Dtype::F32})
    for (const std::int64_t n : {2, 3, 5, 8, 16}) {
      SCOPED_TRACE(n);
      const std::int64_t count = 200'000 / (n * n) + 7;
      const Array a = random_array(random, dtype, {count, n, n}),
                  b = random_array(random, dtype, {count, n, 3});
      const Array positive = matmul(a, matrix_transpose(a));
      expect_same(cholesky_op, {}, {positive});
      expect_same(lu_op, {}, {a});
      expect_same(qr_op, make_params(QrParams{}), {a});
      expect_same(solve_op, {}, {a, b});
      const std::vector<Array> factors = run(lu_op, {}, std::vector{a});
      for (const bool transposed : {false, true})
        expect_same(lu_solve_op, make_params(LuSolveParams{transposed}), {factors[0], factors[1], b});
      expect_same(triangular_solve_op, make_params(TriangularSolveParams{.lower = true}), {a, b});
    }
}

// One matrix, or a few again and again, for many right sides.
TEST(EachRange, RightSidesOfRepeatedMatrices) {
  Random random(99);
  for (const std::int64_t matrices : {1, 5}) {
    const Shape around = matrices == 1 ? Shape{} : Shape{matrices};
    const auto with = [&](Shape shape, std::int64_t columns) {
      shape.push_back(6);
      shape.push_back(columns);
      return shape;
    };
    const Array a = random_array(random, Dtype::F64, with(around, 6));
    Shape many = around;
    many.insert(0, 10'000);
    const Array b = random_array(random, Dtype::F64, with(many, 2));
    const std::vector<Array> factors = run(lu_op, {}, std::vector{a});
    expect_same(triangular_solve_op, make_params(TriangularSolveParams{.lower = true}), {a, b}, 1);
    expect_same(lu_solve_op, make_params(LuSolveParams{}), {factors[0], factors[1], b}, 2);
  }
}

TEST(EachRange, RowsThatAreGathered) {
  Random random(100);
  const auto numbers = [&](const Shape& shape) { return random_array(random, Dtype::F64, shape); };
  const auto indices = [&](const Shape& shape, double most) {
    return astype(numbers(shape) * most + most / 2, i64);
  };
  for (const auto mode : {detail::OutOfBounds::Clip, detail::OutOfBounds::Fill}) {
    for (const std::int64_t columns : {1, 37}) {
      const GatherParams rows{{1}, {0}, {0}, {}, {}, {1, columns}, mode};
      expect_same(gather_op, make_params(rows), {numbers({1000, columns}), indices({30'000, 1}, 1000)}, 1);
    }
    // Columns, which are not in one piece; rows of rows of indices; a matrix for each of these.
    const GatherParams columns{{0}, {1}, {0}, {}, {}, {7, 1}, mode};
    const Array places = indices({30'000, 1}, 4), matrix = numbers({12, 30});
    (void)run_by_threads(gather_op, make_params(columns), {matrix, places});
    const GatherParams of_rows{{2}, {0}, {0}, {}, {}, {1, 20}, mode};
    expect_same(gather_op, make_params(of_rows), {numbers({50, 20}), indices({130, 300, 1}, 50)}, 1);
    const GatherParams batched{{2}, {1}, {1}, {0}, {0}, {1, 1, 9}, mode};
    expect_same(gather_op, make_params(batched), {numbers({40, 500, 9}), indices({40, 700, 1}, 500)});
  }
}

// As many batches as threads are one thread's each: of two equal ones neither is cut.
TEST(EachRange, KernelsOfConvolutions) {
  Random random(101);
  for (const std::int64_t groups : {1, 2})
    for (const std::int64_t features : {3, 70}) {
      const ConvolutionAxis axis{.input = 20, .window = 3, .output = 20, .low = 1};
      ConvolutionSizes sizes{1, 40, groups, 24, features, {ConvolutionAxis{}, axis, axis}};
      const Array input = random_array(random, Dtype::F32, {1, 40 * 400 * groups * 24}),
                  output = random_array(random, Dtype::F32, {1, 40 * 400 * groups * features});
      const auto kernels = [&](const Array& x, const Array& y) {
        sizes.batch = x.dim(0);
        const Array made = allocate(Aval(Dtype::F32, {sizes.batch, 9 * 24 * groups * features}));
        convolve(sizes, ConvolutionArray::Kernel, static_cast<const float*>(data_of(x)),
                 static_cast<const float*>(data_of(y)),
                 const_cast<float*>(static_cast<const float*>(data_of(made))));
        return made;
      };
      const std::int64_t batches = machine_threads();
      const Array one = kernels(input, output),
                  several = kernels(repeat(input, batches, 0), repeat(output, batches, 0));
      EXPECT_TRUE(same_elements(one, several[range(0, 1)]));
    }
}

}  // namespace
}  // namespace apsis::testing
