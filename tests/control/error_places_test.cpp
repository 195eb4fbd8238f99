// Errors that a program raises as it runs name the line of the call, in compiled code too, which programs
// from other lines share.

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/child.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// The line of this file that the error of a call names; 0 if it names none, -1 without an error.
template <class F>
int line_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what(), file = "error_places_test.cpp:";
    const std::size_t at = text.find(file);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + file.size()));
  }
  return -1;
}

/// The same in the evaluator, which names the same line.
template <class F>
int line_everywhere(const F& f) {
  const int line = line_of(f);
  detail::InterpretScope reference;
  EXPECT_EQ(line_of(f), line);
  return line;
}

Array halved(const Array& x, std::int64_t most, Loc loc, const WhileOptions& options = {}) {
  WhileOptions bounded = options;
  bounded.max_steps = most;
  return while_loop([](const Array& y) { return y > 1.; }, [](const Array& y) { return 0.5 * y; }, x, bounded,
                    loc);
}
Loc line(unsigned number) { return {"error_places_test.cpp", "f", number}; }

TEST(ErrorPlaces, OfLoopsPastTheirBound) {
  const Array large = array(1e6), some = array({1., 1e6, 2.});
  auto f = [](const Array& x) { return halved(x, 5, line(101)); };
  EXPECT_EQ(line_everywhere([&] { f(large); }), 101);
  EXPECT_EQ(line_everywhere([&] { jit(f)(large); }), 101);
  EXPECT_EQ(line_everywhere([&] { grad(f)(large); }), 101);
  EXPECT_EQ(line_everywhere([&] { jit(grad(f))(large); }), 101);
  for (LaneLoops loops : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
    EXPECT_EQ(line_everywhere([&] { vmap(f, {.loops = loops})(some); }), 101);
    EXPECT_EQ(line_everywhere([&] { jit(vmap(f, {.loops = loops}))(some); }), 101);
    auto total = [&](const Array& x) { return sum(vmap(f, {.loops = loops})(x)); };
    EXPECT_EQ(line_everywhere([&] { jit(grad(total))(some); }), 101);
  }
  EXPECT_EQ(line_everywhere([&] { jit(vmap(grad(f)))(some); }), 101);
  auto lax = [](const Array& x) { return halved(x, 5, line(102), {.kind = Loop::Lax}); };
  EXPECT_EQ(line_everywhere([&] { jit(lax)(large); }), 102);
  auto kept = [](const Array& x) { return halved(x, 5, line(103), {.checkpoints = 2}); };
  EXPECT_EQ(line_everywhere([&] { jit(kept)(large); }), 103);
  EXPECT_EQ(line_everywhere([&] { jit(grad(kept))(large); }), 103);
  EXPECT_EQ(line_everywhere([&] { jit(vmap(grad(kept)))(some); }), 103);
}

TEST(ErrorPlaces, OfTheLoopAmongSeveralThatFails) {
  // One loop alone, one in a loop, one in each of two branches, one in a called function.
  auto f = [](const Array& x) {
    const Array alone = halved(x[0], 5, line(1));
    const Array inner = fori_loop(
        0, 3, [&](const Array&, const Array& c) { return c + halved(x[1], 5, line(2)); }, alone);
    const Array chosen = cond(
        x[2] > 64., [](const Array& v) { return halved(v * 0.125, 5, line(3)); },
        [](const Array& v) { return halved(where(v > 64., 1., v), 5, line(4)); }, x[2]);
    auto called = jit([](const Array& v) { return halved(v, 5, line(5)); });
    return inner + chosen + called(x[3]);
  };
  const auto with = [](int at, double value) { return ones({4}).at(at).set(value); };
  for (auto [x, number] : {std::pair{with(0, 9.), -1},
                           {with(0, 1e3), 1},
                           {with(1, 1e3), 2},
                           {with(2, 1e3), 3},
                           {with(2, 60.), 4},
                           {with(3, 1e3), 5}}) {
    SCOPED_TRACE(number);
    EXPECT_EQ(line_everywhere([&] { jit(f)(x); }), number);
    EXPECT_EQ(line_everywhere([&] { jit(grad(f))(x); }), number);
    EXPECT_EQ(line_everywhere([&] { jit(vmap(f))(stack({x, ones({4})})); }), number);
    EXPECT_EQ(line_everywhere([&] { jit(vmap(grad(f)))(stack({x, ones({4})})); }), number);
  }
}

TEST(ErrorPlaces, OfProgramsThatShareTheirCode) {
  auto from = [](unsigned number) {
    return jit([=](const Array& x, int) { return sin(halved(x, 7, line(number))) * 0.375; });
  };
  auto first = from(11), second = from(12);
  EXPECT_EQ(line_of([&] { first(array(1e9), 1); }), 11);
  const std::int64_t compiled = detail::compile_count();
  EXPECT_EQ(line_of([&] { second(array(1e9), 1); }), 12);
  EXPECT_EQ(line_of([&] { first(array(1e9), 1); }), 11);
  EXPECT_EQ(detail::compile_count(), compiled);
}

TEST(ErrorPlaces, OfProgramsFromDisk) {
  auto from = [](unsigned number) {
    return jit([=](const Array& x) { return cos(halved(x, 9, line(number))) * 0.625; });
  };
  Folder folder;
  set_disk_cache({.directory = folder.path()});
  EXPECT_EQ(line_of([&] { from(21)(array(1e9)); }), 21);
  detail::clear_program_cache();
  const std::int64_t compiled = detail::compile_count();
  EXPECT_EQ(line_of([&] { from(22)(array(1e9)); }), 22);
  EXPECT_EQ(detail::compile_count(), compiled);
  set_disk_cache({.on = false});
}

TEST(ErrorPlaces, OfCallbacks) {
  const Array three = array({1., 2., 3.});
  auto wrong = [](const Array& x) {
    const auto first = pure_callback([](const Array& v) { return v[0]; }, x);
    return first(x);
  };
  const int here = __LINE__ - 3;
  EXPECT_EQ(line_everywhere([&] { wrong(three); }), here);
  EXPECT_EQ(line_everywhere([&] { jit(wrong)(three); }), here);
  EXPECT_EQ(line_everywhere([&] { jit(vmap(wrong))(stack({three, three})); }), here);
}

}  // namespace
}  // namespace apsis::testing
