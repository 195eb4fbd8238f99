// Random compositions: programs of ops, branches, loops and closures under nested transformations, each run
// every way there is and compared with the others bit by bit, and with exact derivatives.
//
//   APSIS_COMPOSITIONS=first,count build/tests/test_compositions --gtest_filter=*Random*     other seeds, or
//   more
//
// A failing program is cut down and written to compositions_failed_SEED.txt in the working directory; put
// into corpus/ it stays a test. compositions_running.txt holds the program that runs, should it bring the
// process down.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "compositions/check.hpp"
#include "compositions/generate.hpp"

namespace apsis::compositions {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
}

void expect_right(const Block& program, std::uint64_t seed, Tally& tally) {
  std::optional<Failure> failure = check(program, seed, tally);
  if (!failure) return;
  Tally unused;
  const Block small = shrink(program, [&](const Block& smaller) {
    const auto again = check(smaller, seed, unused);
    return again && again->kind == failure->kind;
  });
  failure = check(small, seed, unused);
  const std::string path = "compositions_failed_" + std::to_string(seed) + ".txt";
  write(path, "seed " + std::to_string(seed) + "\n" + to_string(small));
  ADD_FAILURE() << "seed " << seed << ": " << failure->kind << "\n"
                << failure->text << "\n"
                << to_string(small) << "kept in " << path;
}

/// Seeds from `first` on, `count` of them or as many as fit into the time.
void check_seeds(std::uint64_t first, std::uint64_t count, double seconds) {
  if (const char* asked = std::getenv("APSIS_COMPOSITIONS")) {
    char comma;
    std::stringstream(asked) >> first >> comma >> count;
    seconds = 1e9;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Tally tally;
  std::uint64_t seed = first;
  const std::string running = "compositions_running.txt";
  for (; seed < first + count && spent() < seconds; ++seed) {
    const Block program = generate(seed);
    write(running, "seed " + std::to_string(seed) + "\n" + to_string(program));
    expect_right(program, seed, tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::filesystem::remove(running);
  std::cout << "seeds " << first << " to " << seed - 1 << " in " << spent() << " s: " << tally.derived
            << " compared with exact derivatives; " << tally.costly << " too costly for that, "
            << tally.undecided
            << " at a kink or beyond measure; the others in single precision, for their bits\n";
  // The comparison must not be skipped unnoticed.
  EXPECT_GT(tally.derived, tally.programs / 2);
}

TEST(Compositions, Random) { check_seeds(0, 1'000'000, 60); }
TEST(Compositions, RandomSlow) { check_seeds(1'000'000, 20'000, 1e9); }

TEST(Compositions, Corpus) {
  Tally tally;
  for (const auto& entry :
       std::filesystem::directory_iterator(APSIS_SOURCE_DIR "/tests/compositions/corpus")) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path());
    std::string word;
    std::uint64_t seed;
    file >> word >> seed;
    std::stringstream text;
    text << file.rdbuf();
    const auto failure = check(parse(text.str()), seed, tally);
    EXPECT_FALSE(failure) << failure->text;
  }
}

TEST(Compositions, ProgramsReadBack) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = to_string(generate(seed));
    EXPECT_EQ(to_string(parse(text)), text);
  }
}

// The oracle's own derivatives, against differences of its values.
TEST(Compositions, OracleAgreesWithDifferences) {
  const Block function = parse(R"(( v0 [2] ) {
    v1 [2] = tanh v0 ;
    v2 [2] = pow v1 v0 ;
    v3 [2] = div v2 v0 ;
    v4 [2] = log_of_square v3 ;
    v5 [2] = root v4 ;
    v6 [2] = logistic v5 ;
    v7 [2] = exp_of_tanh v6 ;
    v8 [2] = sin v7 ;
    v9 [2] = cos v0 ;
    v10 [2] = fma v8 v9 v4 ;
    v11 [] = total v10 ;
    -> v11
  })");
  account = {};
  account.limit = 1'000'000;
  account.order = 1;
  const auto value = [&](long double a, long double b, long double direction) {
    Number x(a);
    x.c[1] = direction;
    return evaluate(function, Tensor{{2}, {x, Number(b)}}).elements[0];
  };
  const long double h = 1e-4L;
  const auto shifted = [&](int steps) { return value(0.6L + steps * h, -0.4L, 0).c[0]; };
  const long double slope = (8 * (shifted(1) - shifted(-1)) - (shifted(2) - shifted(-2))) / (12 * h);
  EXPECT_NEAR(static_cast<double>(value(0.6L, -0.4L, 1).c[1]), static_cast<double>(slope), 1e-12);
  account.order = 0;
}

}  // namespace
}  // namespace apsis::compositions
