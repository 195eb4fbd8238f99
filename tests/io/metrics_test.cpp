// Metrics of a training: lines of JSON, TensorBoard's events, and the figure of both.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"
#include "io/metrics.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::error_of;
using apsis::testing::Files;

TEST(JsonLines, ComeBackAsATable) {
  Files files;
  const JsonLines log{files / "m.jsonl"};
  log.write(0, {{"loss", array(0.1)}, {"a \"name\"\\", 3}});
  log.write(10, {{"loss", array(std::nan(""))}, {"größe", array(2.5f)}});
  log.write(20, {});
  EXPECT_EQ(bytes_of(files / "m.jsonl"),
            "{\"step\": 0, \"loss\": 0.1, \"a \\\"name\\\"\\\\\": 3}\n"
            "{\"step\": 10, \"loss\": null, \"größe\": 2.5}\n"
            "{\"step\": 20}\n");
  const Table t = read_json_lines(files / "m.jsonl");
  EXPECT_EQ(t.names, (std::vector<std::string>{"step", "loss", "a \"name\"\\", "größe"}));
  EXPECT_EQ(t.column("step").to_vector<double>(), (std::vector<double>{0, 10, 20}));
  EXPECT_EQ(t.column("loss")[0].item<double>(), 0.1);
  EXPECT_TRUE(std::isnan(t.column("loss")[1].item<double>()));
  EXPECT_TRUE(std::isnan(t.column("größe")[0].item<double>()));
}

TEST(JsonLines, OfOthersAreRead) {
  Files files;
  const std::string path =
      files.with("m.jsonl",
                 "{ \"loss\" :1e-3 , "
                 "\"step\":2}\r\n\n{\"\\u00e4\\ud83d\\ude00\\n\":-2.5E+1,\"step\":3}\n{\"step\": 4, \"lo");
  const Table t = read_json_lines(path);
  EXPECT_EQ(t.names, (std::vector<std::string>{"step", "loss", "\xc3\xa4\xf0\x9f\x98\x80\n"}));
  EXPECT_EQ(t.column("loss")[0].item<double>(), 1e-3);
  EXPECT_EQ(t.values(1, 2).item<double>(), -25);
  EXPECT_EQ(t.values.shape(), (Shape{2, 3}));  // the last line was cut off
}

TEST(JsonLines, SayWhatIsWrongWhere) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"3", "there is no '{' before \"3\""},
           {"{\"step\": 1} x", "text follows the object"},
           {"{\"step\": 1, \"a\": [1]}", "\"[1]\" is no number that f64 holds, nor null"},
           {"{\"step\": 1, \"a\": inf}", "\"inf\" is no number that f64 holds, nor null"},
           {"{\"step\": 1, \"a\": 1e999}", "\"1e999\" is no number that f64 holds, nor null"},
           {"{\"step\": 1, \"a\"}", "there is no ':' before \"}\""},
           {"{\"step\": 1,}", "there is no '\"' before \"}\""},
           {"{\"step", "a quote is not closed"},
           {"{\"\\x\": 1}", "a backslash stands before what it cannot"},
           {"{\"\\u12", "\\u is not followed by four digits"},
           {"{\"\\ud800\": 1}", "half a character stands alone"},
           {"{\"\\udc00\": 1}", "half a character stands alone"},
           {"{\"\\ud800\\u0041\": 1}", "half a character stands alone"},
           {"{\"loss\": 1}", "it has no step"},
           {"{\"step\": 0.5}", "it has no step"},
           {"{\"step\": null}", "it has no step"}}) {
    Files files;
    const std::string path = files.with("m.jsonl", "{\"step\": 1}\n" + line + "\n");
    EXPECT_EQ(error_of([&] { read_json_lines(path); }),
              "[json_lines] " + path + ":2: " + why +
                  "; each line is an object of numbers, with an integer \"step\"");
  }
}

TEST(JsonLines, AreTakenBack) {
  Files files;
  const JsonLines log{files / "m.jsonl"};
  log.rewind(5);  // no file: nothing
  EXPECT_EQ(files.count(), 0u);
  for (int step = 0; step < 6; ++step) log.write(step, {{"x", step}});
  std::ofstream(log.path, std::ios::app) << "{\"step\": 6, \"x\"";  // a process died here
  log.rewind(4);
  log.write(4, {{"x", -4.}});
  const Table t = read_json_lines(log.path);
  EXPECT_EQ(t.column("step").to_vector<double>(), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(t.column("x").to_vector<double>(), (std::vector<double>{0, 1, 2, 3, -4}));
  log.rewind(0);
  EXPECT_EQ(bytes_of(log.path), "");
  EXPECT_EQ(read_json_lines(log.path).values.shape(), (Shape{0, 1}));
}

TEST(Metrics, AreRealNumbersWithNames) {
  Files files;
  for (const JsonLines& log : {JsonLines{files / "m.jsonl"}})
    for (const auto& bad : std::vector<Metrics>{{{"", 1.}},
                                                {{"step", 1.}},
                                                {{"a", 1.}, {"a", 2.}},
                                                {{"a\nb", 1.}},
                                                {{"a", array({1.})}},
                                                {{"a", Array()}},
                                                {{"a", Array(1., c128)}}}) {
      EXPECT_TRUE(error_of([&] { log.write(1, bad); }).starts_with("[metrics] "));
      EXPECT_TRUE(error_of([&] { TensorBoard{files / "board"}.write(1, bad); }).starts_with("[metrics] "));
    }
  EXPECT_EQ(files.count(), 0u);
  auto traced = jit([&](const Array& x) {
    JsonLines{files / "m.jsonl"}.write(1, {{"x", x}});
    return x;
  });
  EXPECT_NE(error_of([&] { traced(1.); }).find("traced"), std::string::npos);
  EXPECT_NE(error_of([&] { JsonLines{files / "no/such/folder"}.write(1, {}); }), "");
}

TEST(TensorBoard, WritesTheBytesOfItsOwnWriter) {
  std::ifstream in(APSIS_SOURCE_DIR "/tests/golden/events.txt");
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    double seconds = 0;
    std::string kind, word, frame;
    std::int64_t step = 0;
    words >> seconds >> kind >> step;
    Metrics metrics;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      if (equals == word.npos)
        frame = word;
      else
        metrics.push_back({word.substr(0, equals), std::stod(word.substr(equals + 1))});
    }
    const std::string bytes = kind == "version"   ? detail::version_event(seconds)
                              : kind == "scalars" ? detail::scalar_event(seconds, step, metrics)
                                                  : detail::restart_event(seconds, step);
    std::string hex;
    for (unsigned char c : bytes) hex += "0123456789abcdef"[c >> 4], hex += "0123456789abcdef"[c & 15];
    EXPECT_EQ(hex, frame) << line;
    EXPECT_EQ(detail::whole_events(bytes), bytes.size());
    ++count;
  }
  EXPECT_EQ(count, 8);
}

