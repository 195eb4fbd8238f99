// What a figure's texts hold is shown, and does nothing else.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::error_of;
using apsis::testing::Files;

const double nan = std::numeric_limits<double>::quiet_NaN();

/// As a text stands in SVG, one of gnuplot's.
std::string in_svg(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

TEST(PlotText, IsShownAndNotRun) {
  Files files;
  const std::string made = files / "made";
  const std::string hostile[] = {"`touch " + made + "`",
                                 "\"`touch " + made + "`",
                                 "'`touch " + made + "`",
                                 "\\\"`touch " + made + "`",
                                 "\"; system(\"touch " + made + "\"); \"",
                                 "$(touch " + made + ")",
                                 "@made %s %d {/*9 x} ^a_b \\n \\101 <b>&amp;",
                                 "back\\slash at the end\\",
                                 "caf\xc3\xa9 \xce\xb1\xce\xb2 \xe2\x88\x9e",
                                 "EOD"};
  for (const std::string& text : hostile) {
    Figure f{.title = text, .xlabel = text, .ylabel = text};
    f.line(array({1., 2.}), array({1., 3.}), text)
        .mark(1.5, text)
        .band(array({1., 2.}), array({0., 1.}), array({2., 4.}), text);
    f.save(files / "f.svg");
    const std::string svg = bytes_of(files / "f.svg");
    std::size_t times = 0;
    const std::string wanted = ">" + in_svg(text) + "<";
    for (std::size_t at = svg.find(wanted); at != svg.npos; at = svg.find(wanted, at + 1)) ++times;
    EXPECT_GE(times, 6u) << text;
    Figure map{.title = text};
    map.map(array({1., 2.}), array({1., 2.}), ones({2, 2}), text);
    map.save(files / "map.png");
    EXPECT_FALSE(std::filesystem::exists(made)) << text;
  }
  EXPECT_EQ(files.count(), 2u);
}

TEST(PlotText, LineBreaksEndNoCommand) {
  Files files;
  const std::string made = files / "made";
  for (const std::string& line_break :
       {std::string("\n"), std::string("\r"), std::string("\r\n"), std::string("\\\n")}) {
    const std::string text = "first" + line_break + "!touch " + made + line_break + "system('touch " + made +
                             "')" + line_break + "EOD";
    Figure f{.title = text, .xlabel = text};
    f.points(array({1., 2.}), array({1., 3.}), text).save(files / "f.svg");
    EXPECT_FALSE(std::filesystem::exists(made));
    const std::string svg = bytes_of(files / "f.svg");
    // A line of the title, and a part of the one line in the key.
    EXPECT_NE(svg.find(">!touch " + made), svg.npos);
    EXPECT_NE(svg.find(" !touch " + made), svg.npos);
  }
}

TEST(PlotText, WhatCannotBeShownHasItsSign) {
  Files files;
  Figure f{.title = std::string("a\0b\x01"
                                "c\xff\xc3",
                                7)};
  f.line(array({1., 2.}), array({1., 3.}), std::string(100000, 'x')).save(files / "f.svg");
  const std::string svg = bytes_of(files / "f.svg");
  EXPECT_NE(svg.find(">a\xef\xbf\xbd"
                     "b\xef\xbf\xbd"
                     "c\xef\xbf\xbd\xef\xbf\xbd<"),
            svg.npos);
  EXPECT_NE(svg.find(std::string(500, 'x') + "…"), svg.npos);
  EXPECT_EQ(svg.find(std::string(501, 'x')), svg.npos);
}

TEST(PlotText, NamesOfColumnsAndColorsAreTextsToo) {
  Files files;
  const std::string made = files / "made";
  const Table t = read_csv(files.with("t.csv", "x,`touch " + made + "`\n1,2\n2,3\n"));
  Figure{}.line(t.column("x"), t.column(t.names[1]), t.names[1]).save(files / "f.png");
  EXPECT_NE(
      error_of([&] {
        Figure{}.line(array({1., 2.}), array({1., 3.}), "", "`touch " + made + "`").save(files / "f.png");
      }),
      "");
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST(PlotFile, NamesAreTextsToo) {
  Files files;
  for (const std::string& name :
       {std::string("|touch made.png"), std::string("a'b\"c`d`.png"), std::string("line\nbreak.png"),
        std::string("\xff.png"), std::string("plain")}) {
    Figure{}.line(array({1., 2.}), array({1., 3.}), "").save(files / name);
    EXPECT_EQ(bytes_of(files / name).substr(1, 3), "PNG") << name;
  }
  EXPECT_EQ(files.count(), 5u);
  Figure{}.line(array({1., 2.}), array({1., 3.}), "").save(files / "a.pdf");
  EXPECT_EQ(bytes_of(files / "a.pdf").substr(0, 4), "%PDF");
}

TEST(PlotFile, AFailureLeavesWhatWasThere) {
  Files files;
  const std::string path = files.with("f.png", "before");
  EXPECT_NE(error_of([&] {
              Figure{}.line(array({1., 2.}), array({1., 3.}), "", "no color").save(path);
            }),
            "");
  EXPECT_EQ(bytes_of(path), "before");
  EXPECT_EQ(files.count(), 1u);
}

/// Draws with something else in gnuplot's place.
struct Instead {
  std::string before = std::getenv("PATH");
  Instead(const Files& files, const std::string& script) {
    const std::string program = files.with("gnuplot", script);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", (files.path() + ":" + before).c_str(), 1);
  }
  ~Instead() { setenv("PATH", before.c_str(), 1); }
};

TEST(PlotProgram, ItsStatusAndWordsAreInTheError) {
  Files files;
  const Figure f = Figure{}.line(array({1., 2.}), array({1., 3.}), "");
  auto error = [&](const std::string& script) {
    const Instead instead(files, "#!/bin/sh\n" + script);
    return error_of([&] { f.save("/tmp/x.png"); });
  };
  const std::string begin = "[Figure] gnuplot could not draw /tmp/x.png: it ended with status ";
  EXPECT_EQ(error("echo '  no   terminal' >&2; exit 3"), begin + "3. It said: no terminal");
  EXPECT_EQ(error("kill -9 $$"), begin + "137. It said: ");
  EXPECT_EQ(error("exit 0"), begin + "0. It said: ");
  // It reads nothing: the rest of a long script ends no process.
  EXPECT_EQ(error("exec <&-; exit 1"), begin + "1. It said: ");
  EXPECT_EQ(error("yes | head -c 3000000 >&2; exit 1").size(), begin.size() + 12 + 600 + 3);
}

TEST(PlotProgram, WorksWhereSignalsAndDescriptorsAreUnusual) {
  Files files;
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  const int in = dup(0);
  close(0);
  Figure{}.line(array({1., 2.}), array({1., 3.}), "").save(files / "f.png");
  dup2(in, 0);
  close(in);
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(bytes_of(files / "f.png").substr(1, 3), "PNG");
}

TEST(PlotValues, WhatHasNoPlaceLeavesAGap) {
  Files files;
  auto curves = [&](const Array& y) {
    Figure{}.line(array({1., 2., 3., 4., 5.}), y, "").save(files / "f.svg");
    const std::string svg = bytes_of(files / "f.svg");
    const std::size_t begin = svg.find("d='", svg.find("gnuplot_plot_1")) + 3;
    const std::string path = svg.substr(begin, svg.find('\'', begin) - begin);
    return std::ranges::count(path, 'M');  // each stroke of a line begins by a move
  };
  const auto whole = curves(array({1., 2., 3., 4., 5.}));
  for (double gap : std::vector<double>{nan, INFINITY, -INFINITY, 1.7e308})
    EXPECT_EQ(curves(array({1., 2., gap, 4., 5.})), whole + 1) << gap;
}

TEST(PlotValues, EverySortOfFigureIsDrawn) {
  Files files;
  auto draws = [&](const Figure& f) {
    f.save(files / "f.png");
    EXPECT_EQ(bytes_of(files / "f.png").substr(1, 3), "PNG");
  };
  const Array two = array({1., 2.});
  draws(Figure{}.mark(1., "alone"));
  draws(Figure{.log_y = true}.mark(1., "alone").mark(2., "with another"));
  draws(Figure{}.line(array({1.}), array({2.}), "one point"));
  draws(Figure{}.line(two, array({2., 2.}), "flat").line(zeros({0}), zeros({0}), "empty"));
  draws(Figure{}.line(two, two, "").band(two, two * nan, two, "no band"));
  draws(Figure{}.line(two, array({-1e300, 1e300}), "large"));
  draws(Figure{}.line(two, array({1e-310, 2e-310}), "small"));
  draws(Figure{.log_y = true}.line(two, array({-1., 2.}), "negative").mark(1.2, "mark"));
  draws(Figure{}
            .points(arange(3), array({true, false, true}), "bools")
            .line(astype(arange(3), bf16), arange(3), "ints"));
  draws(Figure{.log_x = true, .log_y = true}
            .line(array({-1., 2., 3.}), arange(3.), "negative")
            .mark(2.5, "mark"));
  draws(Figure{.numbers = false}.line(two, two, "without numbers"));
  draws(Figure{}.map(two, two, two(range(), newaxis) * array({1., nan}), "with a hole"));
}

TEST(PlotValues, WhatCannotBeDrawnSaysWhy) {
  const Array two = array({1., 2.});
  auto error = [](const Figure& f) { return error_of([&] { f.save("/nowhere/f.png"); }); };
  EXPECT_EQ(
      error(Figure{}.line(two, two * nan, "a").points(zeros({0}), zeros({0}), "b")),
      "[Figure] no series of /nowhere/f.png has a value that can be drawn: values must be finite and below "
      "1e300; look at the values");
  EXPECT_EQ(
      error(Figure{.log_x = true}.line(-two, two, "a")),
      "[Figure] no series of /nowhere/f.png has a value that can be drawn: values must be finite and below "
      "1e300, and positive on a logarithmic scale; look at the values");
  EXPECT_EQ(error_of([] { Figure{.log_x = true}.mark(0., "a"); }),
            "[Figure] the mark \"a\" stands at 0.000000; give it a positive and finite place");
  EXPECT_EQ(
      error(Figure{.log_x = true}.map(two, two, ones({2, 2}), "")),
      "[Figure] /nowhere/f.png: a map has even steps, which log_x cannot show; give the map log(x), without "
      "log_x");
  EXPECT_EQ(
      error(Figure{.log_y = true}.line(two, -two, "a")),
      "[Figure] no series of /nowhere/f.png has a value that can be drawn: values must be finite and below "
      "1e300, and positive on a logarithmic scale; look at the values");
  EXPECT_EQ(error(Figure{.series = {{Series::Kind::Line, {1., 2.}, {1.}, {}, "a", "red"}}}),
            "[Figure] the series \"a\" has 2 x and 1 y values; give as many of each");
  EXPECT_EQ(error(Figure{.series = {{Series::Kind::Mark, {}, {}, {}, "a", "red"}}}),
            "[Figure] the series \"a\" has 0 x and 0 y values; give as many of each");
  for (int width : {0, -1, 49, 32001, std::numeric_limits<int>::max()})
    EXPECT_TRUE(error(Figure{.width = width}.line(two, two, ""))
                    .starts_with("[Figure] /nowhere/f.png has a figure of "));
  EXPECT_EQ(error_of([] { save_stacked({}, "/nowhere/f.png"); }),
            "[Figure] there is nothing to draw in /nowhere/f.png: add a series first");
}

}  // namespace
