#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "apsis/io/metrics.hpp"

namespace apsis::train {

/// Shows how far a training is, and its metrics:
///
///   digits [########................]  340/1000  loss 0.1234  accuracy 0.981  812/s  1 s left
///
/// On a terminal one line that changes, ten times a second at most; elsewhere a line each tenth of the way.
class ProgressBar {
 public:
  /// `total`: steps in all; `out`: an open file. Throws if one is not positive, or null.
  ProgressBar(std::string title, std::int64_t total, std::FILE* out = stderr, Loc loc = Loc::here());
  /// After `done` steps; the speed is that since the first call. Metrics that are not shown are not looked
  /// at. Throws if there are not so many steps, or what is shown is no real scalar with a value.
  void show(std::int64_t done, const Metrics& metrics = {}, Loc loc = Loc::here());

 private:
  using Clock = std::chrono::steady_clock;
  bool due(std::int64_t done, Clock::time_point now);

  std::string title_;
  std::int64_t total_, first_ = -1, next_ = 0;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_, shown_{};
  std::size_t width_ = 0;  // of the line on the terminal
};

}  // namespace apsis::train