TEST(TensorBoard, CutsOffWhatIsNotWhole) {
  Files files;
  const TensorBoard board{files / "a/b"};
  board.rewind(3);
  EXPECT_EQ(files.count(), 0u);
  for (int step = 0; step < 3; ++step) board.write(step, {{"loss", 1. / (step + 1)}});
  const std::string file = files / "a/b/events.out.tfevents.apsis", whole = bytes_of(file);
  const std::size_t restart = detail::restart_event(0, 2).size();
  // Wherever a process died within the last event, what is whole stays and what follows can be read.
  const std::size_t last = detail::scalar_event(0, 2, {{"loss", 1.}}).size();
  for (std::size_t cut = 0; cut <= last; ++cut) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() - cut);
    board.rewind(2);
    const std::string now = bytes_of(file);
    EXPECT_EQ(now.size(), whole.size() - (cut ? last : 0) + restart) << cut;
    EXPECT_EQ(detail::whole_events(now), now.size()) << cut;
  }
  std::ofstream(file, std::ios::binary) << "something else that is long enough";
  EXPECT_EQ(error_of([&] { board.rewind(2); }),
            "[TensorBoard] " + file + " is no file of events of this library: give another folder");
}

TEST(MetricsFigure, PassesOverRowsWithoutNumbers) {
  Files files;
  const JsonLines log{files / "m.jsonl"};
  for (int step = 0; step < 10; ++step) {
    Metrics m{{"train", 1. / (1 + step)}};
    if (step % 3 == 0) m.push_back({"validation", 2. / (1 + step)});
    log.write(step, m);
  }
  const Figure figure = metrics_figure(read_json_lines(log.path), {"train", "validation"}, {.log_y = true});
  ASSERT_EQ(figure.series.size(), 2u);
  EXPECT_EQ(figure.series[1].x, (std::vector<double>{0, 3, 6, 9}));
  EXPECT_EQ(figure.series[1].label, "validation");
  EXPECT_TRUE(figure.log_y);
  EXPECT_NE(error_of([&] { metrics_figure(read_json_lines(log.path), {"test"}); }), "");
}

TEST(Idx, IsReadInEveryType) {
  Files files;
  auto idx = [&](const std::string& bytes) { return read_idx(files.with("x.idx", bytes)); };
  using namespace std::string_literals;
  const Array u = idx("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef"s);
  EXPECT_EQ(u.shape(), (Shape{2, 3}));
  EXPECT_EQ(u.dtype(), u8);
  EXPECT_EQ(u(1, 0).item<int>(), 'd');
  EXPECT_EQ(idx("\0\0\x09\1\0\0\0\1\xff"s)[0].item<int>(), -1);
  EXPECT_EQ(idx("\0\0\x0b\1\0\0\0\2\1\2\xff\xfe"s).to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{258, -2}));
  EXPECT_EQ(idx("\0\0\x0c\1\0\0\0\1\0\1\0\0"s)[0].item<int>(), 65536);
  EXPECT_EQ(idx("\0\0\x0d\0\x3f\x80\0\0"s).item<float>(), 1.f);
  EXPECT_EQ(idx("\0\0\x0e\1\0\0\0\1\xbf\xf0\0\0\0\0\0\0"s)[0].item<double>(), -1.);
  EXPECT_EQ(idx("\0\0\x0e\2\0\0\0\0\0\0\0\7"s).shape(), (Shape{0, 7}));
}

TEST(Idx, IsRefusedWhereItIsNotWhole) {
  Files files;
  using namespace std::string_literals;
  const std::string path = files / "x.idx", whole = "\0\0\x0c\2\0\0\0\2\0\0\0\1abcdefgh"s;
  EXPECT_EQ(read_idx(files.with("x.idx", whole)).shape(), (Shape{2, 1}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(error_of([&] {
                  read_idx(files.with("x.idx", whole.substr(0, size)));
                }).starts_with("[read_idx] " + path + " is no whole IDX file: "))
        << size;
  for (const std::string& bad :
       {whole + "i", "\0\0\x07\1\0\0\0\0"s, "\1\0\x08\1\0\0\0\0"s,
        "\0\0\x0e\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s})
    EXPECT_NE(error_of([&] { read_idx(files.with("x.idx", bad)); }), "");
  EXPECT_EQ(error_of([&] { read_idx(files.with("x.idx", "\x1f\x8b\x08")); }),
            "[read_idx] " + path + " is compressed; unpack it, with gunzip");
}

}  // namespace
