#include "apsis/train/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "train/messages.hpp"

namespace apsis::train {
namespace {

template <class... T>
std::string formatted(const char* format, T... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string bar(std::int64_t done, std::int64_t total) {
  constexpr int width = 24;
  std::string text(static_cast<std::size_t>(width * (static_cast<double>(done) / static_cast<double>(total))),
                   '#');
  text.resize(width, '.');
  return "[" + text + "]";
}

}  // namespace

ProgressBar::ProgressBar(std::string title, std::int64_t total, std::FILE* out, Loc loc)
    : title_(std::move(title)), total_(total), out_(out), terminal_(out && isatty(fileno(out)) == 1) {
  const LocScope place(loc);
  if (!out) fail(messages::progress_out, {});
  if (total < 1) fail(messages::progress_total, {std::to_string(total)});
}

bool ProgressBar::due(std::int64_t done, Clock::time_point now) {
  if (first_ < 0) {
    first_ = next_ = done;
    start_ = now;
  }
  if (done == total_) return true;
  if (terminal_) return now - shown_ >= std::chrono::milliseconds(100);
  return done >= next_;
}

void ProgressBar::show(std::int64_t done, const Metrics& metrics, Loc loc) {
  const LocScope place(loc);
  if (done < 0 || done > total_)
    fail(messages::progress_step, {std::to_string(done), std::to_string(total_)});
  const Clock::time_point now = Clock::now();
  if (!due(done, now)) return;
  shown_ = now;
  next_ = done + std::max<std::int64_t>(total_ / 10, 1);

  const std::string total = std::to_string(total_);
  std::string text = title_ + " " + bar(done, total_) + " " +
                     formatted("%*lld", static_cast<int>(total.size()), static_cast<long long>(done)) + "/" +
                     total;
  for (const Metric& m : metrics) text += "  " + m.name + " " + formatted("%.4g", number_of(m));
  const double seconds = std::chrono::duration<double>(now - start_).count(),
               rate = static_cast<double>(done - first_) / seconds;
  if (std::isfinite(rate) && rate > 0)
    text += formatted("  %.3g/s  %.0f s left", rate, static_cast<double>(total_ - done) / rate);
  // Characters of UTF-8, not their bytes.
  const auto width = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  if (terminal_ && width < width_) text.append(width_ - width, ' ');  // over what is longer
  width_ = width;
  std::fprintf(out_, "%s%s%s", terminal_ ? "\r" : "", text.c_str(), terminal_ && done != total_ ? "" : "\n");
  std::fflush(out_);
}

}  // namespace apsis::train
