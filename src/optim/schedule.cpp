#include "apsis/optim/schedule.hpp"

#include <algorithm>
#include <numbers>

#include "optim/support.hpp"

namespace apsis::optim {
namespace {

void require_steps(const char* schedule, const char* name, std::int64_t steps, std::int64_t least) {
  if (steps < least)
    fail(messages::schedule_steps,
         {schedule, name, std::to_string(steps), std::to_string(least) + " or more"});
}

/// Sorted by step; throws for a negative scale.
std::vector<Boundary> sorted(const char* schedule, std::vector<Boundary> boundaries) {
  std::sort(boundaries.begin(), boundaries.end(),
            [](const Boundary& a, const Boundary& b) { return a.step < b.step; });
  for (const Boundary& b : boundaries) {
    const Array known = concrete_value(b.scale);
    if (!known.is_empty() && known.item<double>() < 0)
      fail(messages::schedule_scale, {schedule, to_string(known), std::to_string(b.step)});
  }
  return boundaries;
}

Array polynomial(const char* name, const Array& count, const Array& init, const Array& end,
                 const Array& power, std::int64_t steps, std::int64_t begin) {
  require_steps(name, "transition_steps", steps, 0);
  require_steps(name, "transition_begin", begin, 0);
  if (steps == 0) return init;
  const Array left = 1 - clip(count - begin, 0, steps) / steps;
  return (init - end) * pow(left, power) + end;
}

Array cosine(const Array& count, const Array& init, std::int64_t steps, const Array& alpha,
             const Array& exponent) {
  const Array part = std::numbers::pi * minimum(count, steps) / steps;
  return init * ((1 - alpha) * pow(0.5 * (1 + cos(part)), exponent) + alpha);
}

Array exponential(const char* name, const Array& count, const Array& init, std::int64_t steps,
                  const Array& rate, std::int64_t begin, bool staircase, const Array& end) {
  require_steps(name, "transition_steps", steps, 0);
  require_steps(name, "transition_begin", begin, 0);
  if (steps == 0) return init;
  const Array late = count - begin;
  Array part = late / steps;
  if (staircase) part = floor(part);
  const Array constant = rate == 0;
  Array value = where(late <= 0, init, init * pow(where(constant, 1, rate), part));
  if (!end.is_empty()) value = where(rate < 1, maximum(value, end), minimum(value, end));
  return where(constant, init, value);
}

Array interpolated(const char* name, const Array& count, const Array& init, Interpolation interpolation,
                   std::vector<Boundary> boundaries) {
  boundaries = sorted(name, std::move(boundaries));
  std::int64_t from = 0;
  Array value = init, result = init;
  for (const Boundary& b : boundaries) {
    const Array next = value * b.scale;
    const Array part = (count - from) / std::max<std::int64_t>(b.step - from, 1);
    const Array between = interpolation == Interpolation::Linear
                              ? (next - value) * part + value
                              : next + (value - next) / 2 * (cos(std::numbers::pi * part) + 1);
    result = where(from <= count, where(count < b.step, between, next), result);
    from = b.step;
    value = next;
  }
  return result;
}

Array joined(const Array& count, const std::vector<ScalarOrSchedule>& schedules,
             const std::vector<std::int64_t>& boundaries) {
  if (schedules.empty() || boundaries.size() + 1 != schedules.size())
    fail(messages::schedule_boundaries,
         {std::to_string(schedules.size()), std::to_string(boundaries.size())});
  Array value = schedules[0](count);
  for (std::size_t i = 0; i < boundaries.size(); ++i)
    value = where(count < boundaries[i], value, schedules[i + 1](count - boundaries[i]));
  return value;
}

/// The step at a fraction of all, as an integer.
std::int64_t step_at(double fraction, std::int64_t steps) {
  return static_cast<std::int64_t>(fraction * static_cast<double>(steps));
}

}  // namespace

Array ConstantSchedule::operator()(const Array&, Loc) const { return value; }

Array PolynomialSchedule::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  return polynomial("PolynomialSchedule", count, init_value, end_value, power, transition_steps,
                    transition_begin);
}

Array LinearSchedule::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  return polynomial("LinearSchedule", count, init_value, end_value, 1., transition_steps, transition_begin);
}

Array ExponentialDecay::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  return exponential("ExponentialDecay", count, init_value, transition_steps, decay_rate, transition_begin,
                     staircase, end_value);
}

Array CosineDecay::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("CosineDecay", "decay_steps", decay_steps, 1);
  return cosine(count, init_value, decay_steps, alpha, exponent);
}

Array PiecewiseConstantSchedule::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  Array value = init_value;
  for (const Boundary& b : sorted("PiecewiseConstantSchedule", boundaries))
    value = where(count < b.step, value, b.scale * value);
  return value;
}

Array PiecewiseInterpolateSchedule::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  return interpolated("PiecewiseInterpolateSchedule", count, init_value, interpolation, boundaries);
}

Array LinearOneCycle::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("LinearOneCycle", "transition_steps", transition_steps, 1);
  return interpolated("LinearOneCycle", count, peak_value / div_factor, Interpolation::Linear,
                      {{step_at(pct_start, transition_steps), div_factor},
                       {step_at(pct_final, transition_steps), 1. / div_factor},
                       {transition_steps, 1. / final_div_factor}});
}

Array CosineOneCycle::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("CosineOneCycle", "transition_steps", transition_steps, 1);
  return interpolated("CosineOneCycle", count, peak_value / div_factor, Interpolation::Cosine,
                      {{step_at(pct_start, transition_steps), div_factor},
                       {transition_steps, 1. / (div_factor * final_div_factor)}});
}

Array WarmupConstant::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("WarmupConstant", "warmup_steps", warmup_steps, 0);
  return polynomial("WarmupConstant", count, init_value, peak_value, 1., warmup_steps, 0);
}

Array WarmupCosineDecay::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("WarmupCosineDecay", "warmup_steps", warmup_steps, 0);
  require_steps("WarmupCosineDecay", "decay_steps", decay_steps, warmup_steps + 1);
  const Array alpha = where(peak_value == 0, 0, end_value / where(peak_value == 0, 1, peak_value));
  return where(count < warmup_steps,
               polynomial("WarmupCosineDecay", count, init_value, peak_value, 1., warmup_steps, 0),
               cosine(count - warmup_steps, peak_value, decay_steps - warmup_steps, alpha, exponent));
}

Array WarmupExponentialDecay::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  require_steps("WarmupExponentialDecay", "warmup_steps", warmup_steps, 0);
  return where(count < warmup_steps,
               polynomial("WarmupExponentialDecay", count, init_value, peak_value, 1., warmup_steps, 0),
               exponential("WarmupExponentialDecay", count - warmup_steps, peak_value, transition_steps,
                           decay_rate, transition_begin, staircase, end_value));
}

Array JoinSchedules::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  return joined(count, schedules, boundaries);
}

Array SgdrSchedule::operator()(const Array& count, Loc loc) const {
  const LocScope place(loc);
  std::vector<ScalarOrSchedule> schedules;
  std::vector<std::int64_t> boundaries;
  std::int64_t step = 0;
  for (const WarmupCosineDecay& cycle : cycles) {
    if (!schedules.empty()) boundaries.push_back(step);
    schedules.emplace_back(cycle);
    step += cycle.decay_steps;
  }
  if (schedules.empty()) require_steps("SgdrSchedule", "cycles", 0, 1);
  return joined(count, schedules, boundaries);
}

}  // namespace apsis::optim
