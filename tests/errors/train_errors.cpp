#include <filesystem>
#include <fstream>

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const Array rows = ones({4, 2});
/// A file with these bytes, in a folder that stays until the tests end.
std::string file_with(const std::string& name, const std::string& bytes) {
  const std::string path = (std::filesystem::temp_directory_path() / ("apsis-errors-" + name)).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

APSIS_PROVOKES(batch_options, "[batches] batch_size = 0 must be 1 or more",
               train::batches(rows, {.batch_size = 0}))
APSIS_PROVOKES(
    batch_key,
    "[batches] key is f64[2]: give a key of the module random, as in .key = random::key(0), or none to "
    "leave the rows as they stand",
    train::batches(rows, {.key = array({1., 2.})}))
APSIS_PROVOKES(batch_nothing, "[batches] the data holds no array: there is nothing to take rows of",
               train::batches(Array(), {}))
APSIS_PROVOKES(batch_scalar,
               "[batches] data.second is f64[]: each array needs a first axis, which counts the rows",
               train::batches(std::pair{rows, array(1.)}, {}))
APSIS_PROVOKES(batch_rows, "[batches] data.first has 4 rows and data.second has 3: give as many rows of each",
               train::batches(std::pair{rows, ones({3})}, {}))
APSIS_PROVOKES(
    batch_dropped,
    "[batches] 4 rows fill no batch of 5, and drop_last leaves them out: take smaller batches, or keep the "
    "last one",
    train::batches(rows, {.batch_size = 5, .drop_last = true}))
APSIS_PROVOKES(microbatch_size, "[microbatch] size = 3 must be 1 or more, and divide the 4 rows of the batch",
               train::microbatch([](const Array& x) { return sum(x); }, rows, {.size = 3}))
APSIS_PROVOKES(microbatch_mean,
               "[microbatch] result is i64[], of which there is no mean: convert it with astype, or take "
               "Accumulate::Sum or Accumulate::Concatenate",
               train::microbatch([](const Array& x) { return sum(astype(x, i64)); }, rows, {.size = 2}))
APSIS_PROVOKES(microbatch_rows,
               "[microbatch] result is f64[] for a part of 2 rows: to be put one after the other, results "
               "need a row for each",
               train::microbatch([](const Array& x) { return sum(x); }, rows,
                                 {.size = 2, .accumulate = train::Accumulate::Concatenate}))
APSIS_PROVOKES(batch_number, "[batches] there is no batch 4: they are numbered from 0 to 3",
               auto batches = train::batches(rows, {});
               batches[4])
APSIS_PROVOKES(stopping_option, "[EarlyStopping] patience = -1 must be at least 0",
               train::EarlyStopping{.patience = -1}.init())
APSIS_PROVOKES(stopping_metric, "[EarlyStopping] the metric is f64[4,2]: give a real scalar",
               train::EarlyStopping stopping;
               stopping.update(rows, stopping.init()))
APSIS_PROVOKES(progress_out, "[ProgressBar] out is null: give an open file, such as stderr",
               train::ProgressBar("a", 1, nullptr))
APSIS_PROVOKES(progress_total, "[ProgressBar] total = 0 must be 1 or more", train::ProgressBar("a", 0))
APSIS_PROVOKES(progress_step,
               "[ProgressBar] step 11 is not among 10 steps: count those that are done, from 0 to total",
               train::ProgressBar("a", 10).show(11))
APSIS_PROVOKES(
    metric_value,
    "[metrics] loss is f64[4,2]: give a real scalar that has a value; write it outside jit and vmap",
    JsonLines{file_with("m.jsonl", "")}.write(0, {{"loss", rows}}))
APSIS_PROVOKES(metric_name,
               "[metrics] a metric is called \"step\": names are others: the step is the first argument",
               JsonLines{file_with("m.jsonl", "")}.write(0, {{"step", 1.}}))
APSIS_PROVOKES(
    json_line,
    "[json_lines] " + file_with("j.jsonl", "[1]\n") +
        ":1: there is no '{' before \"[1]\"; each line is an object of numbers, with an integer \"step\"",
    read_json_lines(file_with("j.jsonl", "[1]\n")))
APSIS_PROVOKES(tensorboard_step, "[TensorBoard] the step is -1: steps count from 0",
               TensorBoard{"."}.write(-1, {}))
APSIS_PROVOKES(
    tensorboard_file,
    "[TensorBoard] " + std::filesystem::temp_directory_path().string() +
        "/apsis-board/events.out.tfevents.apsis is no file of events of this library: give another folder",
    const std::string folder = std::filesystem::temp_directory_path().string() + "/apsis-board";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/events.out.tfevents.apsis") << "nothing of the kind";
    TensorBoard{folder}.rewind(0))
APSIS_PROVOKES(idx_damaged,
               "[read_idx] " + file_with("a.idx", "abcd") + " is no whole IDX file: it does not begin as one",
               read_idx(file_with("a.idx", "abcd")))
APSIS_PROVOKES(idx_compressed,
               "[read_idx] " + file_with("b.idx", "\x1f\x8b\x08") + " is compressed; unpack it, with gunzip",
               read_idx(file_with("b.idx", "\x1f\x8b\x08")))
APSIS_PROVOKES(checkpoint_option, "[CheckpointManager] save_interval_steps = 0 must be 1 or more",
               CheckpointManager{.directory = "x", .save_interval_steps = 0}.save(1, rows))
APSIS_PROVOKES(checkpoint_directory,
               "[CheckpointManager] directory is empty: name a folder for the checkpoints",
               CheckpointManager{}.save(1, rows))
APSIS_PROVOKES(checkpoint_missing,
               "[CheckpointManager] apsis/nowhere has no checkpoint of step 3; there are none",
               CheckpointManager{.directory = "apsis/nowhere"}.restore(3, rows))
APSIS_PROVOKES(
    checkpoint_later,
    "[CheckpointManager] " + std::filesystem::temp_directory_path().string() +
        "/apsis-run has a checkpoint of step 5, later than 4, which would be saved: restore the latest and "
        "go on from there, or take another directory",
    CheckpointManager manager{.directory = std::filesystem::temp_directory_path().string() + "/apsis-run"};
    manager.save(5, rows); manager.save(4, rows))
