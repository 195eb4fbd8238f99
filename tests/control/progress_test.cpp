// Reports from inside loops: how often, what they say, under which transformations; and that a report's error
// ends the loop.

#include <mutex>
#include <stdexcept>

#include "control/repeat.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// Keeps what is reported.
struct Notes {
  std::mutex mutex;
  std::vector<ProgressReport> reports;
  ProgressFunction taker() {
    return [this](const ProgressReport& r) {
      const std::scoped_lock lock(mutex);
      reports.push_back(r);
    };
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> out;
    for (const ProgressReport& r : reports) out.push_back(r.steps);
    return out;
  }
};

using Steps = std::vector<std::int64_t>;

TEST(Progress, EveryNSteps) {
  Notes notes;
  Progress progress{.every_steps = 3, .report = notes.taker()};
  auto run = jit([&](const Array& n, const Array& x) { return repeat(n, x, {.progress = progress}); });
  Array x = array(0.4);
  expect_same_bits(run(array(10), x),
                   jit([](const Array& n, const Array& y) { return repeat(n, y, {}); })(array(10), x));
  EXPECT_EQ(notes.steps(), (Steps{3, 6, 9}));
  for (const ProgressReport& r : notes.reports) {
    EXPECT_TRUE(std::isnan(r.fraction));
    EXPECT_TRUE(r.lane.empty());
  }
  for (std::int64_t n : {0, 1, 2}) run(array(n), x);
  EXPECT_EQ(notes.reports.size(), 3u);
  run(array(3), x);
  EXPECT_EQ(notes.reports.size(), 4u);
}

TEST(Progress, WhereverALoopRuns) {
  Array x = array(0.4);
  const auto reported = [&](auto&& way) {
    Notes notes;
    way(Progress{.every_steps = 4, .report = notes.taker()});
    return notes.steps();
  };
  EXPECT_EQ(reported([&](const Progress& p) { repeat(array(9), x, {.progress = p}); }), (Steps{4, 8}));
  EXPECT_EQ(reported([&](const Progress& p) {
              detail::InterpretScope interpreted;
              repeat(array(9), x, {.progress = p});
            }),
            (Steps{4, 8}));
  EXPECT_EQ(reported([&](const Progress& p) {
              DisableJit off;
              repeat(array(9), x, {.progress = p});
            }),
            (Steps{4, 8}));
  const auto total = [](const Array& c, const Array& y) { return std::pair{c + y, c}; };
  for (std::int64_t kept : {0, 2})
    EXPECT_EQ(reported([&](const Progress& p) {
                auto [sum_of, before] =
                    scan(total, array(0.), arange(9.), {.checkpoints = kept, .progress = p});
                EXPECT_EQ(sum_of.item<double>(), 36.);
                EXPECT_EQ(before[8].item<double>(), 28.);
              }),
              (Steps{4, 8}));
  EXPECT_EQ(reported([&](const Progress& p) {
              DisableJit off;
              scan(total, array(0.), arange(9.), {.progress = p});
            }),
            (Steps{4, 8}));
}

TEST(Progress, TellsHowMuchIsDoneWhereThatIsKnown) {
  Notes notes;
  const Progress progress{.every_steps = 2, .report = notes.taker()};
  repeat(array(4), array(0.4), {.max_steps = 8, .progress = progress});
  scan(
      [](const Array& c, const Array& y) {
        return std::pair{c + y, Nothing{}};
      },
      array(0.), arange(5.), {.progress = progress});
  std::vector<double> fractions;
  for (const ProgressReport& r : notes.reports) fractions.push_back(r.fraction);
  EXPECT_EQ(fractions, (std::vector<double>{0.25, 0.5, 0.4, 0.8}));
}

TEST(Progress, OfLoopsOverIndices) {
  Notes notes;
  const ForiOptions options{.checkpoints = 2, .progress = {.every_steps = 2, .report = notes.taker()}};
  const auto loop = [&](const Array& lo, const Array& hi, const Array& x) {
    return fori_loop(
        lo, hi, [](const Array&, const Array& y) { return sin(y); }, x, options);
  };
  const auto told = [&](auto&& way) {
    notes.reports.clear();
    way(array(3), array(8), array(0.4));
    std::vector<double> fractions;
    for (const ProgressReport& r : notes.reports) fractions.push_back(r.fraction);
    EXPECT_EQ(notes.steps(), (Steps{2, 4}));
    EXPECT_EQ(fractions, (std::vector<double>{0.4, 0.8}));
  };
  told(loop);
  told(jit(loop));
  told(jit(grad<2>(loop)));
  DisableJit off;
  told(loop);
}

