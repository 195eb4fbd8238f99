// Checkpoints of a training: which are kept, what is refused, and that a training that is killed at any
// moment goes on bit for bit.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;
using apsis::testing::Files;
namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

TEST(Checkpoints, KeepTheLatest) {
  Files files;
  const CheckpointManager checkpoints{
      .directory = files / "a/run", .max_to_keep = 2, .save_interval_steps = 5};
  const std::pair tree{array({1., 2.}), array(3)};
  EXPECT_EQ(checkpoints.latest_step(), std::nullopt);
  EXPECT_EQ(checkpoints.restore_latest(tree).first, 0);
  EXPECT_EQ(files.count(), 0u);  // nothing is made before the first save
  for (int step = 0; step <= 22; ++step) {
    const bool saved = checkpoints.save(step, std::pair{array({1., 2.}) * step, array(step)});
    EXPECT_EQ(saved, step % 5 == 0);
  }
  EXPECT_EQ(checkpoints.all_steps(), (Steps{15, 20}));
  EXPECT_TRUE(checkpoints.save(23, tree, true));
  EXPECT_EQ(checkpoints.all_steps(), (Steps{20, 23}));
  EXPECT_EQ(checkpoints.restore(20, tree).first.to_vector<double>(), (std::vector<double>{20, 40}));
  const auto [step, latest] = checkpoints.restore_latest(tree);
  EXPECT_EQ(step, 23);
  EXPECT_TRUE(tree_equal(latest, tree));
  EXPECT_TRUE(checkpoints.save(23, tree, true));  // again: it is replaced
  EXPECT_TRUE(fs::exists(files / "a/run/checkpoint_000000023.npz"));
  EXPECT_EQ(CheckpointManager{.directory = files / "a/run"}.save(1000000000000, tree), true);
  EXPECT_EQ(checkpoints.all_steps(), (Steps{20, 23, 1000000000000}));
}

TEST(Checkpoints, LeaveOtherFilesAlone) {
  Files files;
  const CheckpointManager checkpoints{.directory = files.path(), .max_to_keep = 1};
  for (const char* name : {"metrics.jsonl", "checkpoint_.npz", "checkpoint_7.npz", "checkpoint_00000000x.npz",
                           "checkpoint_-00000001.npz", "checkpoint_000000001.npz.bak"})
    files.with(name, "mine");
  for (int step = 1; step < 4; ++step) checkpoints.save(step, array(step));
  EXPECT_EQ(checkpoints.all_steps(), Steps{3});
  EXPECT_EQ(files.count(), 7u);
}

TEST(Checkpoints, WhatAKilledSaveLeftIsRemoved) {
  Files files;
  const CheckpointManager checkpoints{.directory = files.path()};
  const std::string old = files.with(".apsis-0123456789abcdef.part", "half"),
                    young = files.with(".apsis-0123456789abcdee.part", "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::minutes(1));
  checkpoints.save(1, array(1.));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));  // somebody may be writing it
}

TEST(Checkpoints, RefuseWhatDoesNotFit) {
  Files files;
  const CheckpointManager checkpoints{.directory = files / "run"};
  checkpoints.save(10, array({1., 2.}));
  checkpoints.save(20, array({1., 2.}));
  EXPECT_EQ(error_of([&] {
              checkpoints.save(15, array({1., 2.}));
            }),
            "[CheckpointManager] " + files / "run" +
                " has a checkpoint of step 20, later than 15, which would be saved: restore the latest and "
                "go on from "
                "there, or take another directory");
  EXPECT_EQ(error_of([&] {
              checkpoints.restore(15, array({1., 2.}));
            }),
            "[CheckpointManager] " + files / "run" + " has no checkpoint of step 15; there are 10, 20");
  EXPECT_NE(error_of([&] { checkpoints.restore(10, array({1.f, 2.f})); }), "");
  EXPECT_NE(error_of([&] { CheckpointManager{}.latest_step(); }), "");
  EXPECT_NE(error_of([&] { CheckpointManager{.directory = files.with("file", "")}.save(1, array(1.)); }), "");
  EXPECT_NE(error_of([&] { CheckpointManager{.directory = files / "file"}.all_steps(); }), "");
}

// A training as users write it: batches in random order, noise from a key, an optimiser with moments.

struct Training {
  nn::MLP model;
  optim::AdamState<nn::MLP> optimizer;
  Array key;
  train::EarlyStoppingState stopping;
};
constexpr std::int64_t last_step = 240;

