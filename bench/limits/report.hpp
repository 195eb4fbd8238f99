// The limits' side of the benchmark protocol (bench/README.md): one JSON object a line on standard output.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace limits {

/// Median of the seconds that `f` takes, over `repeats` runs after one that warms up.
template <class F>
double median_seconds(int repeats, F&& f) {
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    f();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (i) seconds.push_back(spent.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

inline void report(const std::string& name, const char* unit, double value,
                   const std::vector<double>& answer) {
  std::printf("{\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.9g, \"answer\": [", name.c_str(), unit,
              value);
  for (std::size_t i = 0; i < answer.size(); ++i) std::printf("%s%.17g", i ? ", " : "", answer[i]);
  std::printf("]}\n");
}

}  // namespace limits
