// gnuplot reads its commands and writes its picture through files without names, so the only texts of ours
// that it sees are those it shows. In its language "…" runs what stands between backticks in a shell, names
// after @ are replaced, a line break ends the command; so every byte but the plainest is written as \ooo.

#include "io/gnuplot.hpp"

#include <cmath>
#include <system_error>

#include "apsis/tree/walk.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/program.hpp"
#include "io/text.hpp"

namespace apsis::detail {
namespace {

enum class Format { Png, Svg, Pdf, None };

Format format_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  // A dot at the front hides a file.
  std::string end = dot == name.npos || dot == 0 ? "" : name.substr(dot);
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (end.empty() || end == ".png") return Format::Png;
  return end == ".svg" ? Format::Svg : end == ".pdf" ? Format::Pdf : Format::None;
}

std::string terminal(Format format, int width, int height) {
  const std::string size = std::to_string(width) + "," + std::to_string(height);
  constexpr double pixels_per_inch = 96;
  switch (format) {
    case Format::Svg:
      return "svg noenhanced size " + size + " font \"Sans,12\" background rgb \"white\"";
    case Format::Pdf:
      return "pdfcairo noenhanced size " + gnuplot_number(width / pixels_per_inch) + "in," +
             gnuplot_number(height / pixels_per_inch) + "in font \"Sans,9\"";
    default:
      return "pngcairo noenhanced size " + size + " font \"Sans,12\"";
  }
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' || c == '.' ||
         c == ',' || c == '-' || c == '#';
}

/// What gnuplot said, without the columns of spaces by which it points at places.
std::string on_one_line(const std::string& said) {
  std::string out;
  for (char c : said) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return shown(out, 600);
}

}  // namespace

std::string gnuplot_string(const std::string& text) {
  constexpr std::size_t longest = 500;
  std::string shortened = text.size() > longest ? shown(text, longest) : clean_text(text);
  std::string out = "\"";
  for (char c : shortened) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (is_plain(c))
      out += c;
    else
      for (char digit : {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                         static_cast<char>('0' + (byte & 7))})
        out += digit;
  }
  return out + '"';
}

bool can_be_shown(double value) {
  // Above 2^1023 gnuplot takes a number for undefined; the width of an axis must be below that too.
  constexpr double largest = 1e300;
  return std::fabs(value) <= largest;
}

std::string gnuplot_number(double value) {
  if (!can_be_shown(value)) return "NaN";
  std::string digits;  // the same in every locale
  print_floating(digits, value, false);
  return digits;
}

std::string find_gnuplot(const std::string& path) {
  std::string program = find_program("gnuplot");
  if (program.empty()) fail(messages::plot_program, {shown(path, 300)});
  return program;
}

void check_picture_path(const std::string& path) {
  if (format_of(path) == Format::None) fail(messages::plot_format, {shown(path, 300)});
}

void draw_with_gnuplot(const std::string& gnuplot, const std::string& script, int width, int height,
                       const std::string& path) {
  // What the user's own files of settings say does not change the picture.
  const std::string commands =
      "set encoding utf8\nset terminal " + terminal(format_of(path), width, height) + "\n" + script;
  Ran ran;
  try {
    ran = run_program(gnuplot, {"--default-settings"}, commands);
  } catch (const std::system_error& error) {
    fail(messages::plot_failed, {shown(path, 300), "could not be started", shown(error.what(), 200)});
  }
  if (ran.code != 0 || ran.out.empty())
    fail(messages::plot_failed,
         {shown(path, 300), "ended with status " + std::to_string(ran.code), on_one_line(ran.err)});
  write_file(path, ran.out);
}

}  // namespace apsis::detail
