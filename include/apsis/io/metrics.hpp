#pragma once

// What a training says of itself, step by step, in files.
//
//   JsonLines log{"out/run/metrics.jsonl"};
//   TensorBoard board{"out/run"};
//   log.rewind(first), board.rewind(first);               // when it begins, and when it goes on
//   log.write(step, {{"loss", loss}, {"rate", 1e-3}});
//   board.write(step, {{"loss", loss}, {"rate", 1e-3}});
//
//   Table table = read_json_lines("out/run/metrics.jsonl");
//   metrics_figure(table, {"loss"}).save("out/run/loss.png");

#include <string>
#include <vector>

#include "apsis/io/csv.hpp"
#include "apsis/io/plot.hpp"

namespace apsis {

/// A number with a name.
struct Metric {
  std::string name;
  Array value;  ///< a real scalar
};
/// Numbers of one step.
using Metrics = std::vector<Metric>;

/// The value of a metric. Throws if it is no real scalar, or traced.
double number_of(const Metric& metric, Loc loc = Loc::here());

/// A file of a line for each step: `{"step": 10, "loss": 0.25}`. What is not finite is `null`, as JSON has no
/// word for it. A line is there whole once `write` returns, whatever becomes of the process.
struct JsonLines {
  std::string path;
  /// Adds a line. Throws if it cannot be written, names are empty, "step" or twice the same, or a value is no
  /// real scalar.
  void write(std::int64_t step, const Metrics& metrics, Loc loc = Loc::here()) const;
  /// Removes the lines of this step and later ones, and one that is not whole; without a file, nothing. For a
  /// training that goes on from a checkpoint. Throws if the file holds something else, saying in which line.
  void rewind(std::int64_t step, Loc loc = Loc::here()) const;
};
/// The numbers of such a file: a column "step", and one for each name in the order in which they come. Where
/// a line lacks a name, or has `null`, there is NaN. Throws for lines that are no objects of numbers, saying
/// which; the last line may be cut off.
Table read_json_lines(const std::string& path, Loc loc = Loc::here());

/// Scalars for TensorBoard, in a file of events that this folder, which is made, has one of.
struct TensorBoard {
  std::string directory;
  /// Adds numbers, which are rounded to f32. Throws as `JsonLines::write`.
  void write(std::int64_t step, const Metrics& metrics, Loc loc = Loc::here()) const;
  /// Tells TensorBoard to forget this step and later ones, and cuts off an event that is not whole. Without a
  /// file, nothing.
  void rewind(std::int64_t step, Loc loc = Loc::here()) const;
};

/// Options of `metrics_figure`.
struct MetricsFigureOptions {
  std::string title = "";
  bool log_y = false;
};
/// Columns of a table over its column "step"; rows without a number are passed over. Throws for names that
/// are not there.
Figure metrics_figure(const Table& table, const std::vector<std::string>& names,
                      const MetricsFigureOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
