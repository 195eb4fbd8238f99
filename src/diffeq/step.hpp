#pragma once

// Parts that families of solvers share.

#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis::detail {

/// Σ weights[i] · slopes[i] for one leaf, where `slopes` holds `leaves` arrays a stage; empty if all weights
/// are zero.
Array weighted(const std::vector<double>& weights, std::span<const Array> slopes, std::size_t leaves,
               std::size_t leaf);

/// t0 + c · (t1 - t0); for c = 1 it is t1 itself, without rounding.
Array stage_time(double c, const Array& t0, const Array& t1, const Array& length);

/// Dense output at θ in [0, 1] of a step of signed length h: y0 + h Σ_d θ^(d+1) Σ_i dense[d][i] k[i].
std::vector<Array> dense_output(const std::vector<std::vector<double>>& dense, const Array& theta,
                                const Array& h, std::span<const Array> y0, std::span<const Array> slopes);

/// What a step costs with this added to it; `jacobian` and `factorisation` are booleans.
StepWork more_work(const StepWork& work, const Array& evaluations, const Array& jacobian,
                   const Array& factorisation);
/// That of several steps.
StepWork sum_of_work(std::initializer_list<const SolverAttempt*> attempts);

/// The state after Euler's step, without what controls do.
std::vector<Array> drifted(const SolverStep& step);

/// The slope of the equation along controls that move at these rates.
std::vector<Array> slope_along(const Slopes& slopes, const Array& t, std::span<const Array> y,
                               const Controls& rate);

}  // namespace apsis::detail
