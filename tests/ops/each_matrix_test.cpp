// Batches of large factorisations: the bits of single calls, by any number of threads, from several at once.

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "ops/each_matrix.hpp"
#include "ops/matrix_params.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

/// Symmetric, with a large diagonal.
Array matrices(Dtype dtype, std::int64_t count, std::int64_t n) {
  Random random(94);
  std::vector<double> entries(static_cast<std::size_t>(count * n * n));
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k <= j; ++k) {
        const double x = j == k ? static_cast<double>(n) : random.uniform(-1, 1);
        entries[static_cast<std::size_t>((i * n + j) * n + k)] = x;
        entries[static_cast<std::size_t>((i * n + k) * n + j)] = x;
      }
  return array_of(dtype, {count, n, n}, entries);
}

TEST(EachMatrix, HasTheBitsOfSingleCalls) {
  for (const std::int64_t n : {17, 33, 64, 100})
    for (const Dtype dtype : {Dtype::F64, Dtype::F32}) {
      SCOPED_TRACE(n);
      const std::int64_t count = 40;
      const Array a = matrices(dtype, count, n);
      for (const Op* op : {&lu_op, &cholesky_op}) {
        std::vector<std::vector<Array>> single;
        for (std::int64_t i = 0; i < count; ++i) single.push_back(run(*op, {}, std::vector{a[i]}));
        for (const int threads : {1, 2, 5}) {
          tbb::task_arena arena(threads);
          const std::vector<Array> batch = arena.execute([&] { return run(*op, {}, std::vector{a}); });
          for (std::int64_t i = 0; i < count; ++i)
            for (std::size_t k = 0; k < batch.size(); ++k)
              EXPECT_TRUE(same_elements(single[static_cast<std::size_t>(i)][k], batch[k][i]));
        }
      }
    }
}

TEST(EachMatrix, FromSeveralThreadsAtOnce) {
  const Array a = matrices(Dtype::F64, 30, 80);
  const Array expected = run(cholesky_op, {}, std::vector{a})[0];
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 3; ++repeat)
        equal += same_elements(run(cholesky_op, {}, std::vector{a})[0], expected);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(equal, 12);
}

TEST(EachMatrix, IsCalledOnceForEach) {
  for (const std::int64_t count : {0, 1, 2, 63, 64, 65, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    each_matrix(count, 1e6, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const std::atomic<int>& n : calls) EXPECT_EQ(n, 1);
  }
}

// What could not be done by a thread is done again by the caller, who sees what is wrong.
TEST(EachMatrix, FailuresAreTheCallers) {
  const auto caller = std::this_thread::get_id();
  EXPECT_THROW(each_matrix(100, 1e6,
                           [&](std::int64_t i) {
                             if (i == 77) throw std::bad_alloc();
                           }),
               std::bad_alloc);
  std::atomic<int> done{0};
  each_matrix(100, 1e6, [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) throw std::bad_alloc();
    ++done;
  });
  EXPECT_GE(done, 100);
}

}  // namespace
}  // namespace apsis::testing
