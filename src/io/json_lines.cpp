// Metrics as lines of JSON (RFC 8259).

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "apsis/core/op.hpp"
#include "apsis/tree/walk.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/metrics.hpp"
#include "io/text.hpp"

namespace apsis {
namespace {

using detail::shown;

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

/// The shortest text that is the number, `null` for those JSON has none for.
std::string number_text(double x) {
  std::string text;
  std::isfinite(x) ? detail::print_floating(text, x, false) : void(text = "null");
  return text;
}

struct Entry {
  std::string name;
  double value;
};

/// One line, an object whose values are numbers or null.
class Line {
 public:
  Line(std::string_view text, const std::string& file, std::size_t number)
      : rest_(text), file_(file), number_(number) {}

  std::vector<Entry> entries() {
    std::vector<Entry> found;
    expect('{');
    if (!take('}')) {
      do {
        std::string name = string();
        expect(':');
        found.push_back({std::move(name), value()});
      } while (take(','));
      expect('}');
    }
    skip_space();
    if (!rest_.empty()) refuse("text follows the object");
    return found;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(messages::json_line, {file_, std::to_string(number_), why});
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("there is no '") + c + "' before \"" + shown(rest_, 20) + "\"");
  }
  double value() {
    skip_space();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(",} \t\r"));
    rest_.remove_prefix(word.size());
    if (word == "null") return std::numeric_limits<double>::quiet_NaN();
    double x = 0;
    const auto [next, status] = std::from_chars(word.data(), word.data() + word.size(), x);
    const bool plain = word.find_first_not_of("-+.eE0123456789") == word.npos;
    if (status != std::errc{} || next != word.data() + word.size() || !plain)
      refuse("\"" + shown(word, 20) + "\" is no number that f64 holds, nor null");
    return x;
  }
  std::string string() {
    expect('"');
    std::string text;
    for (;;) {
      if (rest_.empty()) refuse("a quote is not closed");
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c == '\\')
        escaped(text);
      else
        text += c;
    }
  }
  void escaped(std::string& text) {
    constexpr std::string_view marks = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char c = rest_.empty() ? '\0' : rest_[0];
    if (c == 'u') return code_point(text);
    const std::size_t at = marks.find(c);
    if (at == marks.npos) refuse("a backslash stands before what it cannot");
    rest_.remove_prefix(1);
    text += meanings[at];
  }
  /// \uXXXX as UTF-8; characters beyond these are two of them.
  void code_point(std::string& text) {
    unsigned code = code_unit();
    const auto is_first = [](unsigned c) { return c >= 0xd800 && c < 0xdc00; };
    const auto is_second = [](unsigned c) { return c >= 0xdc00 && c < 0xe000; };
    const auto alone = [this] { refuse("half a character stands alone"); };
    if (is_second(code)) alone();
    if (is_first(code)) {
      if (!rest_.starts_with("\\u")) alone();
      rest_.remove_prefix(1);
      const unsigned second = code_unit();
      if (!is_second(second)) alone();
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    auto add = [&text](unsigned byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) return add(0xc0 | code >> 6), add(0x80 | (code & 0x3f));
    if (code < 0x10000)
      add(0xe0 | code >> 12);
    else
      add(0xf0 | (code >> 18 & 7)), add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  }
  unsigned code_unit() {
    unsigned code = 0;
    const std::string_view digits = rest_.substr(1, 4);
    const auto [next, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || next != digits.data() + 4) refuse("\\u is not followed by four digits");
    rest_.remove_prefix(5);
    return code;
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t number_;
};

/// A whole line of the file, and what it holds.
struct Row {
  std::string_view text;
  double step;
  std::vector<Entry> entries;
};

/// All lines but empty ones, and one at the end that no line break closes.
std::vector<Row> rows_of(std::string_view text, const std::string& file) {
  std::vector<Row> rows;
  std::size_t number = 0;
  for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    ++number;
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    Line parser(line, file, number);
    Row row{line, 0, parser.entries()};
    const auto step = std::ranges::find(row.entries, "step", &Entry::name);
    if (step == row.entries.end() || step->value != std::floor(step->value)) parser.refuse("it has no step");
    row.step = step->value;
    row.entries.erase(step);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

void JsonLines::write(std::int64_t step, const Metrics& metrics, Loc loc) const {
  const LocScope place(loc);
  detail::check_names(metrics);
  std::string line = "{\"step\": " + std::to_string(step);
  for (const Metric& m : metrics) line += ", " + quoted(m.name) + ": " + number_text(number_of(m));
  detail::append_file(path, line + "}\n");
}

void JsonLines::rewind(std::int64_t step, Loc loc) const {
  const LocScope place(loc);
  if (!detail::file_exists(path)) return;
  const std::string text = detail::read_file(path);
  std::string kept;
  for (const Row& row : rows_of(text, shown(path, 300)))
    if (row.step < static_cast<double>(step)) kept.append(row.text) += '\n';
  if (kept != text) detail::write_file(path, kept);
}

Table read_json_lines(const std::string& path, Loc loc) {
  const LocScope place(loc);
  const std::string text = detail::read_file(path);
  const std::vector<Row> rows = rows_of(text, shown(path, 300));
  Table table{.names = {"step"}, .values = {}};
  std::map<std::string, std::size_t> columns;
  for (const Row& row : rows)
    for (const Entry& e : row.entries)
      if (columns.emplace(e.name, table.names.size()).second) table.names.push_back(e.name);
  const std::size_t width = table.names.size();
  std::vector<double> values(rows.size() * width, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    values[i * width] = rows[i].step;
    for (const Entry& e : rows[i].entries) values[i * width + columns[e.name]] = e.value;
  }
  table.values = array(values, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)});
  return table;
}

}  // namespace apsis
