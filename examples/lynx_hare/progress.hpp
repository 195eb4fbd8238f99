#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace lynx_hare {

/// A progress bar on one line of a terminal: loss, steps a second, time left. On a file, a line each tenth.
class Progress {
 public:
  Progress(const char* name, int steps, bool terminal)
      : name_(name), steps_(steps), terminal_(terminal), start_(Clock::now()) {}

  void show(int done, double loss) {
    auto now = Clock::now();
    bool last = done == steps_;
    double since = seconds(now - shown_);
    if (!last && (terminal_ ? since < 0.1 : done < next_)) return;
    shown_ = now;
    next_ = done + steps_ / 10;
    double elapsed = seconds(now - start_), rate = done / elapsed;
    std::string bar(static_cast<std::size_t>(24 * done / steps_), '#');
    bar.resize(24, '.');
    std::printf("%s%-18s [%s] %5d/%d  loss %10.5f  %7.0f steps/s  %4.0f s left%s", terminal_ ? "\r" : "",
                name_, bar.c_str(), done, steps_, loss, rate, (steps_ - done) / rate,
                terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }
  const char* name_;
  int steps_, next_ = 0;
  bool terminal_;
  Clock::time_point start_, shown_{};
};

}  // namespace lynx_hare