// Reverse mode reports on the way forwards, once.
TEST(Progress, UnderDerivatives) {
  for (const WhileOptions& options : {WhileOptions{}, WhileOptions{.max_steps = 20, .kind = Loop::Bounded},
                                      WhileOptions{.checkpoints = 2}}) {
    Notes notes;
    WhileOptions reporting = options;
    reporting.progress = {.every_steps = 5, .report = notes.taker()};
    const auto loss = [](const WhileOptions& o) {
      return [=](const Array& x) { return repeat(array(12), x, o); };
    };
    Array x = array(0.4);
    expect_same_bits(jit(grad(loss(reporting)))(x), jit(grad(loss(options)))(x));
    EXPECT_EQ(notes.steps(), (Steps{5, 10}));
    notes.reports.clear();
    EXPECT_EQ(
        jit([&](const Array& y) { return jvp(loss(reporting), y, array(1.)).second; })(x).item<double>(),
        jit([&](const Array& y) { return jvp(loss(options), y, array(1.)).second; })(x).item<double>());
    EXPECT_EQ(notes.steps(), (Steps{5, 10}));
    notes.reports.clear();
    expect_near(jit(hessian(loss(reporting)))(x), jit(hessian(loss(options)))(x));
    EXPECT_EQ(notes.steps(), (Steps{5, 10}));
  }
}

TEST(Progress, LanesThatKeepStepReportTogether) {
  Notes notes;
  Progress progress{.every_steps = 4, .report = notes.taker()};
  Array xs = cos(arange(20.)), n = array(9);
  expect_same_bits(jit(vmap([&](const Array& x) { return repeat(n, x, {.progress = progress}); }))(xs),
                   jit(vmap([&](const Array& x) { return repeat(n, x, {}); }))(xs));
  EXPECT_EQ(notes.steps(), (Steps{4, 8}));
  EXPECT_TRUE(notes.reports[0].lane.empty());
  // Of several lanes' numbers: the most steps, and the least fraction.
  notes.reports.clear();
  Array steps = array({4, 8, 2}), fractions = array({0.5, 0.25, 0.75});
  vmap([&](const Array& s, const Array& f) {
    report_progress(progress, s, f);
    return s;
  })(steps, fractions);
  ASSERT_EQ(notes.steps(), (Steps{8}));
  EXPECT_EQ(notes.reports[0].fraction, 0.25);
}

// Lanes at their own pace: one of a packet reports, and says which it is.
TEST(Progress, LanesAtTheirOwnPace) {
  Notes notes;
  Progress progress{.every_steps = 50, .report = notes.taker()};
  constexpr std::int64_t lanes = 300;
  Array lengths = remainder(arange(static_cast<double>(lanes)) * 37., 101.), xs = cos(lengths);
  lengths = astype(lengths, i64);
  for (auto&& batch :
       {jit(vmap([&](const Array&n, const Array&x) { return repeat(n, x, {.progress = progress}); }))}) {
    expect_same_bits(batch(lengths, xs),
                     jit(vmap([](const Array& n, const Array& x) { return repeat(n, x, {}); }))(lengths, xs));
  }
  std::size_t most = 0;
  for (std::int64_t k = 0; k < lanes; ++k)
    most += static_cast<std::size_t>(lengths[k].item<std::int64_t>() / 50);
  EXPECT_GT(notes.reports.size(), 0u);
  EXPECT_LE(notes.reports.size(), most / 2);
  for (const ProgressReport& r : notes.reports) {
    ASSERT_EQ(r.lane.size(), 1u);
    EXPECT_EQ(r.steps % 50, 0);
    EXPECT_LE(r.steps, lengths[r.lane[0]].item<std::int64_t>()) << "of the lane that it names";
  }
  // Their gradient runs the loops once.
  const std::size_t before = notes.reports.size();
  notes.reports.clear();
  auto total = [&](const Progress& p) {
    return jit(grad([=](const Array& x) {
      return sum(
          vmap([=](const Array& n, const Array& y) { return repeat(n, y, {.progress = p}); })(lengths, x));
    }));
  };
  expect_same_bits(total(progress)(xs), total({})(xs));
  EXPECT_GT(notes.reports.size(), 0u);
  EXPECT_LE(notes.reports.size(), 2 * before);
}

