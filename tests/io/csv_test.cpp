#include <gtest/gtest.h>

#include <clocale>
#include <cmath>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;
using apsis::testing::Files;

Table table_of(const std::string& text) {
  Files files;
  return read_csv(files.with("t.csv", text));
}
/// The error of reading a table, with the file called t.csv.
std::string refusal(const std::string& text) {
  Files files;
  const std::string path = files.with("t.csv", text);
  std::string error = error_of([&] { read_csv(path); });
  const std::size_t at = error.find(path);
  return at == error.npos ? error : error.replace(at, path.size(), "t.csv");
}

TEST(CsvText, LinesEndInAnyWay) {
  for (const char* text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r",
                           "\xef\xbb\xbf"
                           "a,b\n1,2\n\n 3 ,\t4 "}) {
    const Table t = table_of(text);
    EXPECT_EQ(t.names, (std::vector<std::string>{"a", "b"})) << text;
    EXPECT_EQ(t.values.to_vector<double>(), (std::vector<double>{1, 2, 3, 4})) << text;
  }
}

TEST(CsvText, FieldsMayStandInQuotes) {
  const Table t = table_of("\"time, s\" , \"a \"\"b\"\"\",\"two\nlines\"\n\"1.5\",+2,-3e-1\n");
  EXPECT_EQ(t.names, (std::vector<std::string>{"time, s", "a \"b\"", "two\nlines"}));
  EXPECT_EQ(t.values.to_vector<double>(), (std::vector<double>{1.5, 2, -0.3}));
  // Numbers in quotes are names.
  EXPECT_EQ(table_of("\"1990\",\"1991\"\n1,2\n").names, (std::vector<std::string>{"1990", "1991"}));
}

TEST(CsvText, NumbersThatAreNotFiniteAreNumbers) {
  const std::vector<double> v = table_of("a,b,c\nnan,inf,-inf\n").values.to_vector<double>();
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_EQ(v[1], INFINITY);
  EXPECT_EQ(v[2], -INFINITY);
}

TEST(CsvText, LocaleDoesNotMatter) {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"})
    if (std::setlocale(LC_ALL, name)) break;
  EXPECT_EQ(table_of("a\n1.5\n").values.to_vector<double>(), (std::vector<double>{1.5}));
  std::setlocale(LC_ALL, "C");
}

TEST(CsvText, EachMistakeSaysItsLine) {
  EXPECT_EQ(refusal(""), "[read_csv] t.csv has no line of column names");
  EXPECT_EQ(refusal("\n# only this\n"), "[read_csv] t.csv has no line of column names");
  EXPECT_EQ(refusal("a,b\r\n1,2\r\n\r\n1,2,3\r\n"),
            "[read_csv] t.csv:4: the line has 3 fields, the table 2 columns; fields are separated by commas");
  EXPECT_EQ(refusal("a,b\n1,\n"),
            "[read_csv] t.csv:2: column b holds \"\", which is no number; a missing value is written nan");
  EXPECT_EQ(refusal("a,b\n1,2 3\n"),
            "[read_csv] t.csv:2: column b holds \"2 3\", which is no number; a missing value is written nan");
  EXPECT_EQ(refusal("a\n1e999\n"),
            "[read_csv] t.csv:2: column a holds 1e999, which f64 cannot hold; scale the column");
  EXPECT_EQ(
      refusal("a\n\"1\n2\n"),
      "[read_csv] t.csv:2: a quote is not closed; a field in quotes is \"…\", with quotes inside it written "
      "twice");
  EXPECT_EQ(
      refusal("a\n\"1\"2\n"),
      "[read_csv] t.csv:2: text follows a closed quote; a field in quotes is \"…\", with quotes inside it "
      "written twice");
  EXPECT_EQ(
      refusal(std::string("a\n1\n\0", 5)),
      "[read_csv] t.csv:3 holds a NUL byte: it is no text, or of two bytes a character; save it as UTF-8");
  EXPECT_EQ(
      refusal("1,2\n3,4\n"),
      "[read_csv] t.csv:1: the first line holds numbers only; write a line of column names above it, in "
      "quotes if they are numbers");
  EXPECT_EQ(refusal("# x\na,b,a\n1,2,3\n"), "[read_csv] t.csv:2: two columns are called \"a\"; rename one");
  // What is shown of a field is short, and does nothing to a terminal.
  EXPECT_EQ(refusal("a\n\x1b[31m\xff" + std::string(1000, 'x') + "\n"),
            "[read_csv] t.csv:2: column a holds \"\xef\xbf\xbd[31m\xef\xbf\xbd" + std::string(54, 'x') +
                "…\", which is no number; a missing value is written nan");
}

TEST(CsvText, ErrorsNameTheUsersLine) {
  Files files;
  const std::string path = files.with("t.csv", "a\n1\n");
  auto line_of = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(line_of([&] { read_csv(path).column("b"); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { read_csv("/nowhere"); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { load("/nowhere", ones({2})); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { save("/nowhere/a", ones({2})); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { load_npy(path); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { save_npy("/nowhere/a", ones({2})); }).find("csv_test.cpp:"), std::string::npos);
  EXPECT_NE(line_of([&] { Figure{}.line(ones({2}), ones({3}), ""); }).find("csv_test.cpp:"),
            std::string::npos);
  EXPECT_NE(line_of([&] { Figure{}.save("a.png"); }).find("csv_test.cpp:"), std::string::npos);
}

}  // namespace
