// progress: reports of a loop, whose rate is limited where the loop runs.

#include "apsis/control/progress.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>

#include "control/common/messages.hpp"
#include "control/effects/callback.hpp"
#include "ir/effects.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis {
namespace detail {
namespace {

class Meter final : public ProgressMeter {
 public:
  Meter(const HostFunction& function, double seconds)
      : function_(function), period_(static_cast<std::int64_t>(std::ceil(seconds * 1e9))) {}

  bool time_is_up() override {
    using Clock = std::chrono::steady_clock;
    const std::int64_t now = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
    pace(now - last_look_.exchange(now, std::memory_order_relaxed));
    std::int64_t due = due_.load(std::memory_order_relaxed);
    return now >= due && due_.compare_exchange_strong(due, now + period_, std::memory_order_relaxed);
  }

  void report(std::int64_t steps, double fraction) override {
    const std::vector<std::int64_t> lane = current_lanes();
    const Array in[] = {Array(steps), Array(fraction), array(lane)};
    std::vector<Array> none;
    const std::scoped_lock one_at_a_time(mutex_);
    function_(in, none);
  }

  std::uint64_t hash() const override {
    return hash_word(function_.hash(), static_cast<std::uint64_t>(period_));
  }
  bool equals(const ProgressMeter& other) const override {
    const auto& meter = static_cast<const Meter&>(other);
    return function_ == meter.function_ && period_ == meter.period_;
  }

 private:
  /// Twice as many iterations between two looks at the clock, or half as many, until there are about sixteen
  /// looks a period.
  void pace(std::int64_t since) {
    constexpr std::int64_t looks = 16, most = (std::int64_t{1} << 40) - 1;
    const std::int64_t skipped = skipped_steps.load(std::memory_order_relaxed);
    if (since < period_ / (2 * looks) && skipped < most)
      skipped_steps.store(2 * skipped + 1, std::memory_order_relaxed);
    else if (since > 2 * period_ / looks && skipped > 0)
      skipped_steps.store(skipped / 2, std::memory_order_relaxed);
  }

  HostFunction function_;
  std::int64_t period_;
  std::atomic<std::int64_t> due_{0}, last_look_{0};
  // Recursive: what is called may run a program that reports to the same meter.
  std::recursive_mutex mutex_;
};

const ProgressParams& progress_of(const Params& params) { return params.as<ProgressParams>(); }

void progress_shape(const Params&, std::span<const Aval>, std::vector<Aval>&) {}

void progress_evaluate(const Params& params, std::span<const Array> in, std::span<Array>) {
  const auto& p = progress_of(params);
  const auto steps = in[0].item<std::int64_t>();
  const bool counted = p.every_steps > 0 && steps % p.every_steps == 0;
  if (counted || (p.timed && p.meter->time_is_up())) p.meter->report(steps, in[1].item<double>());
}

/// Lanes that keep step: the furthest one's steps, the slowest one's fraction.
void progress_batch(const BatchRule& r) {
  std::vector<Array> operands(r.operands.begin(), r.operands.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (r.axes[i] < 0) continue;
    const Array lanes = with_axis(operands[i], r.axes[i], 0, r.size);
    operands[i] = i == 0 ? lax::reduce_max(lanes, {0}) : lax::reduce_min(lanes, {0});
  }
  bind(progress_op, r.params, operands, {});
}

}  // namespace

const Op progress_op = {
    .name = "progress",
    .kind = OpKind::Effect,
    .effect = true,
    .shape = progress_shape,
    .evaluate = progress_evaluate,
    .batch = progress_batch,
    .not_differentiable = "it has no result",
    .written_out = true,
    .shared_by_lanes = true,
};

}  // namespace detail

void TextMeter::operator()(const ProgressReport& report) const {
  std::string text;
  if (!std::isnan(report.fraction)) {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%5.1f %%  ", 100 * report.fraction);
    text = percent;
  }
  text += std::to_string(report.steps) + " steps";
  for (std::size_t i = 0; i < report.lane.size(); ++i)
    text += (i ? "," : "  of lane ") + std::to_string(report.lane[i]);
  std::fprintf(stderr, "%s\n", text.c_str());
}

void report_progress(const Progress& progress, const Array& steps, const Array& fraction, Loc loc) {
  if (!(progress.every_seconds >= 0) || progress.every_steps < 0)
    fail(messages::progress_interval,
         {std::to_string(progress.every_seconds), std::to_string(progress.every_steps)}, loc);
  if (!progress.on()) return;
  if (steps.ndim() != 0) fail(messages::progress_scalar, {"steps", to_string(steps.aval())}, loc);
  Array part = fraction.is_empty() ? Array(std::numeric_limits<double>::quiet_NaN()) : fraction;
  if (part.ndim() != 0) fail(messages::progress_scalar, {"fraction", to_string(part.aval())}, loc);
  detail::ProgressParams p;
  p.every_steps = progress.every_steps;
  p.timed = progress.every_seconds > 0;
  const ProgressFunction report = progress.report.is_set() ? progress.report : TextMeter{};
  p.meter = std::make_shared<detail::Meter>(report.function(), progress.every_seconds);
  const Array operands[] = {detail::lax::convert(steps, Dtype::I64), detail::lax::convert(part, Dtype::F64)};
  bind(detail::progress_op, make_params(p), operands, {}, loc);
}

}  // namespace apsis
