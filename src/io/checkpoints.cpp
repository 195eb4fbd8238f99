#include "apsis/io/checkpoints.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "apsis/core/op.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {
namespace {

constexpr std::string_view prefix = "checkpoint_", suffix = ".npz";

std::string name_of(std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 9) digits.insert(0, 9 - digits.size(), '0');  // so that names sort as the steps do
  return std::string(prefix) + digits + std::string(suffix);
}
/// The step of a checkpoint's file; none of another file.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  std::int64_t step = -1;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size() - suffix.size();
  const auto [next, status] = std::from_chars(begin, end, step);
  if (status != std::errc{} || next != end || step < 0 || name_of(step) != name) return {};
  return step;
}

std::string listed(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = steps.size() > most ? steps.size() - most : 0; i < steps.size(); ++i)
    text += (text.empty() ? "" : ", ") + std::to_string(steps[i]);
  return steps.empty() ? "none" : (steps.size() > most ? "…, " : "") + text;
}

void check(const CheckpointManager& m, std::int64_t step) {
  auto require = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least)
      fail(messages::checkpoint_option, {name, std::to_string(value), std::to_string(least)});
  };
  if (m.directory.empty()) fail(messages::checkpoint_directory, {});
  require("max_to_keep", m.max_to_keep, 0);
  require("save_interval_steps", m.save_interval_steps, 1);
  require("step", step, 0);
}

}  // namespace

std::vector<std::int64_t> CheckpointManager::all_steps(Loc loc) const {
  const LocScope place(loc);
  check(*this, 0);
  std::vector<std::int64_t> steps;
  for (const std::string& name : detail::names_in(directory))
    if (const auto step = step_of(name)) steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

std::optional<std::int64_t> CheckpointManager::latest_step(Loc loc) const {
  const std::vector<std::int64_t> steps = all_steps(loc);
  if (steps.empty()) return {};
  return steps.back();
}

std::string CheckpointManager::path_of(std::int64_t step, Loc loc) const {
  const LocScope place(loc);
  check(*this, step);
  const std::vector<std::int64_t> steps = all_steps(loc);
  if (std::ranges::find(steps, step) == steps.end())
    fail(messages::checkpoint_missing, {detail::shown(directory, 300), std::to_string(step), listed(steps)});
  return directory + "/" + name_of(step);
}

std::string CheckpointManager::start_save(std::int64_t step, bool force, Loc loc) const {
  const LocScope place(loc);
  check(*this, step);
  if (!force && step % save_interval_steps != 0) return {};
  if (const auto latest = latest_step(loc); latest && *latest > step)
    fail(messages::checkpoint_later,
         {detail::shown(directory, 300), std::to_string(*latest), std::to_string(step)});
  detail::make_folder(directory);
  return directory + "/" + name_of(step);
}

void CheckpointManager::finish_save(Loc loc) const {
  const LocScope place(loc);
  detail::remove_abandoned(directory);
  if (max_to_keep == 0) return;
  std::vector<std::int64_t> steps = all_steps(loc);
  const auto keep = static_cast<std::size_t>(max_to_keep);
  if (steps.size() <= keep) return;
  detail::sync_folder(directory);
  for (std::size_t i = 0; i < steps.size() - keep; ++i)
    detail::remove_file(directory + "/" + name_of(steps[i]));
}

}  // namespace apsis
