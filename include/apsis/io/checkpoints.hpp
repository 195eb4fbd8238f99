#pragma once

// A folder of checkpoints of a training, from which it goes on bit for bit.
//
//   struct Run { nn::MLP model; optim::AdamState<nn::MLP> optimizer; Array key; };
//   CheckpointManager checkpoints{.directory = "out/run", .max_to_keep = 3, .save_interval_steps = 100};
//   auto [step, run] = checkpoints.restore_latest(Run{…});  // without a checkpoint: this, and step 0
//   while (step < steps) {
//     run = advance(run, step++);
//     checkpoints.save(step, run);  // each 100th
//   }

#include <optional>

#include "apsis/io/save.hpp"

namespace apsis {

/// Checkpoints by their step, as Orbax has them: files `checkpoint_<step>.npz`, which appear whole or not at
/// all, and are on the disk before older ones go. A folder is one training's. All throw where it cannot be
/// read or written.
struct CheckpointManager {
  std::string directory;                 ///< made by the first `save`
  std::int64_t max_to_keep = 0;          ///< so many of the latest; 0: all
  std::int64_t save_interval_steps = 1;  ///< `save` keeps multiples of it; 1 or more

  /// The steps there are checkpoints of, in order.
  std::vector<std::int64_t> all_steps(Loc loc = Loc::here()) const;
  /// The last one.
  std::optional<std::int64_t> latest_step(Loc loc = Loc::here()) const;
  /// Writes a checkpoint if the step is a multiple of save_interval_steps, or in any case if `force`; whether
  /// it did. Throws if there is one of a later step, so that two trainings do not share a folder unawares.
  template <class T>
  bool save(std::int64_t step, const T& tree, bool force = false, Loc loc = Loc::here()) const {
    const std::string path = start_save(step, force, loc);
    if (path.empty()) return false;
    apsis::save(path, tree, loc);
    finish_save(loc);
    return true;
  }
  /// The tree of a step; `like` gives its structure, shapes and dtypes. Throws as `load`, and if there is no
  /// such checkpoint, saying which there are.
  template <class T>
  T restore(std::int64_t step, const T& like, Loc loc = Loc::here()) const {
    return load(path_of(step, loc), like, loc);
  }
  /// The latest step and its tree; 0 and `start` where there is no checkpoint.
  template <class T>
  std::pair<std::int64_t, T> restore_latest(const T& start, Loc loc = Loc::here()) const {
    const std::optional<std::int64_t> step = latest_step(loc);
    if (!step) return {0, start};
    return {*step, restore(*step, start, loc)};
  }

 private:
  std::string path_of(std::int64_t step, Loc loc) const;
  std::string start_save(std::int64_t step, bool force, Loc loc) const;
  void finish_save(Loc loc) const;
};

}  // namespace apsis
