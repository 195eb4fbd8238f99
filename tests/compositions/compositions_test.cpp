// Random compositions: programs of ops, branches, loops and closures under nested transformations, each run
// every way there is and compared with the others bit by bit, and with exact derivatives. Of two generators:
// small programs of everything there is (`generate`), and programs like those of users, whose loops carry
// arrays of 1 to 100,000 elements (`generate_nest`).
//
//   APSIS_COMPOSITIONS=first,count build/tests/test_compositions --gtest_filter=*RandomNests
//
// runs other seeds, or more (`*Random` for the other generator), in APSIS_COMPOSITIONS_WORKERS processes at
// once. A program that crashes, or works for more than APSIS_COMPOSITIONS_LIMIT seconds (60), fails like one
// that is wrong. What fails (the first APSIS_COMPOSITIONS_SHRINK of it, 10) is cut down and written to
// compositions_failed_SEED.txt in the working directory; put into corpus/ it stays a test.

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "codegen/compiled_equal.hpp"
#include "compositions/check.hpp"
#include "compositions/generate.hpp"
#include "compositions/runner.hpp"
#include "ops/table.hpp"
#include "transform/checks.hpp"

namespace apsis::compositions {
namespace {

/// A generator and the check of what it makes; `word` begins the files of its programs.
struct Kind {
  const char* word;
  Block (*generate)(std::uint64_t seed);
  std::optional<Failure> (*check)(const Block& program, std::uint64_t seed, Tally& tally);
};
const Kind small_programs{"seed", generate, check}, nests{"nest", generate_nest, check_nest};

// Failures of one run, the others are named; under valgrind each would take an hour.
constexpr std::size_t most_shrunk = 10;

double from_environment(const char* name, double usual) {
  const char* asked = std::getenv(name);
  return asked ? std::atof(asked) : usual;
}

void shrink_and_keep(const Kind& kind, std::uint64_t seed, const Failure& failure, double limit) {
  const auto fails = [&](const Block& program) {
    const auto again = in_child(
        [&] {
          Tally unused;
          return kind.check(program, seed, unused);
        },
        limit);
    return again && again->kind == failure.kind;
  };
  const Block whole = kind.generate(seed);
  // Where every try takes a minute there is little to be had.
  const Block small = failure.kind == "endless" ? whole : shrink(whole, fails);
  const std::string path = "compositions_failed_" + std::to_string(seed) + ".txt";
  std::ofstream(path) << kind.word << ' ' << seed << "\n" << to_string(small);
  ADD_FAILURE() << kind.word << ' ' << seed << ": " << failure.kind << "\n"
                << failure.text << "\n"
                << to_string(small) << "kept in " << path;
}

double processor_seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Seeds from `first` on, `count` of them or as many as fit into the time.
void check_seeds(const Kind& kind, std::uint64_t first, std::uint64_t count, double seconds) {
  Seeds seeds{first, count, seconds, from_environment("APSIS_COMPOSITIONS_LIMIT", 60),
              static_cast<int>(from_environment("APSIS_COMPOSITIONS_WORKERS", 2))};
  if (const char* asked = std::getenv("APSIS_COMPOSITIONS")) {
    char comma;
    std::stringstream(asked) >> seeds.first >> comma >> seeds.count;
    seeds.seconds = 1e9;
  }
  const auto start = std::chrono::steady_clock::now();
  const double before = processor_seconds_of_children();
  std::vector<std::pair<std::uint64_t, Failure>> failures;
  Tally tally;
  const std::uint64_t done = check_in_children(
      seeds, [&](std::uint64_t seed, Tally& t) { return kind.check(kind.generate(seed), seed, t); },
      [&](std::uint64_t seed, const Failure& f) {
        std::cout << kind.word << ' ' << seed << ": " << f.kind << ": " << f.text.substr(0, 300) << std::endl;
        failures.emplace_back(seed, f);
      },
      tally);
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << done << " seeds from " << seeds.first << " in " << spent << " s, "
            << processor_seconds_of_children() - before << " of processors: " << failures.size()
            << " failed; " << tally.derived << " compared with exact derivatives; " << tally.costly
            << " too costly for that, " << tally.undecided
            << " at a kink or beyond measure; the others in single precision, for their bits\n";
  const auto to_shrink = static_cast<std::size_t>(from_environment("APSIS_COMPOSITIONS_SHRINK", most_shrunk));
  std::size_t shrunk = 0;
  for (const auto& [seed, failure] : failures) {
    if (shrunk++ < to_shrink)
      shrink_and_keep(kind, seed, failure, seeds.one_limit);
    else
      ADD_FAILURE() << kind.word << ' ' << seed << ": " << failure.kind << "\n"
                    << failure.text << "\n"
                    << to_string(kind.generate(seed));
  }
  // The comparison must not be skipped unnoticed.
  EXPECT_GT(tally.derived, tally.programs / 2);
}

TEST(Compositions, Random) { check_seeds(small_programs, 0, 1'000'000, 30); }
TEST(Compositions, RandomSlow) { check_seeds(small_programs, 1'000'000, 20'000, 1e9); }
TEST(Compositions, RandomNests) { check_seeds(nests, 0, 1'000'000, 30); }
TEST(Compositions, RandomNestsSlow) { check_seeds(nests, 1'000'000, 50'000, 1e9); }

/// Of a nest, the seed chooses what is differentiated, how, and in how many lanes: what once was wrong in one
/// way is tried in others too.
constexpr std::uint64_t ways_of_a_nest = 8;

TEST(Compositions, Corpus) {
  const char* elsewhere = std::getenv("APSIS_COMPOSITIONS_CORPUS");
  for (const auto& entry : std::filesystem::directory_iterator(
           elsewhere ? elsewhere : APSIS_SOURCE_DIR "/tests/compositions/corpus")) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    std::string word;
    std::uint64_t seed;
    file >> word >> seed;
    std::stringstream text;
    text << file.rdbuf();
    const Kind& kind = word == nests.word ? nests : small_programs;
    const Block program = parse(text.str());
    // One process for all ways, as a crash is rare; the report names the one.
    const auto failure = in_child(
        [&]() -> std::optional<Failure> {
          Tally tally;
          for (std::uint64_t way = 0; way < (word == nests.word ? ways_of_a_nest : 1); ++way)
            if (auto found = kind.check(program, seed + way, tally)) {
              found->text = kind.word + (" " + std::to_string(seed + way)) + ": " + found->text;
              return found;
            }
          return {};
        },
        from_environment("APSIS_COMPOSITIONS_LIMIT", 60));
    EXPECT_FALSE(failure) << entry.path() << "\n" << failure->kind << "\n" << failure->text;
  }
}

TEST(Compositions, ProgramsReadBack) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const Kind& kind : {small_programs, nests}) {
      const std::string text = to_string(kind.generate(seed));
      EXPECT_EQ(to_string(parse(text)), text);
    }
  }
}

void collect_ops(const detail::Graph& graph, std::set<std::string>& names) {
  for (const detail::Eqn& e : graph.eqns()) {
    names.insert(e.op->name);
    for (const detail::Graph* region : detail::regions_of(e.params)) collect_ops(*region, names);
  }
}

TEST(Compositions, ProgramsMeetEveryOp) {
  std::set<std::string> met{
      // Collectives are other ops once their vmap is staged: vmap_with_collective has them.
      "all_gather", "all_to_all", "pmax", "pmin", "ppermute", "psum", "psum_scatter", "unvmap",
      // Derivatives that wait to be transposed: rules (custom_vjp) and budgets of loops have them.
      "custom_linear", "linear_call",
      // What talks to the host, throws or only says something changes no value.
      "announce", "backward_nan", "forbid", "io_callback", "nan_probe", "progress", "pure_callback",
      "raise_when"};
  const auto meet = [&](const Block& program) {
    const Array x = zeros(program.parameters[0].shape);
    collect_ops(*testing::staged_call([&](const Array& at) { return run(program, at); }, x).graph, met);
  };
  for (std::uint64_t seed = 0; seed < 2500; ++seed) meet(generate(seed));
  for (std::uint64_t seed = 0; seed < 20; ++seed) meet(generate_nest(seed));
  for (const Op* op : detail::op_table()) EXPECT_TRUE(met.contains(op->name)) << op->name;
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
