#pragma once

#include <string>

namespace apsis::detail {

/// A text as a string of gnuplot's language that stands for these characters and nothing else. What a picture
/// cannot show (control characters, what is no UTF-8) is shown as U+FFFD, and a text of more than 500 bytes
/// is cut.
std::string gnuplot_string(const std::string& text);
/// A number, or `NaN` for one that no axis can show.
std::string gnuplot_number(double value);
/// Whether an axis can show this number.
bool can_be_shown(double value);

/// Where gnuplot is. Throws if it is not installed; `path` is what was to be drawn.
std::string find_gnuplot(const std::string& path);
/// Draws a script as a picture of so many pixels, in the format that the end of `path` names: .png (also
/// without an end), .svg, .pdf. The picture appears whole or not at all.
void draw_with_gnuplot(const std::string& gnuplot, const std::string& script, int width, int height,
                       const std::string& path);
/// Throws for an end of `path` that names no format.
void check_picture_path(const std::string& path);

}  // namespace apsis::detail
