#pragma once

// Schedules: numbers that depend on how many updates were made before. A schedule is any struct with a call
// operator from the count (a scalar i64, 0 at first) to a scalar; those of Optax are here.
//
//   optim::Adam{.learning_rate = 1e-2};
//   optim::Adam{.learning_rate = optim::WarmupCosineDecay{.peak_value = 1e-2, .warmup_steps = 100,
//   .decay_steps = 1000}}; optim::Adam{.learning_rate = [](const Array& count) { return 1e-2 / (1 + count);
//   }};
//
// Values are Arrays, so that they may be traced; numbers of steps are part of the program.

#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/any_tree.hpp"

namespace apsis::optim {

/// From the number of updates so far, a scalar i64, to a scalar.
template <class S>
concept Schedule =
    !std::is_same_v<S, Array> && !std::is_arithmetic_v<S> && requires(const S& s, const Array& count) {
  Array(s(count));
};

/// A number, which may be traced, or a schedule; a tree.
class ScalarOrSchedule {
 public:
  ScalarOrSchedule() = default;
  ScalarOrSchedule(const Array& value) : value_(value) {}
  template <apsis::detail::Scalar T>
  ScalarOrSchedule(T value) : value_(value) {}
  template <apsis::detail::StaticScalar S>
  ScalarOrSchedule(const S& value) : value_(value) {}
  template <Schedule S>
  ScalarOrSchedule(S schedule)
      : schedule_(static_cast<S&&>(schedule)), call_([](const void* s, const Array& count) {
          if constexpr (requires(const S& f) { f(count, Loc{}); })
            return Array((*static_cast<const S*>(s))(count, Loc{}));
          else
            return Array((*static_cast<const S*>(s))(count));
        }) {}
  /// Whether there is neither a number nor a schedule.
  bool is_empty() const { return !call_ && value_.is_empty(); }
  bool is_schedule() const { return call_ != nullptr; }
  /// The number, or what the schedule says after so many updates.
  Array operator()(const Array& count) const { return call_ ? call_(schedule_.tree(), count) : value_; }

 private:
  Array value_;
  AnyTree schedule_;
  Array (*call_)(const void*, const Array&) = nullptr;
  APSIS_FIELDS(ScalarOrSchedule, value_, schedule_)
};

// All call operators throw for numbers of steps out of their range.

/// The same value at all times.
struct ConstantSchedule {
  Array value = 0.;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// From init_value to end_value as (1 - t)^power, where t goes from 0 to 1 in transition_steps.
struct PolynomialSchedule {
  Array init_value = 1., end_value = 0., power = 1.;
  std::int64_t transition_steps = 0;  ///< 0: constant
  std::int64_t transition_begin = 0;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// From init_value to end_value along a line.
struct LinearSchedule {
  Array init_value = 1., end_value = 0.;
  std::int64_t transition_steps = 0;  ///< 0: constant
  std::int64_t transition_begin = 0;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// init_value · decay_rate^(t / transition_steps), where t counts from transition_begin.
struct ExponentialDecay {
  Array init_value = 1.;
  std::int64_t transition_steps = 0;  ///< 0: constant
  Array decay_rate = 1.;              ///< 0: constant
  std::int64_t transition_begin = 0;
  bool staircase = false;  ///< t / transition_steps is rounded down
  Array end_value = {};    ///< the least value (where decay_rate is above 1 the greatest); empty: none
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// init_value · ((1 - alpha) (½ + ½ cos(π t))^exponent + alpha), t going from 0 to 1 in decay_steps
/// (Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, ICLR 2017).
struct CosineDecay {
  Array init_value = 1.;
  std::int64_t decay_steps = 1;  ///< 1 or more
  Array alpha = 0., exponent = 1.;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// A step from which on the value is multiplied by a scale.
struct Boundary {
  std::int64_t step = 0;
  Array scale = 1.;
};
/// init_value times the scales of all boundaries that were reached.
struct PiecewiseConstantSchedule {
  Array init_value = 1.;
  std::vector<Boundary> boundaries = {};  ///< in any order; scales are 0 or more
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// How a schedule goes from one boundary to the next.
enum class Interpolation : std::uint8_t { Linear, Cosine };
/// Between the values of PiecewiseConstantSchedule at its boundaries.
struct PiecewiseInterpolateSchedule {
  Interpolation interpolation = Interpolation::Linear;
  Array init_value = 1.;
  std::vector<Boundary> boundaries = {};  ///< in any order; scales are 0 or more
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// Up from peak_value / div_factor, down again, and on to a final_div_factor-th of where it began, along
/// lines (Smith and Topin, Super-convergence, 2018).
struct LinearOneCycle {
  std::int64_t transition_steps = 1;  ///< 1 or more
  Array peak_value = 1.;
  Static<double> pct_start = 0.3,
                 pct_final = 0.85;  ///< where the peak is, and the end of the cycle: fractions
  Array div_factor = 25., final_div_factor = 1e4;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// The same along cosines, without the part between the cycle and the end.
struct CosineOneCycle {
  std::int64_t transition_steps = 1;  ///< 1 or more
  Array peak_value = 1.;
  Static<double> pct_start = 0.3;  ///< where the peak is: a fraction of transition_steps
  Array div_factor = 25., final_div_factor = 1e4;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// A line from init_value to peak_value, which stays.
struct WarmupConstant {
  Array init_value = 0., peak_value = 1.;
  std::int64_t warmup_steps = 0;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// A line up to peak_value, then CosineDecay to end_value at decay_steps, the warmup included.
struct WarmupCosineDecay {
  Array init_value = 0., peak_value = 1.;
  std::int64_t warmup_steps = 0, decay_steps = 1;  ///< decay_steps is above warmup_steps
  Array end_value = 0., exponent = 1.;
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// A line up to peak_value, then ExponentialDecay.
struct WarmupExponentialDecay {
  Array init_value = 0., peak_value = 1.;
  std::int64_t warmup_steps = 0, transition_steps = 0;
  Array decay_rate = 1.;
  std::int64_t transition_begin = 0;  ///< counted from the end of the warmup
  bool staircase = false;
  Array end_value = {};
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// One schedule after the other: the next begins, at 0, where a boundary is reached.
struct JoinSchedules {
  std::vector<ScalarOrSchedule> schedules = {};
  std::vector<std::int64_t> boundaries = {};  ///< one less than schedules
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};
/// Cosine decays with warm restarts, each as long as its decay_steps (Loshchilov and Hutter 2017).
struct SgdrSchedule {
  std::vector<WarmupCosineDecay> cycles = {};  ///< one at least
  Array operator()(const Array& count, Loc loc = Loc::here()) const;
};

}  // namespace apsis::optim
