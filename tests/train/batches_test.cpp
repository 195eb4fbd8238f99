#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;

struct Samples {
  Array x;
  std::vector<Array> more;
  int kind = 7;
};
Samples samples(std::int64_t rows) {
  return {.x = reshape(arange(2 * rows), {rows, 2}), .more = {arange(rows), Array()}};
}

TEST(Batches, WithoutAKeyAreTheRowsAsTheyStand) {
  const auto batches = train::batches(samples(7), {.batch_size = 3, .epochs = 2});
  EXPECT_EQ(batches.size(), 6);
  EXPECT_EQ(batches.batches_per_epoch(), 3);
  EXPECT_EQ(batches.epoch_of(3), 1);
  std::vector<std::int64_t> rows;
  for (const Samples& batch : batches) {
    EXPECT_EQ(batch.kind, 7);
    EXPECT_TRUE(batch.more[1].is_empty());
    EXPECT_TRUE(array_equal(batch.x(ellipsis, 0), 2 * batch.more[0]).item<bool>());
    for (std::int64_t row : batch.more[0].to_vector<std::int64_t>()) rows.push_back(row);
  }
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batches[2].x.shape(), (Shape{1, 2}));
  EXPECT_EQ(train::batches(samples(7), {.batch_size = 3, .drop_last = true}).size(), 2);
  EXPECT_EQ(train::batches(samples(0), {.batch_size = 3, .epochs = 4}).size(), 0);
  EXPECT_EQ(train::batches(samples(6), {.batch_size = 3, .epochs = std::int64_t{1} << 62}).size(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Batches, OfAKeyShuffleEachEpochAnew) {
  const Array key = random::key(3);
  const auto batches = train::batches(samples(100), {.batch_size = 30, .epochs = 3, .key = key});
  ASSERT_EQ(batches.size(), 12);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<Array> rows;
    for (int i = 0; i < 4; ++i) {
      const Samples batch = batches[4 * epoch + i];
      EXPECT_TRUE(array_equal(batch.x(ellipsis, 0), 2 * batch.more[0]).item<bool>());
      rows.push_back(batch.more[0]);
    }
    // The documented order, which is that of JAX for this key.
    EXPECT_EQ(concatenate(rows).to_vector<std::int64_t>(),
              random::permutation(random::fold_in(key, epoch), 100).to_vector<std::int64_t>());
  }
  EXPECT_NE(batches[0].more[0].to_vector<std::int64_t>(), batches[4].more[0].to_vector<std::int64_t>());
}

TEST(Batches, AreAFunctionOfTheirNumber) {
  const train::BatchOptions options{.batch_size = 8, .epochs = 4, .key = random::key(5)};
  const auto batches = train::batches(samples(50), options);
  const auto again = train::batches(samples(50), options);  // another process, later
  for (std::int64_t i = batches.size() - 1; i >= 0; i -= 5)
    EXPECT_TRUE(tree_equal(batches[i], again[i])) << i;
}

TEST(Batches, OfATraceLeaveNothingBehind) {
  const auto batches = train::batches(arange(10.), {.batch_size = 4, .key = random::key(5)});
  const auto first = jit([&](const Array& scale) { return scale * batches[0]; });
  const Array inside = first(1.), outside = batches[0];  // the same epoch, in a trace and then without
  EXPECT_TRUE(array_equal(inside, outside).item<bool>());
}

TEST(Batches, RefuseNumbersBeyondTheLast) {
  const auto batches = train::batches(samples(7), {.batch_size = 3}), none = train::batches(samples(0), {});
  EXPECT_EQ(error_of([&] { batches[3]; }), "[batches] there is no batch 3: they are numbered from 0 to 2");
  EXPECT_EQ(error_of([&] { batches.epoch_of(-1); }),
            "[batches] there is no batch -1: they are numbered from 0 to 2");
  EXPECT_EQ(error_of([&] { none[0]; }), "[batches] there is no batch 0: the data has no rows");
}

TEST(EarlyStopping, BearsAsManyAsItsPatience) {
  const train::EarlyStopping stopping{.min_delta = 0.1, .patience = 2};
  auto state = stopping.init();
  // metric, improved, stop
  const double nan = std::nan("");
  for (const auto& [metric, improved, stop] :
       std::vector<std::tuple<double, bool, bool>>{{nan, false, false},
                                                   {5., true, false},
                                                   {4., true, false},
                                                   {3.95, false, false},  // not by more than min_delta
                                                   {nan, false, false},
                                                   {3., true, false},
                                                   {3., false, false},
                                                   {3., false, false},
                                                   {3., false, true},
                                                   {1., true, true}}) {
    state = stopping.update(metric, state);
    EXPECT_EQ(state.has_improved.item<bool>(), improved) << metric;
    EXPECT_EQ(state.should_stop.item<bool>(), stop) << metric;
  }
  EXPECT_EQ(state.best_metric.item<double>(), 1.);
}

TEST(EarlyStopping, EndsACompiledLoop) {
  const train::EarlyStopping stopping{.patience = 3};
  // A metric that falls to 2 in ten updates, f32 as losses are, for starts of a batch.
  auto run = [&](const Array& falls) {
    return while_loop(
               [](const std::pair<Array, train::EarlyStoppingState>& s) { return !s.second.should_stop; },
               [&](const std::pair<Array, train::EarlyStoppingState>& s) {
                 const Array metric = astype(maximum(falls - s.first, 2), f32);
                 return std::pair(s.first + 1, stopping.update(metric, s.second));
               },
               std::pair(array(std::int64_t{0}), stopping.init()))
        .first;
  };
  EXPECT_EQ(jit(vmap(run))(array({12., 4.})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{15, 7}));
  EXPECT_NE(error_of([&] { stopping.update(array({1.}), stopping.init()); }), "");
}

/// What a bar writes to a file.
template <class Body>
std::string written(const Body& body) {
  std::FILE* file = std::tmpfile();
  body(file);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(ProgressBar, WritesALineEachTenthToAFile) {
  const std::string text = written([](std::FILE* file) {
    train::ProgressBar bar("digits", 100, file);
    for (int i = 0; i <= 100; ++i) bar.show(i, {{"loss", 1. / (1 + i)}});
  });
  EXPECT_EQ(std::ranges::count(text, '\n'), 11) << text;
  EXPECT_TRUE(text.starts_with("digits [........................]   0/100  loss 1\n")) << text;
  EXPECT_NE(text.find("digits [############............]  50/100  loss 0.01961  "), text.npos) << text;
  EXPECT_EQ(text.find('\r'), text.npos);
}

TEST(ProgressBar, OfATrainingThatGoesOn) {
  const std::string text = written([](std::FILE* file) {
    train::ProgressBar bar("r", 5, file);
    for (int i = 3; i <= 5; ++i) bar.show(i);
  });
  EXPECT_TRUE(text.starts_with("r [##############..........] 3/5\n")) << text;
  EXPECT_NE(text.find("] 5/5  "), text.npos) << text;
}

}  // namespace