TEST(Progress, EveryNSeconds) {
  // Nothing but the first report, at once: the next is due in a day.
  Notes day;
  Array x = array(0.4);
  repeat(array(100000), x, {.progress = {.every_seconds = 86400., .report = day.taker()}});
  EXPECT_EQ(day.steps(), (Steps{1}));
  // A loop that goes on until it has reported some times: it ends only if reports come.
  Notes notes;
  CancelToken enough;
  CancelScope scope(enough);
  Progress progress{.every_seconds = 0.002, .report = [&](const ProgressReport& r) {
                      notes.taker();
                      notes.reports.push_back(r);
                      if (notes.reports.size() == 5) enough.cancel();
                    }};
  EXPECT_THROW(repeat(array(std::int64_t{1} << 60), x, {.progress = progress}), Error);
  EXPECT_EQ(notes.reports.size(), 5u);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_GT(notes.reports[i].steps, notes.reports[i - 1].steps);
}

struct Stop : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Progress, AnErrorInAReportEndsTheLoop) {
  Progress progress{.every_steps = 3,
                    .report = [](const ProgressReport& r) { throw Stop("at " + std::to_string(r.steps)); }};
  Array n = array(std::int64_t{1} << 60), x = array(0.4);
  auto run = [&](const Array& y) { return repeat(n, y, {.progress = progress}); };
  const auto text_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Stop& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(text_of([&] { run(x); }), "at 3");
  EXPECT_EQ(text_of([&] { jit(run)(x); }), "at 3");
  EXPECT_EQ(text_of([&] { jit(grad(run))(x); }), "at 3");
  EXPECT_EQ(text_of([&] { jit(vmap(run))(cos(arange(8.))); }), "at 3");
  auto own_pace =
      jit(vmap([&](const Array& m, const Array& y) { return repeat(m, y, {.progress = progress}); }));
  EXPECT_EQ(text_of([&] { own_pace(full({40}, std::int64_t{1} << 60), cos(arange(40.))); }), "at 3");
  EXPECT_EQ(own_pace(full({40}, std::int64_t{2}), cos(arange(40.))).size(), 40)
      << "and the function is as good as before";
}

TEST(Progress, OfASolve) {
  auto decay = [](const Array&, const Array& y) { return -y; };
  Notes notes;
  auto solve = [&](const Array& rate, const Progress& progress) {
    return diffeqsolve(ODETerm{decay}, Tsit5{}, 2., 0., -0.1, rate * array({1., 2.}), {.progress = progress})
        .ys;
  };
  const Progress progress{.every_steps = 5, .report = notes.taker()};
  expect_same_bits(solve(1., progress), solve(1., {}));
  EXPECT_EQ(notes.steps(), (Steps{5, 10, 15, 20}));
  for (const ProgressReport& r : notes.reports)
    EXPECT_NEAR(r.fraction, static_cast<double>(r.steps) / 20, 1e-12);
  notes.reports.clear();
  auto slope = [&](const Progress& p) {
    return jit(grad([&, p](const Array& rate) { return sum(solve(rate, p)); }));
  };
  expect_same_bits(slope(progress)(array(1.)), slope({})(array(1.)));
  EXPECT_EQ(notes.steps(), (Steps{5, 10, 15, 20}));
}

TEST(Progress, OffItIsTheSameProgram) {
  auto with = [](const Progress& p) {
    return make_graph([=](const Array& x) { return repeat(array(9), x, {.progress = p}); }, array(0.4));
  };
  EXPECT_EQ(with({}), with({.report = [](const ProgressReport&) {}}));
  EXPECT_NE(with({}), with({.every_steps = 5}));
}

TEST(Progress, TheTextMeterWritesLines) {
  ::testing::internal::CaptureStderr();
  TextMeter{}({.steps = 12345, .fraction = 0.4204});
  TextMeter{}({.steps = 7, .fraction = std::nan(""), .lane = {3, 14}});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), " 42.0 %  12345 steps\n7 steps  of lane 3,14\n");
  ::testing::internal::CaptureStderr();
  repeat(array(4), array(0.4), {.max_steps = 4, .progress = {.every_steps = 2}});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), " 50.0 %  2 steps\n100.0 %  4 steps\n");
}

}  // namespace
}  // namespace apsis::testing