/// Trains up to the last step, from the latest checkpoint in the folder.
Training train_in(const std::string& folder) {
  const auto [weights, data, noise] = random::split<3>(random::key(0));
  const Array xs = random::normal(data, {64, 3}), ys = sin(sum(xs, {.axis = 1, .keepdims = true}));
  const optim::Adam adam{.learning_rate = 0.01};
  const train::EarlyStopping stopping{.patience = last_step};
  const nn::MLP model = nn::make_mlp({.in = 3, .out = 1, .width = 8, .depth = 2}, weights);
  const auto batches = train::batches(std::pair{xs, ys}, {.batch_size = 24, .epochs = 80, .key = data});
  EXPECT_EQ(batches.size(), last_step);

  auto step = jit([&](const Training& run, const Array& x, const Array& y) {
    const auto keys = random::split<2>(run.key);
    const Array noisy = x + 0.1 * random::normal(keys[0], x.shape());
    auto loss = [&](const nn::MLP& m) { return mean(square(vmap(m)(noisy) - y)); };
    const auto [value, gradient] = value_and_grad(loss)(run.model);
    const auto [change, next] = adam.update(gradient, run.optimizer, run.model);
    return Training{apply_updates(run.model, change), next, keys[1], stopping.update(value, run.stopping)};
  });

  const CheckpointManager checkpoints{.directory = folder, .max_to_keep = 2, .save_interval_steps = 2};
  auto [done, run] = checkpoints.restore_latest(Training{model, adam.init(model), noise, stopping.init()});
  const JsonLines log{folder + "/metrics.jsonl"};
  log.rewind(done);
  while (done < last_step) {
    const auto [x, y] = batches[done];
    run = step(run, x, y);
    fs::create_directories(folder);
    log.write(done, {{"best", run.stopping.best_metric}});
    checkpoints.save(++done, run);
  }
  return run;
}

TEST(Resume, DISABLED_Child) { train_in(std::getenv("APSIS_TEST_FOLDER")); }

/// This executable, for the child alone.
pid_t start_child(const std::string& folder) {
  std::string variable = "APSIS_TEST_FOLDER=" + folder, filter = "--gtest_filter=Resume.DISABLED_Child",
              all = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1", self = "/proc/self/exe";
  std::vector<char*> environment{variable.data()},
      arguments{self.data(), filter.data(), all.data(), brief.data(), nullptr};
  for (char** v = environ; *v; ++v) environment.push_back(*v);
  environment.push_back(nullptr);
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data()), 0);
  return child;
}
bool has_ended(pid_t child, int& status) { return waitpid(child, &status, WNOHANG) == child; }

TEST(Resume, KilledTwentyTimesAtRandomATrainingGoesOnBitForBit) {
  Files files;
  const std::string folder = files / "killed";
  const CheckpointManager checkpoints{.directory = folder};
  // Kills: after a few checkpoints and a moment, or at some time after the start, when there may be none yet.
  std::mt19937 random(20261125);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int kills = 0;
  for (int children = 0; kills < 20 && children < 1000; ++children) {
    const std::int64_t begun = checkpoints.latest_step().value_or(0), wanted = begun + 2 * below(4);
    const pid_t child = start_child(folder);
    int status = 0;
    bool ended = false;
    for (int wait = 0; wait < 60000 && !ended && checkpoints.latest_step().value_or(0) < wanted; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = has_ended(child, status);
    }
    if (!ended) {
      std::this_thread::sleep_for(std::chrono::microseconds(below(wanted == begun ? 300000 : 20000)));
      kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    if (WIFSIGNALED(status)) {
      ++kills;
      continue;
    }
    // It came to its end first, as it may on a fast machine: the next child begins anew.
    ASSERT_EQ(WEXITSTATUS(status), 0);
    fs::remove_all(folder);
  }
  EXPECT_EQ(kills, 20);

  const Training resumed = train_in(folder), whole = train_in(files / "whole");
  EXPECT_TRUE(tree_equal(resumed, whole));
  const Table a = read_json_lines(folder + "/metrics.jsonl"),
              b = read_json_lines(files / "whole/metrics.jsonl");
  EXPECT_TRUE(array_equal(a.values, b.values).item<bool>());
  EXPECT_EQ(a.values.dim(0), last_step);
  EXPECT_LT(whole.stopping.best_metric.item<double>(), 0.3);  // it learns
}

}  // namespace
